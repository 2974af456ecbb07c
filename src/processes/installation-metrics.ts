import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { DAY_MS } from '../domain/periods.ts';
import { familiesOf, type Family } from '../telemetry/metrics.ts';
import { countLetters } from '../postgres/corrections/dead-letters.ts';
import { partitionsState } from '../postgres/partitions.ts';
import { postgresUsedBytes } from '../postgres/server-state.ts';
import { waitingMessageCounts } from '../postgres/notifications/messages.ts';
import { PUSH_PROVIDERS } from '../domain/notifications/device-tokens.ts';
import { countFailingChannels } from '../postgres/notifications/failing-channels.ts';
import { countDisabledByLaurel, waitingMessages } from '../postgres/webhooks/tries.ts';
import { waitingBatches } from '../redis/batches.ts';
import { failedWork, outcomeCounts, isPostgresNotedFull } from '../redis/work-counts.ts';
import { DELIVERY_COUNTS_KEY, EMAIL_COUNTS_KEY, PUSH_COUNTS_KEY } from '../redis/keys.ts';
import { endpointsOf, shardsInUse } from '../redis/endpoints.ts';
import { persistLagMs, wholeBacklog } from '../redis/outbox.ts';
import { memoryUsedRatio } from '../redis/server-info.ts';
import { orNothing } from '../engine/availability/system-state.ts';
import { serverLabel } from './process-metrics.ts';

/**
 * Metrics that are the same from every process: how far Postgres is behind (the age of history reads), waiting work, and
 * failures. Measured on request. While a Redis or Postgres is down, `laurel_up` reports it, and metrics that only this
 * server knows are omitted, because an old value would look healthy.
 */
export function createInstallationMetrics({
  redis,
  pool,
  clock,
  postgresDiskBytes,
}: {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** The size of Postgres's disk; `null` if unknown. */
  postgresDiskBytes: number | null;
}): () => Promise<Family[]> {
  const up = new Gauge({
    name: 'laurel_up',
    help: 'Whether a server on which Laurel depends answers: 1 or 0.',
    labelNames: ['server'],
    registers: [],
  });
  const ofServers = serverMetrics(redis);
  const ofFirst = firstRedisMetrics(redis);
  const ofPostgres = postgresMetrics(pool, clock, postgresDiskBytes);
  return async () => {
    const [fromServers, fromFirst, fromPostgres] = await Promise.all([
      ofServers(),
      orNothing(ofFirst),
      orNothing(ofPostgres),
    ]);
    for (const [server, isUp] of fromServers.up) up.set({ server }, Number(isUp));
    up.set({ server: 'postgres' }, fromPostgres === null ? 0 : 1);
    const registry = new Registry();
    registry.registerMetric(up);
    return [...(await familiesOf(registry)), ...fromServers.families, ...(fromFirst ?? []), ...(fromPostgres ?? [])];
  };
}

/** Each Redis server's own metrics, or that it does not answer in time. */
function serverMetrics(redis: Redis): () => Promise<{ up: Map<string, boolean>; families: Family[] }> {
  const registry = new Registry();
  const shared = { labelNames: ['server'], registers: [registry] };
  const lag = new Gauge({
    name: 'laurel_persist_lag_seconds',
    help: 'How long the oldest event that is not stored in Postgres yet has been waiting, which is the age of history reads.',
    ...shared,
  });
  const waiting = new Gauge({
    name: 'laurel_outbox_entries',
    help: 'Script calls that are not stored in Postgres yet. At BACKLOG_LIMIT entries, or 10 KiB for each of them, events get status 503.',
    ...shared,
  });
  const batches = new Gauge({
    name: 'laurel_batches_waiting',
    help: 'Accepted batches of events that are not completely processed.',
    ...shared,
  });
  const oldestBatch = new Gauge({
    name: 'laurel_batches_oldest_waiting_seconds',
    help: 'Age of the oldest unfinished batch of events.',
    ...shared,
  });
  const memory = new Gauge({
    name: 'laurel_redis_memory_used_ratio',
    help: "Share of a Redis's maxmemory that is used; above 1, writes get status 503. Left out without a limit.",
    ...shared,
  });
  return async () => {
    const inUse = new Set(shardsInUse(redis));
    const measured = await Promise.all(
      endpointsOf(redis).map(async (endpoint) => {
        const shards = endpoint.shards.filter((shard) => inUse.has(shard));
        const state = await orNothing(() =>
          Promise.all([
            persistLagMs(endpoint.redis, shards),
            wholeBacklog(endpoint.redis, shards),
            waitingBatches(endpoint.redis, shards),
            memoryUsedRatio(endpoint.redis),
          ]),
        );
        return { server: serverLabel(endpoint.name), state };
      }),
    );
    for (const gauge of [lag, waiting, batches, oldestBatch, memory]) gauge.reset();
    for (const { server, state } of measured) {
      if (state === null) continue;
      const [lagMs, entries, queued, usedRatio] = state;
      lag.set({ server }, lagMs / 1000);
      waiting.set({ server }, entries);
      batches.set({ server }, queued.count);
      oldestBatch.set({ server }, queued.oldestMs / 1000);
      if (usedRatio !== null) memory.set({ server }, usedRatio);
    }
    const up = new Map(measured.map(({ server, state }) => [server, state !== null]));
    return { up, families: await familiesOf(registry) };
  };
}

