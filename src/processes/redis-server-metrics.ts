import { Counter, Gauge, type Registry } from 'prom-client';
import type { RedisGuards } from '../engine/availability/redis-guards.ts';

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
