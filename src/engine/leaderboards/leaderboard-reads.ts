import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Static } from 'typebox';
import { type AttributeFilter, groupName } from '../../domain/user.ts';
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
import { didYouMean } from '../../domain/nearest.ts';
import { dateOf, DAY_MS, dayOf, isDate } from '../../domain/periods.ts';
import { boardStatus, playedRule, type Run, runFrom, runShownOn } from '../../domain/runs.ts';
import { dayIn } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { unpackState } from '../../packed/state.ts';
import type { User } from '../../rules/user.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { statesInSlices, tenantParts } from '../../redis/parts.ts';
import { boardGroupsKey, boardKey, type TenantPart } from '../../redis/keys.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import { visibleBoards } from '../find-configured.ts';
import { breakdownKeys, groupAttributes, leaderboardResponse } from '../responses.ts';
import { groupOfUser, type UserReads } from '../users/user-reads.ts';
import { rankRewardsOf } from '../notifications/payloads.ts';
import { groupsOfRun, NO_PAST, type PastRuns, type Snapshot } from './runs.ts';
import { shownRankings, shownSecondary } from './shown-rankings.ts';
import {
  GivenStandings,
  LiveStandings,
  type Member,
  memberPage,
  percentileOf,
  ranked,
  rankedScore,
  type Standings,
} from './standings.ts';
import { KeptTeams, type TeamScore, teamScores, type TeamStandings, teamStandings } from './teams.ts';
import { scoreIn } from '../../rules/leaderboards.ts';

/** Maximum number of rankings in an answer, since a board without a maximum may have a million. */
const MAX_LIMIT = 10_000;

/** Groups of a board that one answer counts. */
const MAX_GROUPS = 1_000;

/** A group of a board with a breakdown: the values of its attributes, by key, and how many users have a score in it. */
export interface CountedGroup {
  userAttributes: Record<string, string>;
  users: number;
}

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

/** Reads leaderboards. Ranks are current; streak boards follow midnight by some seconds. */
export class LeaderboardReads {
  private readonly redis: Redis;
  private readonly users: UserReads;
  private readonly clock: Clock;
  private readonly past: PastRuns;
  private readonly reusesTeams: boolean;
  private readonly keptTeams = new KeptTeams();

  constructor({
    redis,
    users,
    clock,
    past = NO_PAST,
    reusesTeams = true,
  }: {
    redis: Redis;
    users: UserReads;
    clock: Clock;
    past?: PastRuns;
    /** Whether a read of teams answers several calls. */
    reusesTeams?: boolean;
  }) {
    this.redis = redis;
    this.users = users;
    this.clock = clock;
    this.past = past;
    this.reusesTeams = reusesTeams;
  }

  /** Active and scheduled boards, and finished ones if requested, oldest first. */
  list(compiled: CompiledCatalog, includeFinished: boolean): LeaderboardWithStatus[] {
    return compiled.catalog.leaderboards.flatMap((board) => {
      const status = this.status(board);
      if (status === null || (status === 'finished' && !includeFinished)) return [];
      return [{ ...leaderboardResponse(compiled, board), status }];
    });
  }

