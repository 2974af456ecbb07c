import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Finding } from '../../domain/administration/advice.ts';
import {
  type AttentionItem,
  type AttentionKind,
  MEMORY_NEARLY_FULL,
  MOST_COUNTED,
  STORING_LATE_MS,
} from '../../domain/administration/attention.ts';
import { DISK_FREE_BYTES, type DiskSpace, isNearlyFull } from '../../domain/administration/disk.ts';
import { counted } from '../../domain/words.ts';
import { countLetters } from '../../postgres/corrections/dead-letters.ts';
import { countWaitingEvents } from '../../postgres/corrections/quarantine.ts';
import { countFailingJobs, type SeenJobs } from '../../postgres/jobs.ts';
import { failingChannels, type FailingChannel } from '../../postgres/notifications/failing-channels.ts';
import { troubledWebhooks, type TroubledWebhook } from '../../postgres/webhooks/deliveries.ts';
import { endpointsOf } from '../../redis/endpoints.ts';
import { memoryUsedRatio } from '../../redis/server-info.ts';
import type { BacklogWatch } from '../events/backlog-watch.ts';
import { OPENS_AFTER } from '../webhooks/endpoint.ts';

/** Retries last at most 30 s apart, so this is not a short disturbance. */
const FAILING_ATTEMPTS = 3;
/** A failed job cannot be dismissed, so an old one is no longer reported. */
const FAILED_WITHIN_MS = 7 * 86_400_000;
/** As in the alert about late messages. */
const LATE_AFTER_MS = 3_600_000;

export interface AttentionOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  backlog: Pick<BacklogWatch, 'exceeded' | 'count' | 'lagMs'>;
  /** Measures the disk of Postgres; `null` if this process cannot see it. */
  disk: (() => Promise<DiskSpace>) | null;
}

const MIB = 2 ** 20;

const NOTHING = { webhook: null, channel: null, since: null, reason: null };

/**
 * Returns what needs an administrator of a tenant, the most urgent first. `ofAll` adds what concerns the whole installation.
 * Counts of messages and quarantined events end at `MOST_COUNTED`, so the cost is bounded.
 */
export function createAttention({
  redis,
  pool,
  clock,
  backlog,
  disk,
}: AttentionOptions): (seen: SeenJobs) => Promise<AttentionItem[]> {
  return async (seen) => {
    const nowMs = clock.now();
    const [memory, space, lagMs, letters, webhooks, channels, jobs, events] = await Promise.all([
      seen.ofAll ? fullestRedis(redis) : 0,
      seen.ofAll && disk !== null ? disk().catch(() => null) : null,
      seen.ofAll ? backlog.lagMs() : 0,
      seen.ofAll ? countLetters(pool) : null,
      troubledWebhooks(pool, {
        tenantNo: seen.tenantNo,
        failures: OPENS_AFTER,
        lateBeforeMs: nowMs - LATE_AFTER_MS,
        most: MOST_COUNTED,
      }),
      failingChannels(pool, seen.tenantNo, nowMs),
      countFailingJobs(pool, { ...seen, attempts: FAILING_ATTEMPTS, sinceMs: nowMs - FAILED_WITHIN_MS }),
      countWaitingEvents(pool, seen.tenantNo, MOST_COUNTED),
    ]);
    return [
      ...(memory >= MEMORY_NEARLY_FULL
        ? [{ kind: 'memory_full' as const, count: Math.round(memory * 100), ...NOTHING }]
        : []),
      ...(space !== null && isNearlyFull(space)
        ? [{ kind: 'disk_full' as const, count: Math.floor(space.freeBytes / MIB), ...NOTHING }]
        : []),
      ...(seen.ofAll && backlog.exceeded()
        ? [{ kind: 'backlog_full' as const, count: backlog.count(), ...NOTHING }]
        : lagMs > STORING_LATE_MS
          ? [{ kind: 'storing_late' as const, count: Math.round(lagMs / 1000), ...NOTHING }]
          : []),
      ...countedItem('dead_letters', letters?.waiting ?? 0),
      ...webhooks.map(webhookItem),
      ...channels.map(channelItem),
      ...countedItem('jobs_failing', jobs),
      ...countedItem('quarantine', events),
    ].map((item) => ({ ...item, ...TEXTS[item.kind](item) }));
  };
}

