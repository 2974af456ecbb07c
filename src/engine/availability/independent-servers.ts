import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { epochNumberOf } from '../../domain/storage-epoch.ts';
import { numberRanges } from '../../number-ranges.ts';
import { readCursors } from '../../postgres/rebuild/storage-epochs.ts';
import { placedElsewhere, readPlacement } from '../../postgres/shards/placement.ts';
import { endpointsOf, type Endpoint, type RoutingRedis } from '../../redis/endpoints.ts';
import { gateOf, type Gate } from '../../redis/gate.ts';
import { SHARD_NUMBERS } from '../../redis/keys.ts';
import { StartError } from '../../start-error.ts';
import { isOfEpoch } from '../rebuild/marks.ts';
import { readMarks } from './inspection.ts';

/*
What the guards need only because shards are placed on several independent servers and moved between them. It goes away with
`laurel shards move`: delete this file, `RedisGuardOptions.others` and what uses it.
*/

/** The entries of REDIS_URL do not lead to the servers that hold the shards; nothing is done to this Redis. */
export class WrongLayout extends StartError {
  constructor(what: string) {
    super(`REDIS_URL does not fit where the shards are: ${what}. \`laurel shards list\` says where they are placed.`);
    this.name = 'WrongLayout';
  }
}

/** What the guards of several servers know of each other, and where Postgres places the shards. */
export class IndependentServers {
  private readonly redis: Redis;
  private readonly pool: Pool;
  private following: Promise<unknown> = Promise.resolve();
  /** Redis process ID → the name of its server. */
  private readonly names = new Map<string, string>();
  /** The names of the servers that show that Postgres came back older, which concerns the shards of all. */
  private readonly older = new Set<string>();

  constructor({ redis, pool }: { redis: Redis; pool: Pool }) {
    this.redis = redis;
    this.pool = pool;
  }

  /** Whether REDIS_URL names one server alone. */
  get isOne(): boolean {
    return endpointsOf(this.redis).length === 1;
  }

  /** Notes whether a server shows that Postgres came back older. */
  noteOlder(name: string, isOlder: boolean): void {
    if (isOlder) this.older.add(name);
    else this.older.delete(name);
  }

  /** Whether another server shows that Postgres came back older, and this one does not. */
  isOlderByOthers(name: string): boolean {
    return this.older.size > 0 && !this.older.has(name);
  }

  /** Throws WrongLayout if another entry of REDIS_URL leads to the same process. */
  refuseSame(name: string, redisProcessId: string): void {
    const other = this.names.get(redisProcessId);
    if (other !== undefined && other !== name) throw new WrongLayout(`"${other}" and "${name}" are one server`);
    for (const [earlier, each] of this.names)
      if (each === name && earlier !== redisProcessId) this.names.delete(earlier);
    this.names.set(redisProcessId, name);
  }

  /** Throws WrongLayout if a server holds shards that are placed on another: two entries of REDIS_URL were exchanged. */
  async refuseMisplaced(name: string, redis: Redis, gate: Gate): Promise<void> {
    if (this.isOne) return;
    const marks = await readMarks(redis);
    // After the marks: a shard that was moved here is placed before it is marked.
    await this.followMoves();
    const { installation, cursors } = await readCursors(this.pool);
    const misplaced = SHARD_NUMBERS.filter(
      (shard) =>
        !gate.holds(shard) &&
        isOfEpoch(marks.get(shard) ?? null, installation, epochNumberOf(cursors[shard]!.storageEpoch)),
    );
    if (misplaced.length > 0)
      throw new WrongLayout(`"${name}" holds the shards ${misplaced.join(', ')}, which are placed on another`);
  }

  /**
   * Makes this process look for each moved shard on its new server, and updates the gates of both servers. Returns shards on servers
   * that this process does not know, with the servers' names; these shards stay closed. Throws errors of Postgres.
   */
  followMoves(): Promise<ReadonlyMap<number, string>> {
    // One after another: what was read first must not be applied last.
    const followed = this.following.then(() => this.applyPlacement());
    this.following = followed.catch(() => undefined);
    return followed;
  }

  private async applyPlacement(): Promise<ReadonlyMap<number, string>> {
    const endpoints = endpointsOf(this.redis);
    const unknown = new Map<number, string>();
    // A Redis without a name (tests, tools) holds all shards.
    if (endpoints[0]!.name === '') return unknown;
    const placed = await readPlacement(this.pool);
    for (const from of endpoints) {
      for (const { shard, endpoint } of placedElsewhere(placed, { shards: from.shards, name: from.name })) {
        const to = endpoints.find(({ name }) => name === endpoint);
        if (to === undefined) unknown.set(shard, endpoint);
        else this.move(shard, from, to);
      }
    }
    return unknown;
  }

  /** Without waiting in between: nothing is sent to a server whose gate does not hold the shard. */
  private move(shard: number, from: Endpoint, to: Endpoint): void {
    gateOf(from.redis)?.release(shard);
    (this.redis as RoutingRedis).place(shard, to);
    gateOf(to.redis)?.take(shard);
  }
}

/**
 * A sentence for each Redis that REDIS_URL does not name in this process, with the numbers of its shards. `elsewhere`: the name of
 * the Redis by shard.
 */
export function unnamedRedisTexts(elsewhere: ReadonlyMap<number, string>): Map<string, string> {
  const shards = new Map<string, number[]>();
  for (const [shard, name] of elsewhere) shards.set(name, [...(shards.get(name) ?? []), shard]);
  return new Map([...shards].map(([name, numbers]) => [name, text(name, numbers)]));
}

function text(name: string, shards: readonly number[]): string {
  const isOne = shards.length === 1;
  const which = numberRanges(shards.toSorted((a, b) => a - b));
  return (
    `${isOne ? `Shard ${which} is` : `Shards ${which} are`} on the Redis "${name}", which REDIS_URL does not name here: this process ` +
    `answers ${isOne ? 'its' : 'their'} tenants 503 until it is started with it`
  );
}
