import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { numberRanges } from '../../number-ranges.ts';
import { readSpreads, usedShards } from '../../postgres/shards.ts';
import { connectionOf, noteShardsInUse, onPlaced, onServer, shardsInUse } from '../../redis/endpoints.ts';
import { noteSpreads } from '../../redis/parts.ts';
import { gateOf, type Gate } from '../../redis/gate.ts';
import type { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { SharedRuns } from '../../pacing/shared-runs.ts';
import { RedisGuard, type RedisGuardOptions } from './redis-guard.ts';

export interface ServerFound {
  /** '' if the server has no name. */
  name: string;
  /** Number of the server's shards that the process does not serve. */
  closedShards: number;
  /** How many of them are closed because the cluster moves their keys to another node one by one. */
  keyByKey: number;
  rebuilds: number;
  acknowledgement: ReplicaAcknowledgement | null;
}

/**
 * The guards of all servers of a connection: of one Redis, or of all masters of a cluster, including masters added
 * later. When the cluster moves a shard, the shard passes in the closed state from one master's gate to the other's,
 * and is inspected there. The servers open and close their shards independently.
 */
export class RedisGuards {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private guards: readonly RedisGuard[] = [];
  private readonly listeners = new Set<() => void>();
  private readonly stopFollowing: () => void;
  private isStarted = false;
  /** Runs never overlap: the older of two could end last. */
  private readonly tenantChecks = new SharedRuns(() => this.noteTenants(), { everyMs: 0 });

  constructor(options: Omit<RedisGuardOptions, 'name' | 'shards' | 'inUse' | 'older'>) {
    const { redis, pool } = options;
    this.redis = redis;
    this.pool = pool;
    const older = new Set<RedisGuard>();
    const stopServers = onServer(redis, (endpoint, gone) => {
      const guard = new RedisGuard({ ...options, ...endpoint, inUse: () => shardsInUse(redis), older });
      this.guards = [...this.guards, guard];
      for (const listener of this.listeners) guard.gate.listen(listener);
      if (this.isStarted) void guard.start(0);
      gone.addEventListener('abort', () => {
        this.guards = this.guards.filter((each) => each !== guard);
        older.delete(guard);
        void guard.close();
      });
    });
    const stopPlaces = onPlaced(redis, (shard, from, to) =>
      gateOf(to.redis)!.take(shard, gateOf(from.redis)!.release(shard)),
    );
    this.stopFollowing = () => {
      stopServers();
      stopPlaces();
    };
  }

  async start(): Promise<void> {
    await this.tenantsChanged();
    this.isStarted = true;
    await Promise.all(this.guards.map((guard) => guard.start()));
  }

  /** Reads which shards hold a tenant. Never rejects: while that is unknown, all shards count. */
  tenantsChanged(): Promise<void> {
    return this.tenantChecks.run();
  }

  async close(): Promise<void> {
    this.stopFollowing();
    await Promise.all(this.guards.map((guard) => guard.close()));
  }

  /** Whether a shard is known to hold what Postgres holds. */
  isOpen(shard: number): boolean {
    return this.gateOf(shard).isOpen(shard);
  }

  get isWhole(): boolean {
    return this.gates.every((gate) => gate.isWhole);
  }

  /** Whether the replicas of all servers acknowledge writes, or none has to. */
  get areReplicasThere(): boolean {
    return this.gates.every((gate) => gate.acknowledgement?.isAway !== true);
  }

  /** The reasons why shards stay closed until an operator acts, one sentence each. */
  get notices(): string[] {
    return this.guards.flatMap(({ name, keyByKey }) =>
      keyByKey.length === 0
        ? []
        : [
            `The cluster is moving the keys of shards ${numberRanges(keyByKey)} away from ${name} one by one: their tenants are ` +
              'answered 503 until that has ended. Finish it, and use atomic slot migration (CLUSTER MIGRATESLOTS) next time.',
          ],
    );
  }

  get found(): ServerFound[] {
    return this.guards.map(({ name, gate, rebuilds, keyByKey }) => ({
      name,
      closedShards: gate.closedShards.length,
      keyByKey: keyByKey.length,
      rebuilds,
      acknowledgement: gate.acknowledgement,
    }));
  }

  storageEpochOf(shard: number): string | null {
    return this.gateOf(shard).storageEpochOf(shard);
  }

  contradicted(shard: number): void {
    this.gateOf(shard).contradicted(shard);
  }

  /** Waits for a replica to acknowledge a shard's writes; `null` if none has to. */
  acknowledgementOf(shard: number): ReplicaAcknowledgement | null {
    return this.gateOf(shard).acknowledgement;
  }

  /** Aborted when a shard closes. */
  get closes(): AbortSignal {
    return AbortSignal.any(this.gates.map((gate) => gate.closes));
  }

  listen(listener: () => void): void {
    this.listeners.add(listener);
    for (const gate of this.gates) gate.listen(listener);
  }

  private get gates(): Gate[] {
    return this.guards.map(({ gate }) => gate);
  }

  private gateOf(shard: number): Gate {
    return gateOf(connectionOf(this.redis, shard))!;
  }

  private async noteTenants(): Promise<void> {
    noteShardsInUse(this.redis, await usedShards(this.pool).catch(() => null));
    noteSpreads(this.redis, await readSpreads(this.pool).catch(() => []));
  }
}