/** Adds the outcomes that `ops/alerts.yml` counts: a counter that appears with its first failures never increases by them. */
const fromZero = (counts: ReadonlyMap<string, number>): Map<string, number> =>
  new Map([['sent', 0], ['failed', 0], ...counts]);

/** Metrics from the first Redis, which holds the queues. */
function firstRedisMetrics(redis: Redis): () => Promise<Family[]> {
  const registry = new Registry();
  const registers = [registry];
  const failures = new Counter({
    name: 'laurel_scheduled_work_failures_total',
    help: 'Failures of scheduled work by kind, each concerning a leaderboard, tenant, zone or user, or a whole kind. They are retried.',
    labelNames: ['kind'],
    registers,
  });
  const tries = new Counter({
    name: 'laurel_webhook_tries_total',
    help: 'Webhook delivery attempts by outcome, in all processes.',
    labelNames: ['outcome'],
    registers,
  });
  const emails = new Counter({
    name: 'laurel_emails_total',
    help: 'E-mails by what became of them, in all processes: sent, failed, dropped, unknown, or retried.',
    labelNames: ['outcome'],
    registers,
  });
  const pushes = new Counter({
    name: 'laurel_pushes_total',
    help: 'Push notifications by what became of them, in all processes: sent, failed, dropped, unknown, or retried.',
    labelNames: ['outcome'],
    registers,
  });
  const full = new Gauge({
    name: 'laurel_postgres_disk_full',
    help: 'Whether Postgres refused a write in the last 10 s because its disk is full: 1 or 0.',
    registers,
  });
  return async () => {
    const [failed, tried, mailed, pushed, isFull] = await Promise.all([
      failedWork(redis),
      outcomeCounts(redis, DELIVERY_COUNTS_KEY),
      outcomeCounts(redis, EMAIL_COUNTS_KEY),
      outcomeCounts(redis, PUSH_COUNTS_KEY),
      isPostgresNotedFull(redis),
    ]);
    full.set(Number(isFull));
    failures.reset();
    for (const [kind, count] of failed) failures.inc({ kind }, count);
    tries.reset();
    for (const [outcome, count] of tried) tries.inc({ outcome }, count);
    emails.reset();
    for (const [outcome, count] of fromZero(mailed)) emails.inc({ outcome }, count);
    pushes.reset();
    for (const [outcome, count] of fromZero(pushed)) pushes.inc({ outcome }, count);
    return familiesOf(registry);
  };
}

const CHANNELS = ['email', ...PUSH_PROVIDERS] as const;

/** Measuring the size of Postgres takes some milliseconds, and it changes slowly. */
const SIZE_MS = 60_000;

