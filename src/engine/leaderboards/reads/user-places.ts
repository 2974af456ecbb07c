import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Clock } from '../../../clock.ts';
import type { LeaderboardEvent, UserLeaderboardResponseWithHistory } from '../../../domain/leaderboard.ts';
import { dateOf } from '../../../domain/periods.ts';
import { dayIn } from '../../../domain/zone.ts';
import type { UserReads } from '../../users/user-reads.ts';
import { leaderboardResponse } from '../../responses/leaderboards.ts';
import type { KeptRuns } from '../kept-runs.ts';
import type { Snapshot } from '../runs.ts';
import { shownSecondary } from '../shown-rankings.ts';
import { type Standings, percentileOf } from '../standings.ts';
import type { BoardGroups } from './board-groups.ts';
import { type PageQuery, type RequestedRuns, type RunOfBoard, boardRunOf } from './requested-runs.ts';

interface UserPlacesOptions {
  users: UserReads;
  clock: Clock;
  past: KeptRuns;
  runs: RequestedRuns;
  scoredGroup: BoardGroups['scoredGroup'];
  readStandings: (compiled: CompiledCatalog, at: RunOfBoard, group: string) => Promise<Standings>;
}

/** Reads users' places on leaderboards. */
export function createUserPlaces({ users, clock, past, runs, scoredGroup, readStandings }: UserPlacesOptions) {
  /** A user's place and the last `numEvents` daily snapshots, oldest first. Throws 404, and 422 as `rankings` does. */
  async function ofUser(
    compiled: CompiledCatalog,
    userId: string,
    { key, run: runDate, numEvents }: Pick<PageQuery, 'run'> & { key: string; numEvents: number },
  ): Promise<UserLeaderboardResponseWithHistory> {
    const { board, status } = runs.find(compiled, key);
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    const run = runs.run(board, runDate, state.zone);
    const boardRun = boardRunOf(compiled, { board, run });
    const group =
      board.breakdownAttributes.length === 0 ? '' : await scoredGroup(compiled, { board, run }, userId, state);
    const standings = group === null ? null : await readStandings(compiled, { board, run }, group);
    const [standing, participants] =
      standings === null ? [null, null] : await Promise.all([standings.find(userId), standings.scored()]);
    const place =
      standing?.isOn === true ? { rank: standing.rank, value: standing.score } : { rank: null, value: null };
    const secondary =
      board.secondaryAttributeId === null
        ? {}
        : { secondaryScore: null, ...shownSecondary(board, standing?.isOn === true ? standing.secondary : 0) };
    const percentile = standing === null || participants === null ? null : percentileOf(standing.rank, participants);

    const atMs = clock.now();
    const day = dayIn(state.zone, atMs);
    const goesOn = day >= run.startDay && (run.endDay === null || day <= run.endDay);
    const snapshots = numEvents === 0 ? [] : await past.snapshots(boardRun, userId, numEvents + 1);
    const history = leaderboardHistory(snapshots, goesOn ? { day, atMs, ...place } : null, numEvents);
    return {
      ...leaderboardResponse(compiled, board),
      status,
      ...place,
      ...secondary,
      percentile,
      participants,
      history,
    };
  }

  return ofUser;
}

/**
 * The last `count` entries, oldest first, each with the values of the entry before it. Omits days on which the user was
 * not on the board and had not been on it before.
 * @param snapshots oldest first; one more than requested, if it exists
 * @param now the current place, as the entry of the current day; `null` for an ended run
 */
function leaderboardHistory(snapshots: Snapshot[], now: Snapshot | null, count: number): LeaderboardEvent[] {
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
