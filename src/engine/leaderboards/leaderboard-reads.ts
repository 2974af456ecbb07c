import type { Redis } from 'ioredis';
import { createBoardGroups, groupOfFilter } from './board-groups.ts';
import { boardRunOf, createRequestedRuns, type RunOfBoard } from './requested-runs.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Static } from 'typebox';
import type { AttributeFilter } from '../../domain/user.ts';
import type { Leaderboard } from '../../domain/catalog.ts';
import type {
  BoardStatus,
  LeaderboardEvent,
  LeaderboardResponseWithRankings,
  RankRewards,
  LeaderboardWithStatus,
  RankingsAmongRequest,
  TeamRankings,
  UserLeaderboardResponseWithHistory,
} from '../../domain/leaderboard.ts';
import { dateOf } from '../../domain/periods.ts';
import type { Run } from '../../domain/runs.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { unpackState } from '../../packed/state.ts';
import { statesInSlices } from '../../redis/parts.ts';
import { leaderboardResponse } from '../responses/leaderboards.ts';
import type { UserReads } from '../users/user-reads.ts';
import { rankRewardsOf } from '../notifications/payloads.ts';
import { groupsOfRun, NO_PAST, type PastRuns, type Snapshot } from './runs.ts';
import { shownRankings, shownSecondary } from './shown-rankings.ts';
import { GivenStandings } from './given-standings.ts';
import { LiveStandings } from './live-standings.ts';
import { type Member, memberPage, percentileOf, ranked, rankedScore, type Standings } from './standings.ts';
import { createKeptTeams, type TeamScore, teamScores, type TeamStandings, teamStandings } from './teams.ts';

/** Maximum number of rankings in an answer, since a board without a maximum may have a million. */
const MAX_LIMIT = 10_000;

interface PageQuery {
  offset: number;
  limit: number;
  run?: string;
  userId?: string;
  userAttributes?: AttributeFilter;
  /** On a board with a breakdown, only the group of this user may be read; `null` allows all groups. */
  groupOf?: string | null;
}

/** A request for a ranking of some users alone. `around`: one of them, from whom `offset` counts. */
type AmongQuery = Static<typeof RankingsAmongRequest> & Pick<PageQuery, 'groupOf'>;

type TeamQuery = Pick<PageQuery, 'offset' | 'limit' | 'run'> & { team?: string };

interface LeaderboardReadsOptions {
  redis: Redis;
  users: UserReads;
  clock: Clock;
  past?: PastRuns;
  /** Whether a read of teams answers several calls. */
  reusesTeams?: boolean;
}

/** Reads leaderboards. Ranks are current; streak boards follow midnight by some seconds. */
export function createLeaderboardReads(options: LeaderboardReadsOptions) {
  const { redis, users, clock, past = NO_PAST, reusesTeams = true } = options;
  const keptTeams = createKeptTeams();
  const runs = createRequestedRuns(clock);
  const { groupAmong, groups, requireGroup, scoredGroup } = createBoardGroups(redis, users, past, runs);

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
    if (limit > MAX_LIMIT) throw new AppError('unprocessable', `limit must be at most ${MAX_LIMIT}.`);
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

  /**
   * A page of the ranking of a board's teams. The run is the one that begins on the requested day, else the one of the UTC
   * date. Each process ranks the teams of a run at most a twentieth of the time, so an answer may be as old as twenty
   * rankings take; it costs its page. Throws 404 as `rankings`; 422 for a board without teams, a day on which no run begins, or a negative offset
   * without a team.
   */
  async function teams(
    compiled: CompiledCatalog,
    key: string,
    { offset, limit, run: runDate, team }: TeamQuery,
  ): Promise<TeamRankings> {
    const { board, status } = runs.find(compiled, key);
    const attribute = compiled.attributesById.get(board.teamAttributeId ?? '');
    if (attribute === undefined)
      throw new AppError('unprocessable', `The leaderboard '${key}' has no teams: it lacks a teamAttributeId.`);
    requireStart(offset, { team });
    if (limit > MAX_LIMIT) throw new AppError('unprocessable', `limit must be at most ${MAX_LIMIT}.`);
    const run = runs.run(board, runDate, null);
    const boardRun = boardRunOf(compiled, { board, run });
    const isOver = runs.isOver(run);
    const read = async (): Promise<TeamScore[]> =>
      (isOver ? await past.teams(boardRun) : null) ?? teamScores(redis, board, boardRun);
    const rank = async (): Promise<TeamStandings> => teamStandings(await read(), board);
    const { order, ties, teamsBy, teamMinMembers } = board;
    const name = JSON.stringify([boardRun, isOver, order, ties, teamsBy, teamMinMembers]);
    const { standings, sizes } = await (reusesTeams ? keptTeams.of(name, rank) : rank());
    const { from, members } = await memberPage(standings, { offset, limit, userId: team });
    const page = await ranked(standings, members, { from, before: undefined });
    return {
      ...leaderboardResponse(compiled, board),
      status,
      teamAttribute: attribute.key,
      teamsBy: board.teamsBy ?? 'sum',
      teamMinMembers: board.teamMinMembers ?? 1,
      rankings: page.map(({ userId: name, rank, score }) => ({
        team: name,
        rank,
        value: score,
        members: sizes.get(name) ?? 0,
      })),
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
      const own = packed === null ? null : rankedScore(unpackState(packed), board, run.startDay);
      if (own === null || (group !== null && own.group !== group)) continue;
      const { group: _, ...scored } = own;
      members.push({ userId, ...scored });
    }
    return members;
  }

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

  /** The stored standings of a final run, else the live ones. */
  async function readStandings(compiled: CompiledCatalog, at: RunOfBoard, group: string): Promise<Standings> {
    const boardRun = boardRunOf(compiled, at);
    const kept = runs.isOver(at.run) ? await past.standings(boardRun, group) : null;
    return kept ?? new LiveStandings(redis, { ...boardRun, group }, at.board);
  }

  return { list, rankings, among, teams, runOf, scoresIn, ofUser, groups };
}

export type LeaderboardReads = ReturnType<typeof createLeaderboardReads>;

/** Throws 422 for a negative offset without the user (its field in the request) from whom it counts. */
function requireStart(offset: number, from: Record<string, string | undefined>): void {
  const [field, user] = Object.entries(from)[0]!;
  if (offset < 0 && user === undefined)
    throw new AppError('unprocessable', `offset must not be negative without a ${field} to count from.`);
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
