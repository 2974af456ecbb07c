import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { countLetters } from '../postgres/dead-letters/letters.ts';
import { waitingMessages } from '../postgres/webhooks/waiting.ts';
import { deliveryCounts } from '../redis/delivery-counts.ts';
import { failedWork } from '../redis/failed-work.ts';
import { persistLagMs, wholeBacklog } from '../redis/outbox.ts';
import { collectProcessMetrics } from './process-metrics.ts';

/**
 * What an operator watches, in the Prometheus text format: how far Postgres is behind (which is how old history
 * reads may be), what waits, and how this process fares. Measured when asked for; rejects while Redis is away.
 * While Postgres is, dead letters and what waits for webhooks are as they were.
 */
export function createMetrics({
  redis,
  pool,
  clock,
}: {
  redis: Redis;
  pool: Pool;
  clock: Clock;
}): () => Promise<string> {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const lag = new Gauge({
    name: 'laurel_persist_lag_seconds',
    help: 'How long the oldest event that Postgres does not hold yet has been waiting: the age of history reads.',
    registers: [registry],
  });
  const waiting = new Gauge({
    name: 'laurel_outbox_entries',
    help: 'Script calls that Postgres does not hold yet. At BACKLOG_LIMIT, and where they take BACKLOG_LIMIT_BYTES, events are answered 503.',
    registers: [registry],
  });
  const failures = new Counter({
    name: 'laurel_scheduled_work_failures_total',
    help: 'Failures of scheduled work by kind, each of one board, tenant, zone or user, or of the whole kind. They are retried.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const letters = new Gauge({
    name: 'laurel_dead_letters',
    help: 'Outbox entries that could not be stored whole and wait to be retried or dropped: `laurel dead-letters list`.',
    registers: [registry],
  });
  const setAside = new Counter({
    name: 'laurel_dead_letters_total',
    help: 'Outbox entries that were ever set aside, in all processes.',
    registers: [registry],
  });
  const tries = new Counter({
    name: 'laurel_webhook_tries_total',
    help: 'Tries to deliver messages to webhooks by how they ended, in all processes.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const messages = new Gauge({
    name: 'laurel_webhook_messages_waiting',
    help: 'Messages that wait to be sent to enabled webhooks, those that were tried and are to be tried again included.',
    registers: [registry],
  });
  const oldest = new Gauge({
    name: 'laurel_webhook_oldest_waiting_seconds',
    help: 'How long ago the oldest of them was made.',
    registers: [registry],
  });
  const countMessages = async (): Promise<void> => {
    const { count, oldestMs } = await waitingMessages(pool, clock.now());
    messages.set(count);
    oldest.set(oldestMs / 1000);
  };
  const countDeadLetters = async (): Promise<void> => {
    const counted = await countLetters(pool);
    letters.set(counted.waiting);
    setAside.reset();
    setAside.inc(counted.ever);
  };
  return async () => {
    await Promise.all([countDeadLetters(), countMessages()]).catch(() => undefined);
    tries.reset();
    for (const [outcome, count] of await deliveryCounts(redis)) tries.inc({ outcome }, count);
    failures.reset();
    for (const [kind, count] of await failedWork(redis)) failures.inc({ kind }, count);
    lag.set((await persistLagMs(redis)) / 1000);
    waiting.set(await wholeBacklog(redis));
    return registry.metrics();
  };
}
