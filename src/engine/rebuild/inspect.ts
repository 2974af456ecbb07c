import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { readEpoch, type StoredCursor } from '../../postgres/rebuild/epoch.ts';
import type { Accepted } from '../../redis/gate.ts';
import { readHandedOver, type HandedOver } from '../../redis/handed-over.ts';
import { markKey, SHARD_NUMBERS } from '../../redis/keys.ts';
import { comparePositions, lastPositions } from '../../redis/outbox.ts';
import { readRun, runOfFence } from '../../redis/run.ts';
import type { RunningVersion } from '../../postgres/running-versions.ts';
import { version } from '../../version.ts';

/** How often the marks of an open Redis are looked at. Scripts look at each call; this is for reads. */
export const LOOK_MS = 500;

/** What a Redis says of a shard, beside what Postgres knows of it. */
export interface SeenShard {
  shard: number;
  /** Null: the shard is not whole. */
  mark: string | null;
  /** Where its outbox ends. */
  position: string;
  /** How far its outbox was handed over to Postgres. */
  handed: HandedOver;
  cursor: StoredCursor;
}

/** What a Redis says of itself and some shards. */
export interface Inspection {
  /** UUID of this Laurel. */
  installation: string;
  /** What the Redis is, see `readRun`. */
  run: string;
  shards: SeenShard[];
}

/**
 * Version of the keys that Laurel derives from Postgres (`derived-keys.ts`). Raise it when such a key changes its form: Laurel then
 * rebuilds every shard that another version filled, once no process of another form runs (`refuseOtherVersions`).
 */
const FORM = 1;

/** This version, as others see it. */
export const ownVersion = (): RunningVersion => ({ version: version(), form: FORM });

/** The mark of a shard in an epoch. */
export const markOf = (installation: string, epoch: number): string => `${installation}:${epoch}:${FORM}`;

/** Whether a mark is of an epoch, in whichever form the shard was filled. */
export const isOfEpoch = (mark: string | null, installation: string, epoch: number): boolean =>
  mark?.split(':').slice(0, 2).join(':') === `${installation}:${epoch}`;

/** The fence under which what a run of Redis holds in an epoch is stored. */
export const fenceOf = (epoch: number, run: string): string => `${epoch}/${run}`;

/** The fence of a shard while it is being rebuilt for an epoch. */
export const fenceOfRebuild = (epoch: number): string => `rebuild ${epoch}`;

const EPOCH = /^(?:rebuild )?(\d+)/;

/** The epoch of a shard, which began with the rebuild that filled it last, or is filling it; 0: none ever did. */
export const epochOf = ({ fence }: Pick<StoredCursor, 'fence'>): number => Number(EPOCH.exec(fence)?.[1] ?? 0);

/** Looks at Redis and at Postgres, in this order: no cursor may be older than the position it is compared with. */
export async function inspect(redis: Redis, client: Pool | PoolClient, shards: readonly number[]): Promise<Inspection> {
  const [run, marks, handed, positions] = await Promise.all([
    readRun(redis),
    readMarks(redis, shards),
    Promise.all(shards.map((shard) => readHandedOver(redis, shard))),
    lastPositions(redis, shards),
  ]);
  const { installation, cursors } = await readEpoch(client);
  const seen = shards.map((shard, index) => ({
    shard,
    mark: marks.get(shard) ?? null,
    position: positions[index]!,
    handed: handed[index]!,
    cursor: cursors[shard]!,
  }));
  return { installation, run, shards: seen };
}

/** This run of Redis was accepted, and another Redis has taken its place since: events that it took would be lost. */
export class RedisIsSuperseded extends Error {
  constructor() {
    super('Another Redis has taken the place of the one at REDIS_URL: that is a former master.');
    this.name = 'RedisIsSuperseded';
  }
}

/**
 * The marks of some shards of a server, in one command, since every process asks twice a second: eight were a third of what a
 * Redis at rest was sent.
 */
export async function readMarks(
  redis: Redis,
  shards: readonly number[] = SHARD_NUMBERS,
): Promise<Map<number, string | null>> {
  if (shards.length === 0) return new Map();
  const marks = await redis.mget(shards.map(markKey));
  return new Map(shards.map((shard, index) => [shard, marks[index] ?? null]));
}

/** Whether a shard carries the mark of its present epoch. */
export const isMarked = ({ mark, cursor }: SeenShard, { installation }: Pick<Inspection, 'installation'>): boolean =>
  mark === markOf(installation, epochOf(cursor));

/** Whether the outbox of a shard ends before what Postgres holds: Redis went back to an older moment, or is empty. */
export const isBehind = ({ position, cursor }: SeenShard): boolean => comparePositions(position, cursor.position) < 0;

/** The shards that were found to be whole before in this run of Redis, and still are. */
export function acceptedShards(seen: Inspection): Map<number, Accepted> {
  const whole = seen.shards.filter(
    (each) =>
      isMarked(each, seen) && runOfFence(each.cursor.fence) === seen.run && !isBehind(each) && gapOf(each) === null,
  );
  return new Map(whole.map(({ shard, mark, cursor }) => [shard, { fence: cursor.fence, mark: mark! }]));
}

/** What Postgres held once and does not hold any more, and Redis does not keep either: after `from`, up to `to`. */
export interface Gap {
  shard: number;
  from: string;
  to: string;
}

const gapOf = ({
  shard,
  handed: { floor },
  cursor: { position },
}: Pick<SeenShard, 'shard' | 'handed' | 'cursor'>): Gap | null =>
  comparePositions(floor, position) > 0 ? { shard, from: position, to: floor } : null;

/** The gaps of a Postgres that came back older; none: it did not, or all that it lacks is kept. */
export const gapsOf = ({ shards }: Pick<Inspection, 'shards'>): Gap[] => shards.flatMap((seen) => gapOf(seen) ?? []);

/** The same, looked at now. */
export async function readGaps(
  redis: Redis,
  client: Pool | PoolClient,
  shards: readonly number[] = SHARD_NUMBERS,
): Promise<Gap[]> {
  // Redis first: what is handed over meanwhile is no gap.
  const handed = await Promise.all(shards.map((shard) => readHandedOver(redis, shard)));
  const { cursors } = await readEpoch(client);
  return shards.flatMap((shard, index) => gapOf({ shard, handed: handed[index]!, cursor: cursors[shard]! }) ?? []);
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
export const foreignMark = ({ shards, installation }: Inspection): string | null =>
  shards.find(({ mark }) => mark !== null && !mark.startsWith(`${installation}:`))?.mark ?? null;
