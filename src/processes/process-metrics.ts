/** Metrics of a process, and of the Redis servers that it is connected to. */
import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import type { RedisGuards } from '../engine/availability/redis-guards.ts';

/**
 * Those for which prom-client has a timer fire a hundred times a second, in a process at rest too: 0.6 % of a core, half of
 * what a frontend at rest used (`bench:idle`).
 */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (what) => `nodejs_eventloop_lag_${what}_seconds`,
);

/** The timer cannot be left out; so rarely it costs nothing. */
const NEVER_MS = 24 * 3_600_000;

/** Adds how far this process's clock is from that of Redis (`ClockSkew`). */
export function registerClockSkew(register: Registry, skew: { readonly ms: number }): void {
  new Gauge({
    name: 'laurel_clock_skew_seconds',
    help: 'How far the clock of this process is ahead of that of Redis, negative: behind. Above 60 s either way nothing is done by it.',
    registers: [register],
    collect() {
      this.set(skew.ms / 1_000);
    },
  });
}

/**
 * How this process fares: what prom-client measures when it is asked, and how busy the event loop was since it was asked last,
 * which Node counts anyway, in place of delays that are sampled all the time.
 */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER_MS });
  for (const name of SAMPLED) register.removeSingleMetric(name);
  let asked = performance.eventLoopUtilization();
  new Gauge({
    name: 'nodejs_eventloop_utilization',
    help: 'Share of the time since the last scrape in which the event loop was busy, 0 to 1.',
    registers: [register],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, asked).utilization);
      asked = now;
    },
  });
}

/** What a server is called in the label `server`: as REDIS_URL names it. Only tests and tools name none. */
export const serverLabel = (name: string): string => (name === '' ? 'redis' : name);

/** Has a process say how it finds each Redis: which of its shards it does not serve, and so on. Measured when asked for. */
export function watchRedisServers(registry: Registry, guards: Pick<RedisGuards, 'found'>): void {
  const registers = [registry];
  const labelNames = ['server'];
  new Gauge({
    name: 'laurel_redis_shards_closed',
    help: 'Shards of a Redis whose tenants this process answers 503: it is away, or does not hold yet what Postgres does.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, closedShards } of guards.found) this.set({ server: serverLabel(name) }, closedShards);
    },
  });
  new Gauge({
    name: 'laurel_redis_shards_moved_key_by_key',
    help: 'Shards among them that are closed because the cluster moves their keys to another node one by one. Atomic slot migration closes none.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, keyByKey } of guards.found) this.set({ server: serverLabel(name) }, keyByKey);
    },
  });
  new Counter({
    name: 'laurel_redis_rebuilds_total',
    help: 'How often this process rebuilt shards of a Redis from Postgres.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, rebuilds } of guards.found) this.inc({ server: serverLabel(name) }, rebuilds);
    },
  });
  new Gauge({
    name: 'laurel_redis_replicas_acknowledging',
    help: 'Replicas of a Redis that acknowledge what this process writes. 0: writes are answered 503. Only with REDIS_ACKNOWLEDGE=replica.',
    labelNames,
    registers,
    async collect() {
      this.reset();
      await Promise.all(
        guards.found.map(async ({ name, acknowledgement }) => {
          if (acknowledgement !== null) this.set({ server: serverLabel(name) }, await acknowledgement.acknowledging());
        }),
      );
    },
  });
}