function postgresMetrics(pool: Pool, clock: Clock, diskBytes: number | null): () => Promise<Family[]> {
  const registry = new Registry();
  const registers = [registry];
  const letters = new Gauge({
    name: 'laurel_dead_letters',
    help: 'Outbox entries that could not be stored completely and wait to be retried or dropped: `laurel dead-letters list`.',
    registers,
  });
  const setAside = new Counter({
    name: 'laurel_dead_letters_total',
    help: 'Outbox entries ever set aside, in all processes.',
    registers,
  });
  const messages = new Gauge({
    name: 'laurel_webhook_messages_waiting',
    help: 'Messages that wait to be sent to enabled webhooks, including those that wait for a retry.',
    registers,
  });
  const oldest = new Gauge({
    name: 'laurel_webhook_oldest_waiting_seconds',
    help: 'Age of the oldest message that waits to be sent to a webhook.',
    registers,
  });
  const emails = new Gauge({
    name: 'laurel_emails_waiting',
    help: 'E-mails that wait to be sent, including those that wait for quiet hours or a retry.',
    registers,
  });
  const oldestEmail = new Gauge({
    name: 'laurel_emails_oldest_waiting_seconds',
    help: 'How long ago the oldest e-mail that waits fell due.',
    registers,
  });
  const pushes = new Gauge({
    name: 'laurel_pushes_waiting',
    help: 'Push notifications that wait to be sent, including those that wait for quiet hours or a retry.',
    registers,
  });
  const oldestPush = new Gauge({
    name: 'laurel_pushes_oldest_waiting_seconds',
    help: 'How long ago the oldest push notification that waits fell due.',
    registers,
  });
  const left = new Gauge({
    name: 'laurel_event_partitions_left_seconds',
    help: 'Time until the last partition of events in Postgres ends. Laurel creates more when a week is left.',
    registers,
  });
  const outside = new Gauge({
    name: 'laurel_event_rows_outside_partitions_bytes',
    help: 'Size of events, awards and used keys that were stored on days without a partition.',
    registers,
  });
  const disabled = new Gauge({
    name: 'laurel_webhooks_disabled',
    help: 'Webhooks that Laurel disabled because of their receivers, until they are enabled again.',
    registers,
  });
  const failing = new Gauge({
    name: 'laurel_message_channels_failing',
    help: 'Channels for e-mails and push notifications whose last attempts all failed for minutes, by channel.',
    labelNames: ['channel'],
    registers,
  });
  const used = new Gauge({
    name: 'laurel_postgres_used_bytes',
    help: "Size of Postgres's databases and, if Laurel's role has pg_monitor, of its write-ahead log. Measured once a minute.",
    registers,
  });
  const usedRatio = new Gauge({
    name: 'laurel_postgres_disk_used_ratio',
    help: 'laurel_postgres_used_bytes as a share of POSTGRES_DISK_GB. Left out if this is not set.',
    // Without a value it would be 0.
    registers: diskBytes === null ? [] : registers,
  });
  let sizedMs = -Infinity;
  return async () => {
    const nowMs = clock.now();
    const isSizeOld = performance.now() - sizedMs >= SIZE_MS;
    const [counted, { count, oldestMs }, mails, { endDay, bytesOutside }, disabledCount, failingCounts, usedBytes] =
      await Promise.all([
        countLetters(pool),
        waitingMessages(pool, nowMs),
        waitingMessageCounts(pool, nowMs),
        partitionsState(pool),
        countDisabledByLaurel(pool),
        countFailingChannels(pool, nowMs),
        // A database that is being dropped has no size; the others say whether Postgres answers.
        isSizeOld ? postgresUsedBytes(pool).catch(() => null) : null,
      ]);
    if (usedBytes !== null) {
      sizedMs = performance.now();
      used.set(usedBytes);
      if (diskBytes !== null) usedRatio.set(usedBytes / diskBytes);
    }
    disabled.set(disabledCount);
    for (const channel of CHANNELS) failing.set({ channel }, failingCounts.get(channel) ?? 0);
    left.set((endDay * DAY_MS - nowMs) / 1000);
    outside.set(bytesOutside);
    letters.set(counted.waiting);
    setAside.reset();
    setAside.inc(counted.ever);
    messages.set(count);
    oldest.set(oldestMs / 1000);
    emails.set(mails.email.count);
    oldestEmail.set(mails.email.oldestMs / 1000);
    pushes.set(mails.push.count);
    oldestPush.set(mails.push.oldestMs / 1000);
    return familiesOf(registry);
  };
}
