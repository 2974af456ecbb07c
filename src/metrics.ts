import type { Redis } from 'ioredis';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { failedWork } from './redis/failed-work.ts';
import { persistLagMs, wholeBacklog } from './redis/outbox.ts';

/**
 * What an operator watches, in the Prometheus text format: how far Postgres is behind (which is how old history
 * reads may be), what waits, and how this process fares. Measured when asked for; rejects while Redis is away.
 */
export function createMetrics(redis: Redis): () => Promise<string> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
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
  return async () => {
    failures.reset();
    for (const [kind, count] of await failedWork(redis)) failures.inc({ kind }, count);
    lag.set((await persistLagMs(redis)) / 1000);
    waiting.set(await wholeBacklog(redis));
    return registry.metrics();
  };
}
