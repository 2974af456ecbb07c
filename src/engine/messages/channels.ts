import { isDeepStrictEqual } from 'node:util';
import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import {
  CHANNEL_DEFAULTS,
  type MessageReadiness,
  type SentMessageChannel,
} from '../../domain/notifications/message-channel.ts';
import { AppError } from '../../errors.ts';
import { picked } from '../../picked.ts';
import { type AuditEntry, writeAudit } from '../../postgres/access/audit.ts';
import { dropWaiting } from '../../postgres/notifications/messages.ts';
import {
  type ChannelRow,
  deleteChannel,
  type NewChannel,
  readChannel,
  writeChannel,
} from '../../postgres/notifications/message-channels.ts';
import { type Announce, channelsName, countCredentialChange, credentialsMessage } from '../../postgres/revisions.ts';
import { transaction } from '../../postgres/transaction.ts';
import { auditedChange } from './channel-audit.ts';
import { createEmailSender } from './channel-sender.ts';
import { secretsFor, targetOf } from './channel-target.ts';
import { openedPassword } from './smtp-channel.ts';
import type { Email, SendResult } from './email-sender.ts';
import { type Sealer, withoutKey } from './sealed-secrets.ts';

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

/** What a test contains, and what the audit log has of it besides the channel. Absent: a fixed text. */
interface SentTest {
  content?: Pick<Email, 'subject' | 'html' | 'text'>;
  about?: Pick<AuditEntry, 'userId' | 'after'>;
}

/** The administrators who wait for a test need an answer within seconds. */
const TEST_MS = { timeoutMs: 5_000, attemptMs: 10_000 };

/** Tenants' channels for e-mails. Passwords are stored encrypted and never shown. */
export function createMessageChannels(options: MessageChannelsOptions) {
  const { pool, announce, clock, allowPrivate, publicUrl, sealer } = options;
  /** Throws 404 if the tenant has no channel. */
  async function get(tenantNo: number): Promise<ChannelRow> {
    const channel = await readChannel(pool, tenantNo);
    if (channel === null) throw new AppError('not_found', 'The tenant has no channel for e-mails');
    return channel;
  }

  /**
   * Creates or replaces a tenant's channel. Omitted secrets stay, but only for the same server and login, so that they cannot be
   * sent to another server. Throws 422 for a server that may not be used, 409 if a setting of the installation is missing.
   */
  async function put({ tenantNo, by }: Of, sent: SentMessageChannel): Promise<ChannelRow> {
    const target = targetOf(sent, allowPrivate);
    const { enabled, senderAddress, senderName, replyTo, pace } = { ...CHANNEL_DEFAULTS, ...sent };
    if (enabled && publicUrl === null)
      throw new AppError('conflict', 'PUBLIC_URL is not set, so e-mails could have no link to unsubscribe');
    const stored = await transaction(pool, async (client) => {
      const before = await readChannel(client, tenantNo, { lock: true });
      const nowMs = clock.now();
      const password = secretsFor(target, sent, { tenantNo, sealer, before });
      const channel = { tenantNo, enabled, ...target, password, senderAddress, senderName, replyTo, pace };
      const isSameSecret = before === null || isDeepStrictEqual(before.password, password);
      const changed = auditedChange(before && shown(before), shown(channel), isSameSecret ? null : 'password');
      if (before !== null && changed === null) return before;
      const after = await writeChannel(client, channel, nowMs);
      await countCredentialChange(client, [channelsName(tenantNo)]);
      const action = before === null ? 'create' : 'update';
      const entry: AuditEntry = { action, kind: 'message_channel', name: channel.host, ...changed };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return after;
    });
    await announce(credentialsMessage([channelsName(tenantNo)]));
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
      await countCredentialChange(client, [channelsName(tenantNo)]);
      const entry: AuditEntry = { action: 'delete', kind: 'message_channel', name: before.host, before: shown(before) };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
    });
    await announce(credentialsMessage([channelsName(tenantNo)]));
  }

  /** Sends a test e-mail through the channel, enabled or not, and waits for the result. It is in no log of e-mails. */
  async function test({ tenantNo, by }: Of, to: string, sent: SentTest = {}): Promise<SendResult> {
    const channel = await get(tenantNo);
    if (channel.password !== null && sealer === null) throw withoutKey();
    const sender = createEmailSender(channel, sealer, { allowPrivate, ...TEST_MS });
    try {
      await writeAudit(pool, {
        tenantNo,
        nowMs: clock.now(),
        by,
        entries: [{ action: 'test', kind: 'message_channel', name: channel.host, ...sent.about }],
      });
      return await sender.send({ id: uuid(), to, ...(sent.content ?? TEST_EMAIL), unsubscribeUrl: null });
    } finally {
      sender.close();
    }
  }

  /** What this process has for a tenant's e-mails. */
  async function readiness(tenantNo: number): Promise<MessageReadiness> {
    const channel = await readChannel(pool, tenantNo);
    const hasPassword = channel !== null && channel.password !== null;
    return {
      publicUrl,
      hasSecretsKey: sealer !== null,
      opensPassword: hasPassword ? opensPassword(channel, sealer) : null,
    };
  }

  return { get, put, delete: remove, test, readiness };
}

export type MessageChannels = ReturnType<typeof createMessageChannels>;

function opensPassword(channel: ChannelRow, sealer: Sealer | null): boolean {
  try {
    openedPassword(channel, sealer);
    return true;
  } catch {
    return false;
  }
}

const TEST_EMAIL = {
  subject: 'Test of the e-mail channel',
  text: 'This e-mail was sent by an administrator to test how Laurel sends e-mails.\n',
  html: '<p>This e-mail was sent by an administrator to test how Laurel sends e-mails.</p>\n',
};

/** The fields of a channel for the audit log. */
const shown = (channel: NewChannel) => ({
  ...picked(channel, ['enabled', 'host', 'port', 'security', 'username']),
  ...(channel.http !== null && { http: channel.http }),
  ...picked(channel, ['senderAddress', 'senderName', 'replyTo', 'pace']),
});
