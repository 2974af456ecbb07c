import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../../clock.ts';
import type { Author } from '../../../domain/administration/author.ts';
import { providerOf, type PushProvider } from '../../../domain/notifications/device-tokens.ts';
import {
  PUSH_CHANNEL_DEFAULTS,
  type PushTest,
  type PushTestResults,
  type SentPushChannel,
} from '../../../domain/notifications/push-channel.ts';
import type { RenderedPush } from '../../../domain/notifications/push-template.ts';
import { AppError } from '../../../errors.ts';
import { type AuditEntry, writeAudit } from '../../../postgres/access/audit.ts';
import { dropWaiting } from '../../../postgres/notifications/messages.ts';
import {
  deletePushChannel,
  type NewPushChannel,
  type PushChannelRow,
  readPushChannel,
  readPushChannels,
  webPushKey,
  writePushChannel,
} from '../../../postgres/notifications/push-channels.ts';
import { type Announce, channelsName, countCredentialChange, credentialsMessage } from '../../../postgres/revisions.ts';
import { transaction } from '../../../postgres/transaction.ts';
import type { UserReads } from '../../users/user-reads.ts';
import { tokensOf } from '../../users/device-tokens.ts';
import { auditedChange } from '../channel-audit.ts';
import { type Sealer, withoutKey } from '../sealed-secrets.ts';
import { openedCredentials, sealedCredentials } from './sealed-credentials.ts';
import { credentialsOf, shownOf } from './sent-credentials.ts';
import { createPushSender, type PushSenderOptions } from './push-senders.ts';

export interface PushChannelsOptions {
  pool: Pool;
  announce: Announce;
  clock: Clock;
  /** `null` without `SECRETS_KEY`. */
  sealer: Sealer | null;
  users: Pick<UserReads, 'state'>;
  sending: Pick<PushSenderOptions, 'allowPrivate' | 'baseUrls'>;
}

/** A tenant's provider, and who makes the call. */
interface Of {
  tenantNo: number;
  provider: PushProvider;
  by: Author;
}

/** What a test contains, and what the audit log has of it besides the channel. Absent: a fixed text. */
interface SentTest {
  content?: RenderedPush;
  about?: Pick<AuditEntry, 'userId' | 'after'>;
}

/** The administrators who wait for a test need an answer within seconds. */
const TEST_MS = 10_000;
const HOUR_SECONDS = 3_600;