  /**
   * A page of a board. The run is the one that begins on the requested day, else the one that contains the UTC date or
   * the named user's local date. Throws 404 for an unknown or inactive board; 422 for a day on which no run begins, a
   * negative offset without a user, or attributes that do not match the board's breakdown; 403 for another group than
   * that of `groupOf`. On a board of 1,000,000 (2 busy cores) a page of 10 takes 0.25 ms, a page of 100 takes 0.6 ms.
   */
  async rankings(
    compiled: CompiledCatalog,
    key: string,
    { offset, limit, run: runDate, userId, userAttributes, groupOf = null }: PageQuery,
  ): Promise<LeaderboardResponseWithRankings> {
    const { board, status } = this.find(compiled, key);
    const group = groupOfFilter(compiled, board, userAttributes);
    requireStart(offset, { userId });
    if (limit > MAX_LIMIT) throw new AppError('unprocessable', `limit must be at most ${MAX_LIMIT}.`);
    const user = userId === undefined ? null : await this.users.find(compiled.catalog.tenantNo, userId);
    const run = this.run(board, runDate, user?.zone ?? null);
    if (group !== '' && groupOf !== null) await this.requireGroup(compiled, { board, run, group }, groupOf);
    const standings = await this.standings(compiled, board, run, group);
    const { from, members } = await memberPage(standings, { offset, limit, userId });
    const [page, rewards] = await Promise.all([
      ranked(standings, members, { from, before: undefined }),
      this.rewards(compiled, { board, run }, members),
    ]);
    const shown = { tenantNo: compiled.catalog.tenantNo, board, runDay: run.startDay };
    const rankings = (await shownRankings(this.redis, shown, page)).map((ranking) => ({
      ...ranking,
      ...rewards(ranking.userId),
    }));
    return { ...leaderboardResponse(compiled, board), status, rankings };
  }

