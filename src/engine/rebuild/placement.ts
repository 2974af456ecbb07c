import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { placedElsewhere, readPlacement } from '../../postgres/shards/placement.ts';
import { endpointsOf, type Endpoint, type RoutingRedis } from '../../redis/endpoints.ts';
import { gateOf } from '../../redis/gate.ts';

/**
 * Where this process looks for shards, as Postgres says: a shard that is moved is without its mark until it is whole on the other
 * Redis, so whoever finds one shut asks here first.
 */
export class Placement {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private following: Promise<unknown> = Promise.resolve();

  constructor({ redis, pool }: { redis: Redis; pool: Pool }) {
    this.redis = redis;
    this.pool = pool;
  }

  /**
   * Has this process look for each shard that was moved on the Redis where it is by now, which the gates of both take part in.
   * Answers the shards that are on a Redis that this process does not know, with its name: they stay shut. Errors of Postgres.
   */
  follow(): Promise<ReadonlyMap<number, string>> {
    // One after another: what was read first must not be applied last.
    const followed = this.following.then(() => this.read());
    this.following = followed.catch(() => undefined);
    return followed;
  }

  private async read(): Promise<ReadonlyMap<number, string>> {
    const endpoints = endpointsOf(this.redis);
    // Whose Redis has no name (tests, tools) looks at nothing else.
    if (endpoints[0]!.name === '') return new Map();
    const placed = await readPlacement(this.pool);
    const unknown = new Map<number, string>();
    for (const from of endpoints) {
      for (const { shard, endpoint } of placedElsewhere(placed, { shards: from.shards, name: from.name })) {
        const to = endpoints.find(({ name }) => name === endpoint);
        if (to === undefined) unknown.set(shard, endpoint);
        else this.move(shard, from, to);
      }
    }
    return unknown;
  }

  /** All in one turn: nothing is sent to a place that the gates do not stand for. */
  private move(shard: number, from: Endpoint, to: Endpoint): void {
    gateOf(from.redis)?.release(shard);
    (this.redis as RoutingRedis).place(shard, to);
    gateOf(to.redis)?.take(shard);
  }
}
