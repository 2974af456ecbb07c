import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { DAY_MS } from '../domain/periods.ts';
import { familiesOf, type Family } from '../telemetry/metrics.ts';
import { countLetters } from '../postgres/corrections/dead-letters.ts';
import { partitionsState } from '../postgres/partitions/event-partitions.ts';
import { waitingMessages } from '../postgres/webhooks/leases.ts';
import { waitingBatches } from '../redis/batches.ts';
import { deliveryCounts, failedWork } from '../redis/work-counts.ts';
import { endpointsOf, shardsInUse } from '../redis/endpoints.ts';
import { persistLagMs, wholeBacklog } from '../redis/outbox.ts';
import { orNothing } from './system-state.ts';
import { serverLabel } from './process-metrics.ts';

/**
 * What is the same whichever process is asked: how far Postgres is behind (which is how old history reads may be), what
 * waits, what failed. Measured when asked for. While a Redis or Postgres is away, `laurel_up` says so, and what only it
 * knows is left out: an old value would look like a good one.
 */
export function createInstallationMetrics({
  redis,
  pool,
  clock,
}: {
  redis: Redis;
  pool: Pool;
  clock: Clock;
}): () => Promise<Family[]> {
  const up = new Gauge({
    name: 'laurel_up',
    help: 'Whether what Laurel depends on answers: 1 or 0, by server.',
    labelNames: ['server'],
    registers: [],
  });
  const ofServers = serverMetrics(redis);
  const ofFirst = firstRedisMetrics(redis);
  const ofPostgres = postgresMetrics(pool, clock);
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

/** What each Redis knows, with its name; of one that does not answer in time, that. */
function serverMetrics(redis: Redis): () => Promise<{ up: Map<string, boolean>; families: Family[] }> {
  const registry = new Registry();
  const shared = { labelNames: ['server'], registers: [registry] };
  const lag = new Gauge({
    name: 'laurel_persist_lag_seconds',
    help: 'How long the oldest event that Postgres does not hold yet has been waiting: the age of history reads.',
    ...shared,
  });
  const waiting = new Gauge({
    name: 'laurel_outbox_entries',
    help: 'Script calls that Postgres does not hold yet. At BACKLOG_LIMIT entries, or 10 KiB for each of them, events are answered 503.',
    ...shared,
  });
  const batches = new Gauge({
    name: 'laurel_batches_waiting',
    help: 'Batches of events that were accepted and are not processed to their end.',
    ...shared,
  });
  const oldestBatch = new Gauge({
    name: 'laurel_batches_oldest_waiting_seconds',
    help: 'How long ago the oldest of them was accepted.',
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
            endpoint.redis.ping(),
          ]),
        );
        return { server: serverLabel(endpoint.name), state };
      }),
    );
    for (const gauge of [lag, waiting, batches, oldestBatch]) gauge.reset();
    for (const { server, state } of measured) {
      if (state === null) continue;
      const [lagMs, entries, queued] = state;
      lag.set({ server }, lagMs / 1000);
      waiting.set({ server }, entries);
      batches.set({ server }, queued.count);
      oldestBatch.set({ server }, queued.oldestMs / 1000);
    }
    const up = new Map(measured.map(({ server, state }) => [server, state !== null]));
    return { up, families: await familiesOf(registry) };
  };
}

/** What the first Redis knows, that of queues. */
function firstRedisMetrics(redis: Redis): () => Promise<Family[]> {
  const registry = new Registry();
  const registers = [registry];
  const failures = new Counter({
    name: 'laurel_scheduled_work_failures_total',
    help: 'Failures of scheduled work by kind, each of one board, tenant, zone or user, or of the whole kind. They are retried.',
    labelNames: ['kind'],
    registers,
  });
  const tries = new Counter({
    name: 'laurel_webhook_tries_total',
    help: 'Tries to deliver messages to webhooks by how they ended, in all processes.',
    labelNames: ['outcome'],
    registers,
  });
  return async () => {
    const [failed, tried] = await Promise.all([failedWork(redis), deliveryCounts(redis)]);
    failures.reset();
    for (const [kind, count] of failed) failures.inc({ kind }, count);
    tries.reset();
    for (const [outcome, count] of tried) tries.inc({ outcome }, count);
    return familiesOf(registry);
  };
}

function postgresMetrics(pool: Pool, clock: Clock): () => Promise<Family[]> {
  const registry = new Registry();
  const registers = [registry];
  const letters = new Gauge({
    name: 'laurel_dead_letters',
    help: 'Outbox entries that could not be stored whole and wait to be retried or dropped: `laurel dead-letters list`.',
    registers,
  });
  const setAside = new Counter({
    name: 'laurel_dead_letters_total',
    help: 'Outbox entries that were ever set aside, in all processes.',
    registers,
  });
  const messages = new Gauge({
    name: 'laurel_webhook_messages_waiting',
    help: 'Messages that wait to be sent to enabled webhooks, those that were tried and are to be tried again included.',
    registers,
  });
  const oldest = new Gauge({
    name: 'laurel_webhook_oldest_waiting_seconds',
    help: 'How long ago the oldest of them was made.',
    registers,
  });
  const left = new Gauge({
    name: 'laurel_event_partitions_left_seconds',
    help: 'For how long from now events have partitions in Postgres. More are made when a week is left.',
    registers,
  });
  const outside = new Gauge({
    name: 'laurel_event_rows_outside_partitions_bytes',
    help: 'Size of events, awards and used keys of days that had no partition when they were stored.',
    registers,
  });
  return async () => {
    const nowMs = clock.now();
    const [counted, { count, oldestMs }, { endDay, bytesOutside }] = await Promise.all([
      countLetters(pool),
      waitingMessages(pool, nowMs),
      partitionsState(pool),
    ]);
    left.set((endDay * DAY_MS - nowMs) / 1000);
    outside.set(bytesOutside);
    letters.set(counted.waiting);
    setAside.reset();
    setAside.inc(counted.ever);
    messages.set(count);
    oldest.set(oldestMs / 1000);
    return familiesOf(registry);
  };
}
