import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import { countLetters } from '../postgres/dead-letters/letters.ts';
import { failedWork } from '../redis/failed-work.ts';
import { persistLagMs, wholeBacklog } from '../redis/outbox.ts';
import { collectProcessMetrics } from './process-metrics.ts';

/**
 * What an operator watches, in the Prometheus text format: how far Postgres is behind (which is how old history
 * reads may be), what waits, and how this process fares. Measured when asked for; rejects while Redis is away.
 * While Postgres is, dead letters are as they were.
 */
export function createMetrics(redis: Redis, pool: Pool): () => Promise<string> {
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
  const countDeadLetters = async (): Promise<void> => {
    const counted = await countLetters(pool);
    letters.set(counted.waiting);
    setAside.reset();
    setAside.inc(counted.ever);
  };
  return async () => {
    await countDeadLetters().catch(() => undefined);
    failures.reset();
    for (const [kind, count] of await failedWork(redis)) failures.inc({ kind }, count);
    lag.set((await persistLagMs(redis)) / 1000);
    waiting.set(await wholeBacklog(redis));
    return registry.metrics();
  };
}