  /** Returns what members got for their ranks in a run, as fields of their rankings. */
  private async rewards(
    compiled: CompiledCatalog,
    { board, run }: { board: Leaderboard; run: Run },
    members: readonly Member[],
  ): Promise<(userId: string) => { rewards?: RankRewards }> {
    if (!this.isOver(run) || members.length === 0) return () => ({});
    const boardRun = { tenantNo: compiled.catalog.tenantNo, boardNo: board.no, runDay: run.startDay };
    const userIds = members.map(({ userId }) => userId);
    const found = await this.past.rewards(boardRun, userIds);
    return (userId) => {
      const reward = found.get(userId);
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
  async among(
    compiled: CompiledCatalog,
    key: string,
    { userIds, around, offset = 0, limit = userIds.length, run: runDate, userAttributes, groupOf = null }: AmongQuery,
  ): Promise<LeaderboardResponseWithRankings> {
    const { board, status } = this.find(compiled, key);
    const named = new Set(userIds);
    if (around !== undefined && !named.has(around))
      throw new AppError('unprocessable', 'around must be one of userIds.');
    requireStart(offset, { around });
    const { tenantNo } = compiled.catalog;
    const user = around === undefined ? null : await this.users.find(tenantNo, around);
    const run = this.run(board, runDate, user?.zone ?? null);
    const group = await this.groupAmong(compiled, { board, run, userAttributes, groupOf });
    const scores = group === undefined ? [] : await this.scores(compiled, { board, run, group }, [...named]);
    const given = await GivenStandings.of(scores, board);
    const { from, members } = await memberPage(given, { offset, limit, userId: around });
    const page = await ranked(given, members, { from, before: undefined });
    const rankings = await shownRankings(this.redis, { tenantNo, board, runDay: run.startDay }, page);
    return { ...leaderboardResponse(compiled, board), status, rankings };
  }

  /**
   * A page of the ranking of a board's teams. The run is the one that begins on the requested day, else the one of the UTC
   * date. Each process ranks the teams of a run at most a twentieth of the time, so an answer may be as old as twenty
   * rankings take; it costs its page. Throws 404 as `rankings`; 422 for a board without teams, a day on which no run begins, or a negative offset
   * without a team.
   */
  async teams(
    compiled: CompiledCatalog,
    key: string,
    { offset, limit, run: runDate, team }: { offset: number; limit: number; run?: string; team?: string },
  ): Promise<TeamRankings> {
    const { board, status } = this.find(compiled, key);
    const attribute = compiled.attributesById.get(board.teamAttributeId ?? '');
    if (attribute === undefined)
      throw new AppError('unprocessable', `The leaderboard '${key}' has no teams: it lacks a teamAttributeId.`);
    requireStart(offset, { team });
    if (limit > MAX_LIMIT) throw new AppError('unprocessable', `limit must be at most ${MAX_LIMIT}.`);
    const run = this.run(board, runDate, null);
    const boardRun = { tenantNo: compiled.catalog.tenantNo, boardNo: board.no, runDay: run.startDay };
    const isOver = this.isOver(run);
    const read = async (): Promise<TeamScore[]> =>
      (isOver ? await this.past.teams(boardRun) : null) ?? teamScores(this.redis, board, boardRun);
    const rank = async (): Promise<TeamStandings> => teamStandings(await read(), board);
    const { order, ties, teamsBy, teamMinMembers } = board;
    const name = JSON.stringify([boardRun, isOver, order, ties, teamsBy, teamMinMembers]);
    const { standings, sizes } = await (this.reusesTeams ? this.keptTeams.of(name, rank) : rank());
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
  runOf(
    compiled: CompiledCatalog,
    key: string,
    { run, zone }: { run?: string | undefined; zone: string | null },
  ): { board: Leaderboard; status: BoardStatus; run: Run } {
    const found = this.find(compiled, key);
    return { ...found, run: this.run(found.board, run, zone) };
  }

  /** Those of some users who have a score in a run, in any group. */
  scoresIn(
    compiled: CompiledCatalog,
    at: { board: Leaderboard; run: Run },
    userIds: readonly string[],
  ): Promise<Member[]> {
    const group = at.board.breakdownAttributes.length === 0 ? '' : null;
    return this.scores(compiled, { ...at, group }, userIds);
  }

  /** The group to rank users in: '' without a breakdown; `null` for all; undefined if `groupOf` is in none. */
  private async groupAmong(
    compiled: CompiledCatalog,
    {
      board,
      run,
      userAttributes,
      groupOf,
    }: { board: Leaderboard; run: Run; userAttributes: Record<string, string> | undefined; groupOf: string | null },
  ): Promise<string | null | undefined> {
    if (board.breakdownAttributes.length === 0 || userAttributes !== undefined) {
      const pairs = Object.entries(userAttributes ?? {}).map(([name, value]) => `${name}:${value}`);
      const group = groupOfFilter(compiled, board, pairs);
      if (group !== '' && groupOf !== null) await this.requireGroup(compiled, { board, run, group }, groupOf);
      return group;
    }
    if (groupOf === null) return null;
    const { tenantNo } = compiled.catalog;
    const state = await this.users.find(tenantNo, groupOf);
    if (state === null) return undefined;
    const scored = await this.scoredGroup({ tenantNo, board, run }, groupOf, state);
    return scored ?? groupOfUser(compiled, board, state) ?? undefined;
  }

  /** The scores of those of some users who have one in a run and group (`null`: in any). */
  private async scores(
    compiled: CompiledCatalog,
    { board, run, group }: { board: Leaderboard; run: Run; group: string | null },
    userIds: readonly string[],
  ): Promise<Member[]> {
    const { tenantNo } = compiled.catalog;
    const boardRun = { tenantNo, boardNo: board.no, runDay: run.startDay };
    const of = (name: string): LiveStandings => new LiveStandings(this.redis, { ...boardRun, group: name }, board);
    if (this.isOver(run)) {
      const final = await this.past.scores(boardRun, group, userIds);
      if (final !== null) return final;
      // Users forget their scores in ended runs, final or not.
      const groups = group === null ? await groupsOfRun(this.redis, board, boardRun) : [group];
      return (await Promise.all(groups.map((name) => of(name).scoresOf(userIds)))).flat();
    }
    if (group !== null && board.ties !== 'first') return of(group).scoresOf(userIds);
    // Only a user's state has the group, and the time by which the member of a timed set is named.
    const members: Member[] = [];
    for await (const { userId, packed } of statesInSlices(this.redis, tenantNo, userIds)) {
      const found = packed === null ? null : rankedScore(unpackState(packed), board, run.startDay);
      if (found === null || (group !== null && found.group !== group)) continue;
      const { group: _, ...scored } = found;
      members.push({ userId, ...scored });
    }
    return members;
  }

  /** A user's place and the last `numEvents` daily snapshots, oldest first. Throws 404, and 422 as `rankings` does. */
  async ofUser(
    compiled: CompiledCatalog,
    userId: string,
    { key, run: runDate, numEvents }: { key: string; run?: string; numEvents: number },
  ): Promise<UserLeaderboardResponseWithHistory> {
    const { board, status } = this.find(compiled, key);
    const { tenantNo } = compiled.catalog;
    const state = await this.users.state(tenantNo, userId);
    const run = this.run(board, runDate, state.zone);
    const boardRun = { tenantNo, boardNo: board.no, runDay: run.startDay };
    const group =
      board.breakdownAttributes.length === 0 ? '' : await this.scoredGroup({ tenantNo, board, run }, userId, state);
    const standings = group === null ? null : await this.standings(compiled, board, run, group);
    const [found, participants] =
      standings === null ? [null, null] : await Promise.all([standings.find(userId), standings.scored()]);
    const place = found?.isOn === true ? { rank: found.rank, value: found.score } : { rank: null, value: null };
    const secondary =
      board.secondaryAttributeId === null
        ? {}
        : { secondaryScore: null, ...shownSecondary(board, found?.isOn === true ? found.secondary : 0) };
    const percentile = found === null || participants === null ? null : percentileOf(found.rank, participants);

    const atMs = this.clock.now();
    const day = dayIn(state.zone, atMs);
    const goesOn = day >= run.startDay && (run.endDay === null || day <= run.endDay);
    const snapshots = numEvents === 0 ? [] : await this.past.snapshots(boardRun, userId, numEvents + 1);
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

  /**
   * The groups of a board with a breakdown in a run that is not final, those with most users first; none of a board without one.
   * Of a board with more than 1,000 groups, any 1,000 are counted. Errors as `rankings`.
   */
  async groups(compiled: CompiledCatalog, key: string, runDate?: string): Promise<CountedGroup[]> {
    const { board } = this.find(compiled, key);
    const { tenantNo } = compiled.catalog;
    const boardRun = { boardNo: board.no, runDay: this.run(board, runDate, null).startDay };
    if (board.breakdownAttributes.length === 0) return [];
    const counts = new Map<string, number>();
    for (const part of tenantParts(this.redis, tenantNo))
      for (const [group, users] of await this.groupsIn(part, boardRun))
        if (counts.has(group) || counts.size < MAX_GROUPS) counts.set(group, (counts.get(group) ?? 0) + users);
    return Array.from(counts, ([group, users]): CountedGroup => ({
      userAttributes: groupAttributes(compiled, board, group),
      users,
    }))
      .filter(({ users }) => users > 0)
      .toSorted((a, b) => b.users - a.users);
  }

  /** Some groups of a run, and how many users of a part have a score in each. */
  private async groupsIn(
    part: TenantPart,
    run: { boardNo: number; runDay: number },
  ): Promise<[group: string, users: number][]> {
    const redis = connectionOf(this.redis, part.shard);
    const groups = await someMembers(redis, boardGroupsKey(part, run), MAX_GROUPS);
    const pipeline = redis.pipeline();
    for (const group of groups) pipeline.zcard(boardKey(part, { ...run, group }));
    return ((await pipeline.exec()) ?? []).map(([error, users], index) => {
      if (error) throw error;
      return [groups[index]!, users as number];
    });
  }

  /** Throws 403 unless the user belongs to the group, by the user's current attributes or by the user's score in the run. */
  private async requireGroup(
    compiled: CompiledCatalog,
    { board, run, group }: { board: Leaderboard; run: Run; group: string },
    userId: string,
  ): Promise<void> {
    const { tenantNo } = compiled.catalog;
    const state = await this.users.find(tenantNo, userId);
    if (state !== null) {
      if (groupOfUser(compiled, board, state) === group) return;
      if ((await this.scoredGroup({ tenantNo, board, run }, userId, state)) === group) return;
    }
    throw new AppError('forbidden', "userAttributes: an application key may only read its own user's group.");
  }

  /** The group of a user's score in a run; `null` for a user who has none, or who lacks a value of the breakdown. */
  private async scoredGroup(
    { tenantNo, board, run }: { tenantNo: number; board: Leaderboard; run: Run },
    userId: string,
    state: User,
  ): Promise<string | null> {
    const { startDay: runDay } = run;
    // In a final run, the group in which the user ended it, regardless of the state now.
    const final = this.isOver(run) ? await this.past.groupOf({ tenantNo, boardNo: board.no, runDay }, userId) : null;
    return final ?? (scoreIn(state, { board: board.no, runDay })?.group || null);
  }

  private utcDay(): number {
    return Math.floor(this.clock.now() / DAY_MS);
  }

  private status(board: Leaderboard): BoardStatus | null {
    return boardStatus(board, this.utcDay());
  }

  private find(compiled: CompiledCatalog, key: string): { board: Leaderboard; status: BoardStatus } {
    const board = compiled.leaderboards.get(key);
    const status = board === undefined ? null : this.status(board);
    if (board === undefined || status === null)
      throw new AppError('not_found', `Unknown leaderboard: there is none with the key '${key}'.`, {
        hint: didYouMean(key, visibleBoards(compiled, this.utcDay())),
      });
    return { board, status };
  }

  private run(board: Leaderboard, date: string | undefined, tz: string | null): Run {
    const rule = playedRule(board);
    if (date === undefined) return runShownOn(rule, dayIn(tz, this.clock.now()));
    const run = isDate(date) ? runFrom(rule, dayOf(date)) : null;
    if (run === null) {
      const current = dateOf(runShownOn(rule, this.utcDay()).startDay);
      throw new AppError(
        'unprocessable',
        `run must be the first day of a run, as ${current} is; '${date}' is not one.`,
      );
    }
    return run;
  }

  /** Whether a run may be final. */
  private isOver({ endDay }: Run): boolean {
    return endDay !== null && endDay < this.utcDay();
  }

  /** The stored standings of a final run, else the live ones. */
  private async standings(compiled: CompiledCatalog, board: Leaderboard, run: Run, group: string): Promise<Standings> {
    const { tenantNo } = compiled.catalog;
    const boardRun = { tenantNo, boardNo: board.no, runDay: run.startDay };
    const kept = this.isOver(run) ? await this.past.standings(boardRun, group) : null;
    return kept ?? new LiveStandings(this.redis, { ...boardRun, group }, board);
  }
}

/** Throws 422 for a negative offset without the user (its field in the request) from whom it counts. */
function requireStart(offset: number, from: Record<string, string | undefined>): void {
  const [field, user] = Object.entries(from)[0]!;
  if (offset < 0 && user === undefined)
    throw new AppError('unprocessable', `offset must not be negative without a ${field} to count from.`);
}

/** The group that a `userAttributes` filter names: a value for exactly the breakdown attributes. Throws 422. */
function groupOfFilter(
  compiled: CompiledCatalog,
  board: Leaderboard,
  userAttributes: AttributeFilter | undefined,
): string {
  const keys = breakdownKeys(compiled, board);
  const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
  if (keys.length === 0) {
    if (filter.length === 0) return '';
    throw new AppError('unprocessable', `userAttributes: the leaderboard '${board.key}' has no breakdown attributes.`);
  }
  const values = keys.map((key) => filter.find(({ attribute }) => attribute.key === key)?.value);
  if (filter.length !== keys.length || values.includes(undefined)) {
    throw new AppError(
      'unprocessable',
      `userAttributes must name a value of each breakdown attribute of the leaderboard, and no other: ${keys.join(', ')}.`,
    );
  }
  return groupName(values as string[]);
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

/** Up to `most` members of a set, without reading all of a large one. */
async function someMembers(redis: Redis, key: string, most: number): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, members] = await redis.sscan(key, cursor, 'COUNT', most);
    for (const member of members) if (found.size < most) found.add(member);
    cursor = next;
  } while (cursor !== '0' && found.size < most);
  return [...found];
}
