/** Metrics of a process, and of the Redis servers to which it is connected. */
import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import type { RedisGuards } from '../engine/availability/redis-guards.ts';

/** Metrics for which prom-client runs a timer 100 times a second. */
const SAMPLED = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (what) => `nodejs_eventloop_lag_${what}_seconds`,
);

/** The timer cannot be disabled. At this interval it costs nothing. */
const NEVER_MS = 24 * 3_600_000;

export function registerClockSkew(register: Registry, skew: { readonly ms: number }): void {
  new Gauge({
    name: 'laurel_clock_skew_seconds',
    help: "How far this process's clock is ahead of Redis's; negative if behind. Beyond 60 s the process does nothing that depends on it.",
    registers: [register],
    collect() {
      this.set(skew.ms / 1_000);
    },
  });
}

/** Adds prom-client's metrics, with the event loop's utilisation in place of sampled delays. */
export function collectProcessMetrics(register: Registry): void {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: NEVER_MS });
  for (const name of SAMPLED) register.removeSingleMetric(name);
  let last = performance.eventLoopUtilization();
  new Gauge({
    name: 'nodejs_eventloop_utilization',
    help: 'Share of the time since the last scrape in which the event loop was busy, 0 to 1.',
    registers: [register],
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, last).utilization);
      last = now;
    },
  });
}

/** A server's value of the label `server`: its name in REDIS_URL. Only tests and tools have unnamed servers. */
export const serverLabel = (name: string): string => (name === '' ? 'redis' : name);

/** Adds this process's view of each Redis, such as the shards that it does not serve. Measured on request. */
export function watchRedisServers(registry: Registry, guards: Pick<RedisGuards, 'found'>): void {
  const registers = [registry];
  const labelNames = ['server'];
  new Gauge({
    name: 'laurel_redis_shards_closed',
    help: 'Shards of a Redis whose tenants this process answers with 503, because it is down or not known to be complete.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, closedShards } of guards.found) this.set({ server: serverLabel(name) }, closedShards);
    },
  });
  new Gauge({
    name: 'laurel_redis_shards_moved_key_by_key',
    help: 'Closed shards whose keys the cluster is moving to another node one by one. Atomic slot migration closes none.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, keyByKey } of guards.found) this.set({ server: serverLabel(name) }, keyByKey);
    },
  });
  new Counter({
    name: 'laurel_redis_rebuilds_total',
    help: "Rebuilds of a Redis's shards from Postgres by this process.",
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { name, rebuilds } of guards.found) this.inc({ server: serverLabel(name) }, rebuilds);
    },
  });
  new Gauge({
    name: 'laurel_redis_replicas_acknowledging',
    help: "Replicas of a Redis that acknowledge this process's writes. At 0, writes get status 503. Only with REDIS_ACKNOWLEDGE=replica.",
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