/** The largest share of its memory limit that a Redis uses; 0 without limits, and without those of a Redis that is away. */
async function fullestRedis(redis: Redis): Promise<number> {
  const ratios = endpointsOf(redis).map((server) => memoryUsedRatio(server.redis).catch(() => null));
  return Math.max(0, ...(await Promise.all(ratios)).map((ratio) => ratio ?? 0));
}

/** An item without its texts. */
type UnsortedItem = Omit<AttentionItem, 'urgent' | keyof Finding>;

const countedItem = (kind: AttentionKind, count: number): UnsortedItem[] =>
  count === 0 ? [] : [{ kind, count, ...NOTHING }];

const webhookItem = ({ id, name, trouble, pending, since, reason }: TroubledWebhook): UnsortedItem => ({
  ...NOTHING,
  kind: `webhook_${trouble}`,
  count: pending,
  webhook: { id, name },
  since: since?.toISOString() ?? null,
  reason,
});

const channelItem = ({ channel, failures, since, reason }: FailingChannel): UnsortedItem => ({
  ...NOTHING,
  kind: 'channel_failing',
  count: failures,
  channel,
  since: since.toISOString(),
  reason,
});

/** `1 event`, `10,000 events or more`. */
const upTo = (count: number, one: string): string =>
  `${counted(count, one, count.toLocaleString('en'))}${count === MOST_COUNTED ? ' or more' : ''}`;

const sentence = (...facts: readonly (string | null)[]): string => facts.filter(Boolean).join(' · ');
const pending = (count: number): string | null => (count === 0 ? null : upTo(count, 'pending message'));

const ofWebhook =
  (text: (name: string) => string, urgent: boolean, advice: string | null) =>
  ({ webhook, count, reason }: UnsortedItem) => ({
    urgent,
    text: text(webhook?.name ?? ''),
    advice: sentence(reason, pending(count), advice),
    screen: `/webhooks/${webhook?.id}`,
  });

const TEXTS: Readonly<Record<AttentionKind, (item: UnsortedItem) => Finding & { urgent: boolean }>> = {
  memory_full: ({ count }) => ({
    urgent: count > 100,
    text: `Redis uses ${count} % of its memory limit`,
    advice: count > 100 ? 'writes are refused; raise maxmemory' : 'at the limit writes are refused; raise maxmemory',
    screen: '/system',
  }),
  disk_full: ({ count }) => ({
    urgent: count * MIB < DISK_FREE_BYTES.urgent,
    text: `${count.toLocaleString('en')} MiB are left on the disk of Postgres`,
    advice: 'nothing is stored once it is full; make room, or enlarge the disk',
    screen: '/system',
  }),
  backlog_full: ({ count }) => ({
    urgent: true,
    text: 'The backlog is full: events are refused',
    advice: `${count.toLocaleString('en')} outbox entries wait for Postgres`,
    screen: '/system',
  }),
  storing_late: ({ count }) => ({
    urgent: false,
    text: `Events have waited ${counted(count, 'second')} to be stored`,
    advice: 'no worker runs, or Postgres is too slow; history, webhooks and messages are late',
    screen: '/system',
  }),
  dead_letters: ({ count }) => ({
    urgent: true,
    text: upTo(count, 'dead letter'),
    advice: 'not stored completely; retry or drop',
    screen: '/system',
  }),
  webhook_disabled: ofWebhook((name) => `Laurel disabled the webhook ${name}`, true, null),
  webhook_full: ofWebhook((name) => `The queue of the webhook ${name} is full`, true, 'further messages are not sent'),
  webhook_failing: ofWebhook((name) => `The webhook ${name} keeps failing`, false, null),
  webhook_late: ofWebhook((name) => `Messages of the webhook ${name} are late`, false, null),
  channel_failing: ({ channel, reason }) => ({
    urgent: false,
    text: `Messages by ${channel!.replace('_', ' ')} fail`,
    advice: reason ?? '',
    screen: '/messages',
  }),
  jobs_failing: ({ count }) => ({
    urgent: false,
    text: `${counted(count, 'job')} failed`,
    advice: 'within 7 days, or 3 times in a row and counting',
    screen: '/jobs',
  }),
  quarantine: ({ count }) => ({
    urgent: false,
    text: `${upTo(count, 'event')} in quarantine`,
    advice: 'held back by guards; release or drop',
    screen: '/quarantine',
  }),
};
