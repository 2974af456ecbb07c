import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { type Accepted, epochNumberOf, redisProcessIdOf } from '../../domain/shard-state.ts';
import { readCursors, type StoredCursor } from '../../postgres/shards.ts';
import { readOutboxEnds, type HandedOver } from '../../redis/handed-over.ts';
import { isOfCluster } from '../../redis/endpoints.ts';
import { RedisNotReady } from '../../redis/gate.ts';
import { markKey, neverKey, outboxKey, SHARD_NUMBERS } from '../../redis/keys.ts';
import { isElsewhere } from '../../redis/outage.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';
import { readRedisProcessId } from '../../redis/server-info.ts';
import { markOf } from '../rebuild/marks.ts';

export interface SeenShard {
  shard: number;
  /** `null` if the shard is incomplete. */
  mark: string | null;
  position: string;
  /** The position up to which its outbox was handed over to Postgres. */
  handed: HandedOver;
  cursor: StoredCursor;
}

export interface Inspection {
  installation: string;
  redisProcessId: string;
  shards: SeenShard[];
}

/** Reads Redis before Postgres: a cursor must not be older than the position compared with it. Throws RedisNotReady. */
export async function inspect(redis: Redis, client: Pool | PoolClient, shards: readonly number[]): Promise<Inspection> {
  const [redisProcessId, marks, ends] = await Promise.all([
    readRedisProcessId(redis),
    readMarks(redis, shards),
    readOutboxEnds(redis, shards),
  ]);
  // Another node of the cluster serves the shard, so its state here is unknown.
  if (shards.some((shard) => !marks.has(shard))) throw new RedisNotReady();
  const { installation, cursors } = await readCursors(client);
  const seen = shards.map((shard, index) => ({
    shard,
    mark: marks.get(shard) ?? null,
    position: ends[index]!.last,
    handed: ends[index]!.handed,
    cursor: cursors[shard]!,
  }));
  return { installation, redisProcessId, shards: seen };
}

/**
 * The marks of some shards of a server. Omits shards that a cluster node refuses because it does not serve them or is
 * moving their keys away (`neverKey`). A single Redis gets one command for all, since each process asks twice a second.
 */
export async function readMarks(
  redis: Redis,
  shards: readonly number[] = SHARD_NUMBERS,
): Promise<Map<number, string | null>> {
  if (shards.length === 0) return new Map();
  if (isOfCluster(redis)) return marksOfNode(redis, shards);
  const marks = await redis.mget(shards.map(markKey));
  return new Map(shards.map((shard, index) => [shard, marks[index] ?? null]));
}

async function marksOfNode(redis: Redis, shards: readonly number[]): Promise<Map<number, string | null>> {
  const marks = new Map<number, string | null>();
  const read = async (shard: number): Promise<void> => {
    try {
      const [, mark] = await redis.mget(neverKey(markKey(shard)), markKey(shard));
      marks.set(shard, mark ?? null);
    } catch (error) {
      if (!(error instanceof Error && isElsewhere(error))) throw error;
    }
  };
  await Promise.all(shards.map(read));
  return marks;
}

/** Whether a shard carries the mark of its current epoch. */
export const isMarked = ({ mark, cursor }: SeenShard, { installation }: Pick<Inspection, 'installation'>): boolean =>
  mark === markOf(installation, epochNumberOf(cursor.storageEpoch));

/** Whether a shard's outbox ends before the position that Postgres holds: Redis went back in time, or is empty. */
export const isBehind = ({ position, cursor }: SeenShard): boolean => comparePositions(position, cursor.position) < 0;

/** The shards that were complete in this Redis process before, and still are. */
export function acceptedShards(seen: Inspection): Map<number, Accepted> {
  const complete = seen.shards.filter(
    (each) =>
      isMarked(each, seen) &&
      redisProcessIdOf(each.cursor.storageEpoch) === seen.redisProcessId &&
      !isBehind(each) &&
      gapOf(each) === null,
  );
  return new Map(
    complete.map(({ shard, mark, cursor }) => [shard, { storageEpoch: cursor.storageEpoch, mark: mark! }]),
  );
}

export const foreignMark = ({ shards, installation }: Inspection): string | null =>
  shards.find(({ mark }) => mark !== null && !mark.startsWith(`${installation}:`))?.mark ?? null;

/** Entries after `from`, up to `to`, that Postgres lost and Redis no longer holds. */
export interface Gap {
  shard: number;
  from: string;
  to: string;
}

function gapOf({ shard, handed, cursor }: Pick<SeenShard, 'shard' | 'handed' | 'cursor'>): Gap | null {
  const { position: from } = cursor;
  const { floor: to } = handed;
  return comparePositions(to, from) > 0 ? { shard, from, to } : null;
}

/** The gaps of a Postgres restored from an older state; empty if Redis still holds all that it lost. */
export const gapsOf = ({ shards }: Pick<Inspection, 'shards'>): Gap[] => shards.flatMap((seen) => gapOf(seen) ?? []);

export async function readGaps(
  redis: Redis,
  client: Pool | PoolClient,
  shards: readonly number[] = SHARD_NUMBERS,
): Promise<Gap[]> {
  // Redis first: an entry that is handed over in between is not a gap.
  const ends = await readOutboxEnds(redis, shards);
  const { cursors } = await readCursors(client);
  return shards.flatMap((shard, index) => gapOf({ shard, handed: ends[index]!.handed, cursor: cursors[shard]! }) ?? []);
}

/** Another Redis was accepted in place of this one, so new writes to this one would be lost. */
export class RedisIsSuperseded extends Error {
  constructor() {
    super('Another Redis has replaced the one at REDIS_URL, which is a former master.');
    this.name = 'RedisIsSuperseded';
  }
}

/** Postgres was restored from an older state and Redis no longer holds all that it lost. An operator must decide. */
export class PostgresIsOlder extends Error {
  readonly gaps: readonly Gap[];

  constructor(gaps: readonly Gap[]) {
    const time = (position: string): string => new Date(Number(position.split('-')[0])).toISOString();
    const from = gaps.map((gap) => gap.from).reduce((a, b) => (comparePositions(a, b) <= 0 ? a : b));
    const to = gaps.map((gap) => gap.to).reduce((a, b) => (comparePositions(a, b) >= 0 ? a : b));
    super(
      `Postgres is older than it was: it has lost part of what was stored between ${time(from)} and ${time(to)} (shards ` +
        `${gaps.map(({ shard }) => shard).join(', ')}), and Redis does not keep that part. Restore a Postgres that has it, or ` +
        'continue without it, for good: `laurel rebuild --accept-loss`.',
    );
    this.name = 'PostgresIsOlder';
    this.gaps = gaps;
  }
}

export interface LostWrites {
  shard: number;
  acknowledged: string;
  /** End of the outbox when Redis was asked. */
  held: string;
}

/** Shards whose last acknowledged write the new master lacks. Call it before the process writes to that master. */
export async function lostWrites(
  { redis, pool }: { redis: Redis; pool: Pool },
  last: ReadonlyMap<number, string>,
): Promise<LostWrites[]> {
  const lost: LostWrites[] = [];
  for (const [shard, acknowledged] of last) {
    const [entries, lastHeld] = await Promise.all([
      redis.xrange(outboxKey(shard), acknowledged, acknowledged),
      lastPosition(redis, shard),
    ]);
    if (entries.length > 0) continue;
    // After Redis: an entry that left the outbox in between is in Postgres.
    const { cursors } = await readCursors(pool);
    if (comparePositions(cursors[shard]!.position, acknowledged) < 0)
      lost.push({ shard, acknowledged, held: lastHeld });
  }
  return lost;
}
