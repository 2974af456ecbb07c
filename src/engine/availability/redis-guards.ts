import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { usedShards } from '../../postgres/shards/used-shards.ts';
import { connectionOf, endpointsOf, onPlaced } from '../../redis/endpoints.ts';
import { gateOf, type Gate } from '../../redis/gate.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import type { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { noteShardsInUse, shardsInUse } from '../../redis/shards-in-use.ts';
import { SharedRuns } from '../../shared-runs.ts';
import { IndependentServers, unnamedRedisTexts } from './independent-servers.ts';
import { RedisGuard, type RedisGuardOptions } from './redis-guard.ts';

/** A server as one process finds it. */
export interface ServerFound {
  /** '' if it has none. */
  name: string;
  /** How many of its shards the process does not serve. */
  closedShards: number;
  rebuilds: number;
  acknowledgement: ReplicaAcknowledgement | null;
}

/** The guards of all servers that a connection leads to. Each server's shards open and close by themselves. */
export class RedisGuards {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private readonly guards: readonly RedisGuard[];
  private readonly gates: readonly Gate[];
  private byShard: readonly Gate[] = [];
  /** One after another: of two that ran at once the older one might end last. */
  private readonly looks = new SharedRuns(() => this.lookForTenants(), { everyMs: 0 });

  constructor(options: Omit<RedisGuardOptions, 'name' | 'shards' | 'inUse' | 'others'>) {
    const { redis, pool } = options;
    this.redis = redis;
    this.pool = pool;
    const others = new IndependentServers({ redis, pool });
    this.guards = endpointsOf(redis).map(
      (endpoint) => new RedisGuard({ ...options, ...endpoint, inUse: () => shardsInUse(redis), others }),
    );
    this.gates = this.guards.map(({ gate }) => gate);
    const place = (): void => {
      this.byShard = SHARD_NUMBERS.map((shard) => gateOf(connectionOf(redis, shard))!);
    };
    place();
    onPlaced(redis, place);
  }

  /** Begins; see `RedisGuard.start`. */
  async start(): Promise<void> {
    await this.tenantsChanged();
    await Promise.all(this.guards.map((guard) => guard.start()));
  }

  /**
   * Reads which shards hold a tenant (`shardsInUse`). To be called when tenants were created, or may have been. Never rejects: while
   * it is unknown, all shards count.
   */
  tenantsChanged(): Promise<void> {
    return this.looks.run();
  }

  /** Ends, and with it a rebuild in this process. */
  async close(): Promise<void> {
    await Promise.all(this.guards.map((guard) => guard.close()));
  }

  /** Whether a shard is open: known to hold what Postgres does. */
  isOpen(shard: number): boolean {
    return this.byShard[shard]!.isOpen(shard);
  }

  /** Whether all shards are open. */
  get isWhole(): boolean {
    return this.gates.every((gate) => gate.isWhole);
  }

  /** Whether the replicas of all servers acknowledge what is written, or none has to. */
  get areReplicasThere(): boolean {
    return this.gates.every((gate) => gate.acknowledgement?.isAway !== true);
  }

  /** A sentence for each Redis that holds shards and that REDIS_URL does not name here. */
  get unnamed(): string[] {
    return [...unnamedRedisTexts(new Map(this.guards.flatMap(({ elsewhere }) => [...elsewhere]))).values()];
  }

  /** Each server as this process finds it. */
  get found(): ServerFound[] {
    return this.guards.map(({ name, gate, rebuilds }) => ({
      name,
      closedShards: gate.closedShards.length,
      rebuilds,
      acknowledgement: gate.acknowledgement,
    }));
  }

  /** See `Gate.storageEpochOf`. */
  storageEpochOf(shard: number): string | null {
    return this.byShard[shard]!.storageEpochOf(shard);
  }

  /** See `Gate.contradicted`. */
  contradicted(shard: number): void {
    this.byShard[shard]!.contradicted(shard);
  }

  /** Waits until a replica has what was written to a shard; null if none has to. */
  acknowledgementOf(shard: number): ReplicaAcknowledgement | null {
    return this.byShard[shard]!.acknowledgement;
  }

  /** Aborted when a shard closes. */
  get closes(): AbortSignal {
    return AbortSignal.any(this.gates.map((gate) => gate.closes));
  }

  /** Called whenever shards open or close. */
  listen(listener: () => void): void {
    for (const gate of this.gates) gate.listen(listener);
  }

  private async lookForTenants(): Promise<void> {
    noteShardsInUse(this.redis, await usedShards(this.pool).catch(() => null));
  }
}
