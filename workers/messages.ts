import type { Pool } from 'pg';
import { createSealer, type Sealer } from '../src/engine/messages/sealed-secrets.ts';
import {
  MessageDeliveries,
  type MessageDeliveriesOptions,
  type OpenChannel,
} from '../src/engine/messages/message-deliveries.ts';
import { createPreparing } from '../src/engine/messages/prepare-email.ts';
import { createPushOpener } from '../src/engine/messages/push/open-push.ts';
import { startReceipts } from '../src/engine/messages/push/receipts.ts';
import { createPushSenders, type PushSenderOptions } from '../src/engine/messages/push/push-senders.ts';
import { AttemptRun, openedOrNoted } from '../src/engine/messages/attempt-run.ts';
import { createEmailSender } from '../src/engine/messages/channel-sender.ts';
import type { Email, SendResult } from '../src/engine/messages/email-sender.ts';
import { trackingLinksOf } from '../src/engine/messages/tracking-links.ts';
import { unsubscribeLinksOf } from '../src/engine/messages/unsubscribe-links.ts';
import { Scripts } from '../src/engine/scripts.ts';
import { readChannel } from '../src/postgres/notifications/message-channels.ts';
import { suppressAddress } from '../src/postgres/notifications/message-suppressions.ts';
import { OutcomeCounts } from '../src/redis/work-counts.ts';
import { EMAIL_COUNTS_KEY, PUSH_COUNTS_KEY } from '../src/redis/keys.ts';
import type { KeyedIds } from '../src/engine/ids.ts';
import type { Core } from '../src/engine/core.ts';

export type MessageSendingOptions = Pick<
  MessageDeliveriesOptions<never, SendResult>,
  'everyMs' | 'leaseMs' | 'firstPauseMs' | 'onStep'
> & {
  timeoutMs?: number;
  /** Interval of reading what providers say later. */
  receiptsEveryMs?: number;
};

interface MessageSendingSettings {
  publicUrl?: string | null;
  secretsKey?: Buffer | null;
  delivery?: { allowPrivate?: boolean };
  emails?: MessageSendingOptions;
  /** Other addresses of push providers, for tests. */
  pushServers?: PushSenderOptions['baseUrls'];
}

export interface MessageSending {
  /** Call this when e-mails or push notifications may be due. */
  readonly look: () => void;
  /** Begins no further message, and waits some seconds for those in progress. */
  close(): Promise<void>;
}

type SendingCore = Core & {
  ids: KeyedIds;
  isClockRight: () => boolean;
  /** Called with the shard in which a user was changed. */
  touched: (shard: number) => void;
};

/** Postgres connections: for claims, results and leases. */
const POOL_SIZE = 3;

/**
 * Sends the messages of tenants with a channel: push notifications and, with `PUBLIC_URL`, which the links to unsubscribe need,
 * e-mails.
 */
export function startMessages(core: SendingCore, settings: MessageSendingSettings): MessageSending {
  const pool = core.createPool({ max: POOL_SIZE });
  const sealer = settings.secretsKey ? createSealer(settings.secretsKey) : null;
  const started = [
    ...(settings.publicUrl ? [startSmtp(core, { ...settings, publicUrl: settings.publicUrl, pool, sealer })] : []),
    startPush(core, { ...settings, pool, sealer }),
  ];
  return {
    look: () => {
      for (const { look } of started) look();
    },
    close: async () => {
      await Promise.all(started.map((each) => each.close()));
    },
  };
}

interface Shared extends MessageSendingSettings {
  pool: Pool;
  sealer: Sealer | null;
}

