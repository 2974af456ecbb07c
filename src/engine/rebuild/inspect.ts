import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { readEpoch, type StoredEpoch } from '../../postgres/rebuild/epoch.ts';
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
}

/** The mark of a shard in an epoch. */
export const markOf = ({ installation, epoch }: { installation: string; epoch: number }): string =>
  `${installation}:${epoch}`;

/** The fence under which what a run of Redis holds in an epoch is stored. */
export const fenceOf = ({ epoch, run }: { epoch: number; run: string }): string => `${epoch}/${run}`;

/** Looks at Redis and at Postgres, in this order: no cursor may be older than the position it is compared with. */
export async function inspect(redis: Redis, client: Pool | PoolClient): Promise<Inspection> {
  const [run, marks, positions] = await Promise.all([
    readRun(redis),
    readMarks(redis),
    Promise.all(SHARD_NUMBERS.map((shard) => lastPosition(redis, shard))),
  ]);
  return { run, marks, positions, ...(await readEpoch(client)) };
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

/** The mark of another Laurel, if there is one. */
export const foreignMark = ({ marks, installation }: Inspection): string | null =>
  marks.find((mark) => mark !== null && !mark.startsWith(`${installation}:`)) ?? null;
