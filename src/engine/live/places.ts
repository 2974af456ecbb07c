import type { Redis } from 'ioredis';
import type { Leaderboard } from '../../domain/catalog.ts';
import { boardStatus, playedRule, runShownOn } from '../../domain/runs.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { dayIn } from '../../domain/zone.ts';
import type { UserState } from '../../packed/state.ts';
import { boardKey } from '../../redis/keys.ts';

/** Where a user is looked for. */
export interface Seat {
  runDay: number;
  /** Null: in no group, as one who lacks a value of the breakdown, or has no score yet. */
  group: string | null;
}

/** What decides a user's seats. */
export type SeatedUser = Pick<UserState, 'tz' | 'boards'>;

/** The run and group that a user plays in on a board now; null: the board is not active. */
export function seatOf(board: Leaderboard, user: SeatedUser | null, nowMs: number): Seat | null {
  if (boardStatus(board, Math.floor(nowMs / DAY_MS)) !== 'active') return null;
  const { startDay: runDay } = runShownOn(playedRule(board), dayIn(user?.tz ?? null, nowMs));
  if (board.breakdownAttributes.length === 0) return { runDay, group: '' };
  const group = user?.boards[board.no]?.find((score) => score.runDay === runDay)?.group;
  return { runDay, group: group === undefined || group === '' ? null : group };
}

/** A place that is asked for. */
export interface AskedPlace {
  tenantNo: number;
  board: Leaderboard;
  seat: Seat;
  userId: string;
}

/** Rank and score; null: not on the board. */
export type Place = { rank: number; value: number } | null;

/**
 * Places on the boards as they are now, in the order of what is asked; one that several streams of a user ask for is read
 * once. Two round trips for all; errors of Redis.
 */
export async function readPlaces(redis: Redis, asked: readonly AskedPlace[]): Promise<Place[]> {
  const names = asked.map(({ tenantNo, board, seat, userId }) =>
    JSON.stringify([tenantNo, board.no, seat.runDay, seat.group, userId]),
  );
  const distinct = new Map(names.map((name, index) => [name, asked[index]!]));
  const places = await readDistinct(redis, [...distinct.values()]);
  const found = new Map([...distinct.keys()].map((name, index) => [name, places[index] ?? null]));
  return names.map((name) => found.get(name) ?? null);
}

async function readDistinct(redis: Redis, asked: readonly AskedPlace[]): Promise<Place[]> {
  const keys = asked.map(({ tenantNo, board, seat: { runDay, group } }) =>
    group === null ? null : boardKey(tenantNo, { boardNo: board.no, runDay, group }),
  );
  const scores = await each(redis, keys, (pipeline, key, index) => pipeline.zscore(key, asked[index]!.userId));
  const above = await each(
    redis,
    keys.map((key, index) => (scores[index] === null ? null : key)),
    (pipeline, key, index) => pipeline.zcount(key, `(${String(scores[index])}`, '+inf'),
  );
  return asked.map(({ board: { maxParticipants } }, index) => {
    if (scores[index] === null || above[index] === null) return null;
    const rank = 1 + Number(above[index]);
    if (maxParticipants !== null && rank > maxParticipants) return null;
    return { rank, value: Number(scores[index]) };
  });
}

/** A command for each key that is not null: the replies at the keys' places. */
async function each(
  redis: Redis,
  keys: readonly (string | null)[],
  command: (pipeline: ReturnType<Redis['pipeline']>, key: string, index: number) => unknown,
): Promise<unknown[]> {
  const pipeline = redis.pipeline();
  for (const [index, key] of keys.entries()) if (key !== null) command(pipeline, key, index);
  if (pipeline.length === 0) return keys.map(() => null);
  const replies = (await pipeline.exec())!.values();
  return keys.map((key) => {
    if (key === null) return null;
    const [error, reply] = replies.next().value!;
    if (error) throw error;
    return reply;
  });
}
