import type { LeaderboardEvent } from '../../domain/leaderboard.ts';
import { dateOf } from '../../domain/periods.ts';
import type { Snapshot } from './past-runs.ts';

/**
 * The last `count` entries, oldest first, each with the values of the entry before it. A day on which the user
 * neither was nor had been on the board is left out.
 * @param snapshots oldest first; one more than asked for, where there is one
 * @param now the place now, as the entry of the current day; null for an ended run
 */
export function leaderboardHistory(snapshots: Snapshot[], now: Snapshot | null, count: number): LeaderboardEvent[] {
  const days = now === null ? snapshots : [...snapshots.filter(({ day }) => day < now.day), now];
  const events = days.map(({ day, atMs, rank, value }, index) => ({
    date: dateOf(day),
    timestamp: new Date(atMs).toISOString(),
    previousRank: days[index - 1]?.rank ?? null,
    rank,
    previousValue: days[index - 1]?.value ?? null,
    value,
  }));
  return count === 0 ? [] : events.filter(({ rank, previousRank }) => (rank ?? previousRank) !== null).slice(-count);
}
