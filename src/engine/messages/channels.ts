import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import { mailServerProblem } from '../../catalog/rules/webhook.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { CHANNEL_DEFAULTS, type SentMessageChannel } from '../../domain/notifications/message-channel.ts';
import { AppError } from '../../errors.ts';
import { type AuditEntry, writeAudit } from '../../postgres/access/audit.ts';
import { dropWaiting } from '../../postgres/notifications/email-messages.ts';
import {
  type ChannelRow,
  deleteChannel,
  type NewChannel,
  readChannel,
  writeChannel,
} from '../../postgres/notifications/message-channels.ts';
import { type Announce, countRevision } from '../../postgres/revisions.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { Sealer } from './sealed-secrets.ts';
import { sealedPassword, smtpChannelOf } from './smtp-channel.ts';
import { type SendResult, SmtpSender } from './smtp-sender.ts';

export interface MessageChannelsOptions {
  pool: Pool;
  announce: Announce;
  clock: Clock;
  /** `null` without `SECRETS_KEY`. */
  sealer: Sealer | null;
  publicUrl: string | null;
  allowPrivate: boolean;
}

/** A tenant of a call, and who makes it. */
interface Of {
  tenantNo: number;
  by: Author;
}

/** The administrators who wait for a test need an answer within seconds. */
const TEST_MS = { timeoutMs: 5_000, attemptMs: 10_000 };

/** Tenants' channels for e-mails. Passwords are stored encrypted and never shown. */
export function createMessageChannels({
  pool,
  announce,
  clock,
  allowPrivate,
  publicUrl,
  sealer,
}: MessageChannelsOptions) {
  /** Throws 404 if the tenant has no channel. */
  async function get(tenantNo: number): Promise<ChannelRow> {
    const channel = await readChannel(pool, tenantNo);
    if (channel === null) throw new AppError('not_found', 'The tenant has no channel for e-mails');
    return channel;
  }

  /**
   * Creates or replaces a tenant's channel. An omitted password stays, but only for the same server and login, so that it cannot be
   * sent to another server. Throws 422 for a server that may not be used, 409 if a setting of the installation is missing.
   */
  async function put({ tenantNo, by }: Of, sent: SentMessageChannel): Promise<ChannelRow> {
    const wrong = mailServerProblem(sent, { privateTargets: allowPrivate });
    if (wrong !== null) throw new AppError('unprocessable', `${wrong.field} ${wrong.text}`);
    const { password, ...fields } = { ...CHANNEL_DEFAULTS, ...sent };
    if (fields.enabled && publicUrl === null)
      throw new AppError('conflict', 'PUBLIC_URL is not set, so e-mails could have no link to unsubscribe');
    const stored = await transaction(pool, async (client) => {
      const before = await readChannel(client, tenantNo, { lock: true });
      const nowMs = clock.now();
      const channel = { ...fields, tenantNo, password: passwordOf({ ...fields, password }, tenantNo, before) };
      const changed = changedFields(before, channel);
      if (before !== null && changed === null) return before;
      const after = await writeChannel(client, channel, nowMs);
      await countRevision(client);
      const action = before === null ? 'create' : 'update';
      const entry: AuditEntry = { action, kind: 'message_channel', name: channel.host, ...changed };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return after;
    });
    await announce('*');
    return stored;
  }

  /** Deletes a tenant's channel and drops the e-mails that wait. Throws 404 if it has none. */
  async function remove({ tenantNo, by }: Of): Promise<void> {
    await transaction(pool, async (client) => {
      const before = await readChannel(client, tenantNo, { lock: true });
      if (before === null) throw new AppError('not_found', 'The tenant has no channel for e-mails');
      const nowMs = clock.now();
      await deleteChannel(client, tenantNo);
      await dropWaiting(client, { tenantNo, medium: 'email', reason: 'the channel was deleted', nowMs });
      await countRevision(client);
      const entry: AuditEntry = { action: 'delete', kind: 'message_channel', name: before.host, before: shown(before) };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
    });
    await announce('*');
  }

  /** Sends a test e-mail through the channel, enabled or not, and waits for the result. It is in no log of e-mails. */
  async function test({ tenantNo, by }: Of, to: string): Promise<SendResult> {
    const channel = await get(tenantNo);
    if (channel.password !== null && sealer === null) throw withoutKey();
    const sender = new SmtpSender(smtpChannelOf(channel, sealer), { allowPrivate, ...TEST_MS });
    try {
      await writeAudit(pool, {
        tenantNo,
        nowMs: clock.now(),
        by,
        entries: [{ action: 'test', kind: 'message_channel', name: channel.host }],
      });
      return await sender.send({ id: uuid(), to, ...TEST_EMAIL, unsubscribeUrl: null });
    } finally {
      sender.close();
    }
  }

  /** The encrypted password that a channel has from now on. Throws 422 and 409. */
  function passwordOf(
    {
      password,
      username,
      ...server
    }: Omit<NewChannel, 'tenantNo' | 'password'> & { password: string | null | undefined },
    tenantNo: number,
    before: ChannelRow | null,
  ): Buffer | null {
    if (username === null) {
      if (password !== undefined && password !== null)
        throw new AppError('unprocessable', 'username is required with password');
      return null;
    }
    if (server.security === 'none')
      throw new AppError(
        'unprocessable',
        'security must not be none with username: the password would be sent unencrypted',
      );
    if (password !== undefined && password !== null) {
      if (sealer === null) throw withoutKey();
      return sealedPassword(sealer, tenantNo, password);
    }
    if (password === null || before === null || before.password === null)
      throw new AppError('unprocessable', 'password is required with username');
    const isSame =
      before.host === server.host &&
      before.port === server.port &&
      before.security === server.security &&
      before.username === username;
    if (isSame) return before.password;
    throw new AppError('unprocessable', 'password is required again, because host, port, security or username changes');
  }

  return { get, put, delete: remove, test };
}

export type MessageChannels = ReturnType<typeof createMessageChannels>;

const withoutKey = (): AppError =>
  new AppError('conflict', 'SECRETS_KEY is not set, so the password of a channel cannot be stored or read');

const TEST_EMAIL = {
  subject: 'Test of the e-mail channel',
  text: 'This e-mail was sent by an administrator to test how Laurel sends e-mails.\n',
  html: '<p>This e-mail was sent by an administrator to test how Laurel sends e-mails.</p>\n',
};

/** The fields of a channel for the audit log. */
const shown = ({ enabled, host, port, security, username, senderAddress, senderName, replyTo, pace }: NewChannel) => ({
  enabled,
  host,
  port,
  security,
  username,
  senderAddress,
  senderName,
  replyTo,
  pace,
});

/** The previous and new values of changed fields, and that a password changed, but not its values; `null` without changes. */
function changedFields(before: ChannelRow | null, after: NewChannel): Pick<AuditEntry, 'before' | 'after'> | null {
  if (before === null) return { after: shown(after) };
  const old: Record<string, unknown> = shown(before);
  const changed = Object.entries(shown(after)).filter(([name, value]) => old[name] !== value);
  const isNewPassword = !(before.password === null ? after.password === null : after.password?.equals(before.password));
  if (changed.length === 0 && !isNewPassword) return null;
  return {
    before: Object.fromEntries(changed.map(([name]) => [name, old[name]])),
    after: { ...Object.fromEntries(changed), ...(isNewPassword && { password: 'changed' }) },
  };
}