/** Tenants' channels for push notifications. Credentials are stored encrypted, and their secrets never shown. */
export function createPushChannels({ pool, announce, clock, sealer, users, sending }: PushChannelsOptions) {
  /** Throws 404 if the tenant has no channel of the provider. */
  async function get(tenantNo: number, provider: PushProvider): Promise<PushChannelRow> {
    const channel = await readPushChannel(pool, { tenantNo, provider });
    if (channel === null) throw noChannel(provider);
    return channel;
  }

  /**
   * Creates or replaces a tenant's channel of a provider. Throws 422 for credentials that cannot work, 409 without a key to encrypt
   * them. Idempotent.
   */
  async function put({ tenantNo, provider, by }: Of, sent: SentPushChannel): Promise<PushChannelRow> {
    if (sealer === null) throw withoutKey();
    const { enabled, pace } = { ...PUSH_CHANNEL_DEFAULTS, ...sent };
    const stored = await transaction(pool, async (client) => {
      const before = await readPushChannel(client, { tenantNo, provider }, { lock: true });
      const nowMs = clock.now();
      const channel = { tenantNo, provider, enabled, pace, ...sealedBy(sealer, { tenantNo, provider }, sent, before) };
      const isSameSecret = before === null || before.credentials.equals(channel.credentials);
      const changed = auditedChange(
        before && auditedOf(before),
        auditedOf(channel),
        isSameSecret ? null : 'credentials',
      );
      if (before !== null && changed === null) return before;
      const after = await writePushChannel(client, channel, nowMs);
      await countCredentialChange(client, [channelsName(tenantNo)]);
      const action = before === null ? 'create' : 'update';
      const entry: AuditEntry = { action, kind: 'push_channel', name: provider, ...changed };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return after;
    });
    await announce(credentialsMessage([channelsName(tenantNo)]));
    return stored;
  }

  /** Deletes a channel. With the last one, push notifications that wait are dropped. Throws 404 if there is none. */
  async function remove({ tenantNo, provider, by }: Of): Promise<void> {
    await transaction(pool, async (client) => {
      const before = await readPushChannel(client, { tenantNo, provider }, { lock: true });
      if (before === null) throw noChannel(provider);
      const nowMs = clock.now();
      const hasOthers = await deletePushChannel(client, { tenantNo, provider }, nowMs);
      if (!hasOthers) await dropAll(client, tenantNo, nowMs);
      await countCredentialChange(client, [channelsName(tenantNo)]);
      const entry: AuditEntry = { action: 'delete', kind: 'push_channel', name: provider, before: auditedOf(before) };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
    });
    await announce(credentialsMessage([channelsName(tenantNo)]));
  }

  /**
   * Sends a test through a channel, enabled or not, and waits for the results. It is in no log, and removes no token. Throws 404 for an
   * unknown user, 422 for a token of another provider, and if the user has none of this one.
   */
  async function test(of: Of, to: PushTest): Promise<PushTestResults> {
    await get(of.tenantNo, of.provider);
    return send(of, await tokensFor(of.tenantNo, of.provider, to));
  }

  /** Sends a test to tokens of the channel's provider; see `test`. */
  async function send({ tenantNo, provider, by }: Of, tokens: readonly string[], sent: SentTest = {}) {
    const channel = await get(tenantNo, provider);
    if (sealer === null) throw withoutKey();
    const sender = createPushSender(openedCredentials(channel, sealer), { ...sending, attemptMs: TEST_MS });
    try {
      const entries: AuditEntry[] = [{ action: 'test', kind: 'push_channel', name: provider, ...sent.about }];
      await writeAudit(pool, { tenantNo, nowMs: clock.now(), by, entries });
      const push = { ...(sent.content ?? TEST_PUSH), id: uuid(), ttlSeconds: HOUR_SECONDS, collapseKey: null };
      const results = await Promise.all(tokens.map((token) => sender.send(token, push)));
      return { devices: results.map(({ outcome, reason }) => ({ outcome, reason })) };
    } finally {
      sender.close();
    }
  }

  async function tokensFor(tenantNo: number, provider: PushProvider, { token, userId }: PushTest): Promise<string[]> {
    if ((token === undefined) === (userId === undefined))
      throw new AppError('unprocessable', 'token: either token or userId is required');
    if (token !== undefined) {
      if (providerOf(token) === provider) return [token];
      throw new AppError('unprocessable', `token: has the form of a token of ${providerOf(token)}`);
    }
    const tokens = tokensOf(await users.state(tenantNo, userId!)).filter((one) => providerOf(one) === provider);
    if (tokens.length > 0) return tokens;
    throw new AppError('unprocessable', `userId: the user has no device token of ${provider}`);
  }

  return {
    list: (tenantNo: number) => readPushChannels(pool, tenantNo),
    get,
    put,
    delete: remove,
    test,
    send,
    /** The public key of Web Push, for apps; `null` if no channel of Web Push is enabled. */
    webKey: (tenantNo: number) => webPushKey(pool, tenantNo),
  };
}

export type PushChannelsService = ReturnType<typeof createPushChannels>;

/** The encrypted credentials that a channel has from now on, and what may be seen of them. Throws 422. */
function sealedBy(
  sealer: Sealer,
  { tenantNo, provider }: Pick<Of, 'tenantNo' | 'provider'>,
  { credentials: sent }: SentPushChannel,
  before: PushChannelRow | null,
): Pick<NewPushChannel, 'credentials' | 'shown'> {
  const kept = before && { credentials: before.credentials, shown: before.shown };
  if (sent === undefined) {
    if (kept !== null) return kept;
    throw new AppError('unprocessable', 'credentials is required for a new channel');
  }
  const stored = before === null ? null : openedIfPossible(sealer, before);
  const credentials = credentialsOf(provider, sent, stored);
  if (kept !== null && JSON.stringify(stored) === JSON.stringify(credentials)) return kept;
  return { credentials: sealedCredentials(sealer, tenantNo, credentials), shown: shownOf(credentials) };
}

/** `null` for credentials that were stored with another key, which new ones replace. */
function openedIfPossible(sealer: Sealer, row: PushChannelRow) {
  try {
    return openedCredentials(row, sealer);
  } catch {
    return null;
  }
}

const dropAll = (client: PoolClient, tenantNo: number, nowMs: number): Promise<void> =>
  dropWaiting(client, { tenantNo, medium: 'push', reason: 'the channel was deleted', nowMs });

const noChannel = (provider: PushProvider): AppError =>
  new AppError('not_found', `The tenant has no push channel for ${provider}`);

const TEST_PUSH: RenderedPush = {
  title: 'Test of push notifications',
  body: 'An administrator sent this to test how Laurel sends push notifications.',
  url: null,
};

/** The fields of a channel for the audit log. */
const auditedOf = ({ enabled, pace, shown }: NewPushChannel): Record<string, unknown> => ({ enabled, pace, ...shown });
