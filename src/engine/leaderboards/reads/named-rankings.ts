import type { Redis } from 'ioredis';
import type { Static } from 'typebox';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { LeaderboardResponseWithRankings, RankingsAmongRequest } from '../../../domain/leaderboard.ts';
import { AppError } from '../../../errors.ts';
import { decodeUser } from '../../../rules/user-codec.ts';
import { statesInSlices } from '../../../redis/parts.ts';
import type { UserReads } from '../../users/user-reads.ts';
import { leaderboardResponse } from '../../responses/leaderboards.ts';
import { GivenStandings } from '../given-standings.ts';
import { LiveStandings } from '../live-standings.ts';
import type { KeptRuns } from '../kept-runs.ts';
import { groupsOfRun } from '../runs.ts';
import { shownRankings } from '../shown-rankings.ts';
import { type Member, memberPage, ranked, rankedScore } from '../standings.ts';
import type { BoardGroups } from './board-groups.ts';
import { type PageQuery, type RequestedRuns, type RunOfBoard, boardRunOf, requireStart } from './requested-runs.ts';

/** A request for a ranking of some users alone. `around`: one of them, from whom `offset` counts. */
type AmongQuery = Static<typeof RankingsAmongRequest> & Pick<PageQuery, 'groupOf'>;

/** Ranks named users among themselves, and reads their scores. */
export function createNamedRankings(
  redis: Redis,
  users: UserReads,
  past: KeptRuns,
  runs: RequestedRuns,
  groupAmong: BoardGroups['groupAmong'],
) {
  /**
   * Ranks some users among themselves, also those beyond the board's maximum. Users who are unknown, hidden or without a
   * score are left out. Without `userAttributes`, users of all groups are ranked together, or those of `groupOf`'s group.
   * The run is chosen as in `rankings`, by the local date of `around`. Reads the scores from the sorted set, and states only
   * for the names on the page. Where users of all groups, or ties by time, are ranked, the states of all are read, in slices.
   * A run that is over takes one read of Postgres. Errors as `rankings`; 422 if `around` is not one of the users.
   */
  async function among(
    compiled: CompiledCatalog,
    key: string,
    { userIds, around, offset = 0, limit = userIds.length, run: runDate, userAttributes, groupOf = null }: AmongQuery,
  ): Promise<LeaderboardResponseWithRankings> {
    const { board, status } = runs.find(compiled, key);
    const named = new Set(userIds);
    if (around !== undefined && !named.has(around))
      throw new AppError('unprocessable', 'around must be one of userIds.');
    requireStart(offset, { around });
    const { tenantNo } = compiled.catalog;
    const user = around === undefined ? null : await users.find(tenantNo, around);
    const run = runs.run(board, runDate, user?.zone ?? null);
    const group = await groupAmong(compiled, { board, run, userAttributes, groupOf });
    const scores = group === undefined ? [] : await readScores(compiled, { board, run, group }, [...named]);
    const standings = await GivenStandings.of(scores, board);
    const { from, members } = await memberPage(standings, { offset, limit, userId: around });
    const page = await ranked(standings, members, { from, before: undefined });
    const rankings = await shownRankings(redis, { tenantNo, board, runDay: run.startDay }, page);
    return { ...leaderboardResponse(compiled, board), status, rankings };
  }

  /** Those of some users who have a score in a run, in any group. */
  function scoresIn(compiled: CompiledCatalog, at: RunOfBoard, userIds: readonly string[]): Promise<Member[]> {
    const group = at.board.breakdownAttributes.length === 0 ? '' : null;
    return readScores(compiled, { ...at, group }, userIds);
  }

  /** The scores of those of some users who have one in a run and group (`null`: in any). */
  async function readScores(
    compiled: CompiledCatalog,
    { board, run, group }: RunOfBoard & { group: string | null },
    userIds: readonly string[],
  ): Promise<Member[]> {
    const { tenantNo } = compiled.catalog;
    const boardRun = boardRunOf(compiled, { board, run });
    const of = (name: string): LiveStandings => new LiveStandings(redis, { ...boardRun, group: name }, board);
    if (runs.isOver(run)) {
      const final = await past.scores(boardRun, group, userIds);
      if (final !== null) return final;
      // Users forget their scores in ended runs, final or not.
      const groups = group === null ? await groupsOfRun(redis, board, boardRun) : [group];
      return (await Promise.all(groups.map((name) => of(name).scoresOf(userIds)))).flat();
    }
    if (group !== null && board.ties !== 'first') return of(group).scoresOf(userIds);
    // Only a user's state has the group, and the time by which the member of a timed set is named.
    const members: Member[] = [];
    for await (const { userId, packed } of statesInSlices(redis, tenantNo, userIds)) {
      const own = packed === null ? null : rankedScore(decodeUser(packed), board, run.startDay);
      if (own === null || (group !== null && own.group !== group)) continue;
      const { group: _, ...scored } = own;
      members.push({ userId, ...scored });
    }
    return members;
  }

  return { among, scoresIn };
}
