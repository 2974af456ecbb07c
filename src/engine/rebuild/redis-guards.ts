import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { usedShards } from '../../postgres/shards/used-shards.ts';
import { connectionOf, endpointsOf, onPlaced } from '../../redis/endpoints.ts';
import { gateOf, type Gate } from '../../redis/gate.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import type { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { noteShardsInUse, shardsInUse } from '../../redis/shards-in-use.ts';
import { SharedRuns } from '../../shared-runs.ts';
import { Placement } from './placement.ts';
import { unnamedRedisTexts } from './unnamed-redis.ts';
import { RedisGuard, type RedisGuardOptions, type SharedByGuards } from './redis-guard.ts';

/** A server as one process finds it. */
export interface ServerFound {
  /** '' where nobody said. */
  name: string;
  /** How many of its shards the process does not serve. */
  shutShards: number;
  rebuilds: number;
  acknowledgement: ReplicaAcknowledgement | null;
}

/**
 * The guards of all servers that a connection leads to, each of which looks after its own shards: one that is away keeps
 * the shards of the others from nothing. A shard that is moved to another server goes from one to the other.
 */
export class RedisGuards {
  private readonly guards: readonly RedisGuard[];
  private readonly gates: readonly Gate[];
  private byShard: readonly Gate[] = [];
  /** One after another: of two that ran at once the older one might end last. */
  private readonly looks = new SharedRuns(() => this.lookForTenants(), { everyMs: 0 });
  private readonly servers: { redis: Redis; pool: Pool };

  constructor({
    redis,
    ...options
  }: Omit<RedisGuardOptions, 'shards' | 'inUse' | 'server' | 'placement'> & { redis: Redis }) {
    const endpoints = endpointsOf(redis);
    const shared: SharedByGuards = { runs: new Map(), older: new Set() };
    const placement = new Placement({ redis, pool: options.pool });
    this.servers = { redis, pool: options.pool };
    this.guards = endpoints.map(
      (endpoint) =>
        new RedisGuard({
          ...options,
          ...endpoint,
          inUse: () => shardsInUse(redis),
          placement,
          server: endpoints.length === 1 ? null : { name: endpoint.name, shared },
        }),
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
   * Looks which shards hold a tenant (`shardsInUse`). To be called when tenants were made, or may have been. Never rejects: while it is
   * not known, all count as such.
   */
  tenantsChanged(): Promise<void> {
    return this.looks.run();
  }

  /** Ends, and with it a rebuild under way in this process. */
  async close(): Promise<void> {
    await Promise.all(this.guards.map((guard) => guard.close()));
  }

  /** Whether a shard is known to hold what Postgres does. */
  isOpen(shard: number): boolean {
    return this.byShard[shard]!.isOpen(shard);
  }

  /** Whether all shards are. */
  get isWhole(): boolean {
    return this.gates.every((gate) => gate.isWhole);
  }

  /** Whether the replicas of all servers acknowledge what is written, or none has to. */
  get areReplicasThere(): boolean {
    return this.gates.every((gate) => gate.acknowledgement?.isAway !== true);
  }

  /** Of shards that are on Redis which REDIS_URL does not name here: a sentence for each such Redis. */
  get unnamed(): string[] {
    return [...unnamedRedisTexts(new Map(this.guards.flatMap(({ elsewhere }) => [...elsewhere]))).values()];
  }

  /** Each server as this process finds it. */
  get found(): ServerFound[] {
    return this.guards.map(({ name, gate, rebuilds }) => ({
      name,
      shutShards: gate.shutShards.length,
      rebuilds,
      acknowledgement: gate.acknowledgement,
    }));
  }

  /** See `Gate.fenceOf`. */
  fenceOf(shard: number): string | null {
    return this.byShard[shard]!.fenceOf(shard);
  }

  /** See `Gate.doubt`. */
  doubt(shard: number): void {
    this.byShard[shard]!.doubt(shard);
  }

  /** See `Gate.acknowledgementOf`. */
  acknowledgementOf(shard: number): ReplicaAcknowledgement | null {
    return this.byShard[shard]!.acknowledgement;
  }

  /** Aborted when a shard shuts. */
  get shutting(): AbortSignal {
    return AbortSignal.any(this.gates.map((gate) => gate.shutting));
  }

  /** Called whenever shards open or shut. */
  listen(listener: () => void): void {
    for (const gate of this.gates) gate.listen(listener);
  }

  private async lookForTenants(): Promise<void> {
    const { redis, pool } = this.servers;
    noteShardsInUse(redis, await usedShards(pool).catch(() => null));
  }
}
