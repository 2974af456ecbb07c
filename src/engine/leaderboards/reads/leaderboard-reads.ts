import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Clock } from '../../../clock.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type {
  BoardStatus,
  LeaderboardResponseWithRankings,
  LeaderboardWithStatus,
  RankRewards,
} from '../../../domain/leaderboard.ts';
import type { Run } from '../../../domain/runs.ts';
import { rankRewardsOf } from '../../notifications/payloads.ts';
import type { UserReads } from '../../users/user-reads.ts';
import { leaderboardResponse } from '../../responses/leaderboards.ts';
import { LiveStandings } from '../live-standings.ts';
import type { KeptRuns } from '../kept-runs.ts';
import { shownRankings } from '../shown-rankings.ts';
import { type Member, type Standings, memberPage, ranked } from '../standings.ts';
import { createBoardGroups, groupOfFilter } from './board-groups.ts';
import { createNamedRankings } from './named-rankings.ts';
import {
  type PageQuery,
  type RunOfBoard,
  boardRunOf,
  createRequestedRuns,
  requireLimit,
  requireStart,
} from './requested-runs.ts';
import { createTeamRankings } from './team-rankings.ts';
import { createUserPlaces } from './user-places.ts';

interface LeaderboardReadsOptions {
  redis: Redis;
  users: UserReads;
  clock: Clock;
  past: KeptRuns;
  /** Whether a read of teams answers several calls. */
  reusesTeams?: boolean;
}

/** Reads leaderboards. Ranks are current; streak boards follow midnight by some seconds. */
export function createLeaderboardReads(options: LeaderboardReadsOptions) {
  const { redis, users, clock, past, reusesTeams = true } = options;
  const runs = createRequestedRuns(clock);
  const { groupAmong, groups, requireGroup, scoredGroup } = createBoardGroups(redis, users, past, runs);
  const { among, scoresIn } = createNamedRankings(redis, users, past, runs, groupAmong);
  const teams = createTeamRankings(redis, past, runs, reusesTeams);
  const ofUser = createUserPlaces({ users, clock, past, runs, scoredGroup, readStandings });

  /** Active and scheduled boards, and finished ones if requested, oldest first. */
  function list(compiled: CompiledCatalog, includeFinished: boolean): LeaderboardWithStatus[] {
    return compiled.catalog.leaderboards.flatMap((board) => {
      const status = runs.statusOf(board);
      if (status === null || (status === 'finished' && !includeFinished)) return [];
      return [{ ...leaderboardResponse(compiled, board), status }];
    });
  }

  /**
   * A page of a board. The run is the one that begins on the requested day, else the one that contains the UTC date or
   * the named user's local date. Throws 404 for an unknown or inactive board; 422 for a day on which no run begins, a
   * negative offset without a user, or attributes that do not match the board's breakdown; 403 for another group than
   * that of `groupOf`.
   */
  async function rankings(
    compiled: CompiledCatalog,
    key: string,
    { offset, limit, run: runDate, userId, userAttributes, groupOf = null }: PageQuery,
  ): Promise<LeaderboardResponseWithRankings> {
    const { board, status } = runs.find(compiled, key);
    const group = groupOfFilter(compiled, board, userAttributes);
    requireStart(offset, { userId });
    requireLimit(limit);
    const user = userId === undefined ? null : await users.find(compiled.catalog.tenantNo, userId);
    const run = runs.run(board, runDate, user?.zone ?? null);
    if (group !== '' && groupOf !== null) await requireGroup(compiled, { board, run }, group, groupOf);
    const standings = await readStandings(compiled, { board, run }, group);
    const { from, members } = await memberPage(standings, { offset, limit, userId });
    const [page, rewards] = await Promise.all([
      ranked(standings, members, { from, before: undefined }),
      readRewards(compiled, { board, run }, members),
    ]);
    const shown = { tenantNo: compiled.catalog.tenantNo, board, runDay: run.startDay };
    const rankings = (await shownRankings(redis, shown, page)).map((ranking) => ({
      ...ranking,
      ...rewards(ranking.userId),
    }));
    return { ...leaderboardResponse(compiled, board), status, rankings };
  }

  /** Returns what members got for their ranks in a run, as fields of their rankings. */
  async function readRewards(
    compiled: CompiledCatalog,
    at: RunOfBoard,
    members: readonly Member[],
  ): Promise<(userId: string) => { rewards?: RankRewards }> {
    if (!runs.isOver(at.run) || members.length === 0) return () => ({});
    const userIds = members.map(({ userId }) => userId);
    const byUser = await past.rewards(boardRunOf(compiled, at), userIds);
    return (userId) => {
      const reward = byUser.get(userId);
      return reward === undefined ? {} : { rewards: rankRewardsOf(compiled, reward, { seesSecrets: false }) };
    };
  }

  /** A leaderboard, its status and a run, chosen as in `rankings` by a user's zone. Errors as `rankings`. */
  function runOf(
    compiled: CompiledCatalog,
    key: string,
    { run, zone }: { run?: string | undefined; zone: string | null },
  ): { board: Leaderboard; status: BoardStatus; run: Run } {
    const target = runs.find(compiled, key);
    return { ...target, run: runs.run(target.board, run, zone) };
  }

  /** The stored standings of a final run, else the live ones. */
  async function readStandings(compiled: CompiledCatalog, at: RunOfBoard, group: string): Promise<Standings> {
    const boardRun = boardRunOf(compiled, at);
    const kept = runs.isOver(at.run) ? await past.standings(boardRun, group) : null;
    return kept ?? new LiveStandings(redis, { ...boardRun, group }, at.board);
  }

  return { list, rankings, among, teams, runOf, scoresIn, ofUser, groups };
}

export type LeaderboardReads = ReturnType<typeof createLeaderboardReads>;