function startSmtp(core: SendingCore, settings: Shared & { publicUrl: string }): MessageSending {
  const { redis, catalogs, clock, ids } = core;
  const { publicUrl, pool, sealer, delivery, emails = {} } = settings;
  const { timeoutMs, receiptsEveryMs: _, ...options } = emails;
  const sending = { allowPrivate: delivery?.allowPrivate ?? false, ...(timeoutMs !== undefined && { timeoutMs }) };
  const tracking = trackingLinksOf(ids);
  const preparing = { redis, pool, catalogs, clock, links: unsubscribeLinksOf(ids), tracking, publicUrl };
  const open = async (tenantNo: number): Promise<OpenChannel<Email, SendResult> | null> => {
    const channel = await readChannel(pool, tenantNo);
    if (channel === null) return null;
    const prepare = await createPreparing(preparing, tenantNo);
    const run = new AttemptRun();
    const attempted = { tenantNo, channel: 'email', updated: channel.updated } as const;
    const opening = { pool, nowMs: clock.now(), channel: attempted };
    const sender = await openedOrNoted(() => createEmailSender(channel, sealer, sending), opening);
    return {
      pace: channel.pace,
      // Mail servers allow few connections from one address.
      leastAtATime: 1,
      mostAtATime: channel.http === null ? 4 : 16,
      prepare,
      send: async (email) => {
        const result = await sender.send(email);
        run.note(result, clock.now());
        return result;
      },
      onResult: async ({ userId }, { to }, { outcome, reason }) => {
        if (outcome !== 'bad_address') return;
        await suppressAddress(pool, { tenantNo, address: to, userId, reason: reason ?? '', nowMs: clock.now() });
      },
      cutOff: () => sender.cutOff(),
      close: async () => {
        sender.close();
        await run.record(pool, attempted);
      },
    };
  };
  const counts = new OutcomeCounts(redis, EMAIL_COUNTS_KEY);
  return deliver(core, counts, { ...options, medium: 'email', pool, open });
}

function startPush(
  core: SendingCore,
  { pool, sealer, delivery, emails = {}, pushServers = {} }: Shared,
): MessageSending {
  const { redis, catalogs, clock } = core;
  const { timeoutMs: attemptMs, receiptsEveryMs, ...options } = emails;
  const senders = createPushSenders({
    allowPrivate: delivery?.allowPrivate ?? false,
    ...(attemptMs !== undefined && { attemptMs }),
    baseUrls: pushServers,
  });
  const scripts = new Scripts({ redis, clock, onWritten: core.touched });
  const { firstPauseMs } = options;
  const { log } = core;
  const open = createPushOpener({ redis, pool, catalogs, clock, scripts, sealer, senders, log, firstPauseMs });
  const counts = new OutcomeCounts(redis, PUSH_COUNTS_KEY);
  const pushes = deliver(core, counts, { ...options, medium: 'push', pool, open });
  const mayWork = mayChangeUsers(core);
  const receipts = startReceipts({
    pool,
    clock,
    catalogs,
    scripts,
    sealer,
    senders,
    log: core.log,
    mayWork,
    everyMs: receiptsEveryMs,
  });
  return {
    look: pushes.look,
    close: async () => {
      await Promise.all([pushes.close(), receipts.close()]);
      senders.close();
    },
  };
}

/** A user who is missing in an incomplete Redis would look deleted. */
const mayChangeUsers =
  ({ guard, isClockRight }: SendingCore) =>
  (): boolean =>
    guard.isWhole && isClockRight();

function deliver<M, R extends { outcome: string; reason: string | null; concernsServer: boolean }>(
  core: SendingCore,
  counts: OutcomeCounts,
  options: Omit<MessageDeliveriesOptions<M, R>, 'clock' | 'log' | 'mayWork' | 'onEnd'>,
): MessageSending {
  const deliveries = new MessageDeliveries({
    ...options,
    clock: core.clock,
    log: core.log,
    mayWork: mayChangeUsers(core),
    onEnd: (status) => counts.note(status === 'waiting' ? 'retried' : status),
  });
  return {
    look: deliveries.look,
    close: async () => {
      await deliveries.close();
      await counts.flush();
    },
  };
}
