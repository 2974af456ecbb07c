import type { Catalog, Leaderboard } from '../../src/domain/catalog.ts';
import { inHours, runOf, type LocalDate, type Run } from './calendar.ts';
import { sum, wire } from './decimals.ts';
import type { ModelUser } from './user.ts';

export interface Place {
  userId: string;
  rank: number;
  value: number;
}

/** What a user earned inside a run; null if nothing that counts happened in it. */
export function scoreOf(board: Leaderboard, user: ModelUser, run: Run): bigint {
  const inside = (day: LocalDate, time: string): boolean =>
    day >= run.start && (run.end === null || day <= run.end) && inHours(board, time);
  if (board.rankBy === 'streak') return BigInt(user.shown.get(board.id) ?? 0) * 1_000_000n;
  const earned =
    board.rankBy === 'metric'
      ? user.events
          .filter((event) => event.metricId === board.metricId && inside(event.date, event.time))
          .map(({ amount }) => amount)
      : user.awards
          .filter((award) => award.systemId === board.pointsSystemId && inside(award.date, award.time))
          .map(({ awarded }) => BigInt(awarded) * 1_000_000n);
  return sum(earned);
}

/** The user's values of the attributes that split a leaderboard, as last evaluated in a run; null if one was missing. */
export function groupOf(
  catalog: Catalog,
  board: Leaderboard,
  { user, run }: { user: ModelUser; run: Run },
): Record<string, string> | null {
  const look = user.looks.findLast(
    ({ date, time, on }) =>
      date >= run.start &&
      (run.end === null || date <= run.end) &&
      (on === 'all' ||
        (on === 'streaks' ? board.rankBy === 'streak' : on.systemId === board.pointsSystemId && inHours(board, time))),
  );
  const group: Record<string, string> = {};
  for (const id of board.breakdownAttributes) {
    const { key } = catalog.attributes.find((attribute) => attribute.id === id)!;
    const value = look?.attributes[key];
    if (value === undefined) return null;
    group[key] = value;
  }
  return group;
}

/** Leaderboards show the length of a streak once it is evaluated on one of their days. Returns those that did not before. */
export function showLength(
  { leaderboards }: Catalog,
  user: ModelUser,
  { length, on }: { length: number; on: LocalDate },
): Leaderboard[] {
  const behind = leaderboards
    .filter((board) => board.rankBy === 'streak' && board.status === 'active' && runOf(board, on) !== null)
    .filter(({ id }) => (user.shown.get(id) ?? 0) !== length);
  for (const { id } of behind) user.shown.set(id, length);
  return behind;
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Everyone in a leaderboard's run, best first, with shared ranks. */
export function standings(
  { catalog, users }: { catalog: Catalog; users: Map<string, ModelUser> },
  board: Leaderboard,
  { run, group }: { run: Run; group: Record<string, string> },
): Place[] {
  const members = [...users.values()].filter((user) => same(groupOf(catalog, board, { user, run }), group));
  return rankedAmong(board, { run, users: members }).filter(({ rank }) => rank <= (board.maxParticipants ?? Infinity));
}

/** Those of some users who have a score in a leaderboard's run, best first, ranked among themselves with shared ranks. */
export function rankedAmong(board: Leaderboard, { run, users }: { run: Run; users: readonly ModelUser[] }): Place[] {
  const scored = users
    .map((user) => ({ userId: user.id, score: scoreOf(board, user, run) }))
    .filter(({ score }) => score > 0n);
  return scored
    .map(({ userId, score }) => ({
      userId,
      rank: 1 + scored.filter((other) => other.score > score).length,
      value: wire(score),
    }))
    .sort((a, b) => a.rank - b.rank);
}

/** The lowest score on a full leaderboard, else 0. */
export const thresholdOf = (board: Leaderboard, places: readonly Place[]): number =>
  board.maxParticipants !== null && places.length >= board.maxParticipants ? places.at(-1)!.value : 0;
