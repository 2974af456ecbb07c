import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { readEpoch, type StoredEpoch } from '../../postgres/rebuild/epoch.ts';
import { readHandedOver, type HandedOver } from '../../redis/handed-over.ts';
import { markKey, SHARD_NUMBERS } from '../../redis/keys.ts';
import { comparePositions, lastPosition } from '../../redis/outbox.ts';
import { readRun } from '../../redis/run.ts';

/** How often the marks of an open Redis are looked at. Scripts look at each call; this is for reads. */
export const LOOK_MS = 500;

/** What a Redis says of itself, beside what Postgres knows. */
export interface Inspection extends StoredEpoch {
  /** What the Redis is, see `readRun`. */
  run: string;
  /** By shard; null: the shard is not whole. */
  marks: (string | null)[];
  /** By shard: where its outbox ends. */
  positions: string[];
  /** By shard: how far its outbox was handed over to Postgres. */
  handed: HandedOver[];
}

/** The mark of a shard in an epoch. */
export const markOf = ({ installation, epoch }: { installation: string; epoch: number }): string =>
  `${installation}:${epoch}`;

/** The fence under which what a run of Redis holds in an epoch is stored. */
export const fenceOf = ({ epoch, run }: { epoch: number; run: string }): string => `${epoch}/${run}`;

/** Looks at Redis and at Postgres, in this order: no cursor may be older than the position it is compared with. */
export async function inspect(redis: Redis, client: Pool | PoolClient): Promise<Inspection> {
  const [run, marks, handed, positions] = await Promise.all([
    readRun(redis),
    readMarks(redis),
    readAllHandedOver(redis),
    Promise.all(SHARD_NUMBERS.map((shard) => lastPosition(redis, shard))),
  ]);
  return { run, marks, positions, handed, ...(await readEpoch(client)) };
}

/** This run of Redis was accepted, and another Redis has taken its place since: events that it took would be lost. */
export class RedisIsSuperseded extends Error {
  constructor() {
    super('Another Redis has taken the place of the one at REDIS_URL: that is a former master.');
    this.name = 'RedisIsSuperseded';
  }
}

/**
 * The marks of all shards, in one command, since every process asks twice a second: eight were a third of what a Redis at
 * rest was sent. With the shards on several servers it becomes one command a server.
 */
export const readMarks = (redis: Redis): Promise<(string | null)[]> => redis.mget(SHARD_NUMBERS.map(markKey));

/** Whether every shard carries the mark of the present epoch. */
export const isMarked = (seen: Inspection): boolean => seen.marks.every((mark) => mark === markOf(seen));

/** Whether this run of Redis was found to be whole before. */
export const isAccepted = (seen: Inspection): boolean =>
  isMarked(seen) && seen.cursors.every(({ fence }) => fence === fenceOf(seen));

/** The shards whose outbox ends before what Postgres holds: Redis went back to an older moment, or is empty. */
export const shardsBehind = ({ positions, cursors }: Pick<Inspection, 'positions' | 'cursors'>): number[] =>
  SHARD_NUMBERS.filter((shard) => comparePositions(positions[shard]!, cursors[shard]!.position) < 0);

const readAllHandedOver = (redis: Redis): Promise<HandedOver[]> =>
  Promise.all(SHARD_NUMBERS.map((shard) => readHandedOver(redis, shard)));

/** What Postgres held once and does not hold any more, and Redis does not keep either: after `from`, up to `to`. */
export interface Gap {
  shard: number;
  from: string;
  to: string;
}

/** The gaps of a Postgres that came back older; none: it did not, or all that it lacks is kept. */
export const gapsOf = ({ handed, cursors }: Pick<Inspection, 'handed' | 'cursors'>): Gap[] =>
  handed.flatMap(({ floor }, shard) => {
    const { position } = cursors[shard]!;
    return comparePositions(floor, position) > 0 ? [{ shard, from: position, to: floor }] : [];
  });

/** The same, looked at now. */
export async function readGaps(redis: Redis, client: Pool | PoolClient): Promise<Gap[]> {
  // Redis first: what is handed over meanwhile is no gap.
  const handed = await readAllHandedOver(redis);
  return gapsOf({ handed, ...(await readEpoch(client)) });
}

/** Postgres came back older than what it was handed, and not all of that is kept: whoever operates Laurel must decide. */
export class PostgresIsOlder extends Error {
  readonly gaps: readonly Gap[];

  constructor(gaps: readonly Gap[]) {
    const time = (position: string): string => new Date(Number(position.split('-')[0])).toISOString();
    const from = gaps.map((gap) => gap.from).reduce((a, b) => (comparePositions(a, b) <= 0 ? a : b));
    const to = gaps.map((gap) => gap.to).reduce((a, b) => (comparePositions(a, b) >= 0 ? a : b));
    super(
      `Postgres is older than it was: of what was stored between ${time(from)} and ${time(to)} (shards ` +
        `${gaps.map(({ shard }) => shard).join(', ')}), part is in it no more, nor kept in Redis. Bring back a Postgres that ` +
        'has it; or go on without it, for good: `laurel rebuild --accept-loss`.',
    );
    this.name = 'PostgresIsOlder';
    this.gaps = gaps;
  }
}

/** The mark of another Laurel, if there is one. */
export const foreignMark = ({ marks, installation }: Inspection): string | null =>
  marks.find((mark) => mark !== null && !mark.startsWith(`${installation}:`)) ?? null;
