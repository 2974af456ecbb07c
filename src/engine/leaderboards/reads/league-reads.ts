import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Clock } from '../../../clock.ts';
import type { Leaderboard } from '../../../domain/catalog.ts';
import type { BoardStatus } from '../../../domain/leaderboard.ts';
import {
  type LeagueCohorts,
  type LeagueOverview,
  type Leagues,
  tierOf,
  type UserLeague,
} from '../../../domain/leagues.ts';
import { dateOf } from '../../../domain/periods.ts';
import { finalMs, type Run } from '../../../domain/runs.ts';
import { dayStartMs } from '../../../domain/zone.ts';
import { AppError } from '../../../errors.ts';
import {
  countLeagues,
  listCohorts,
  type LeaguePlace,
  leaguePlace,
  type TierChange,
} from '../../../postgres/boards/leagues.ts';
import { moveOf, moveOfInactive, ruleOf, tierIn } from '../../../rules/leagues.ts';
import { groupAttributes } from '../../responses/leaderboards.ts';
import type { UserReads } from '../../users/user-reads.ts';
import type { LeaderboardReads } from './leaderboard-reads.ts';
import { shownRankings } from '../shown-rankings.ts';
import { GivenStandings } from '../given-standings.ts';
import { ranked } from '../standings.ts';

interface LeagueReadsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  users: UserReads;
  leaderboards: LeaderboardReads;
}

interface LeagueRunOf {
  board: Leaderboard;
  status: BoardStatus;
  run: Run & { endDay: number };
  leagues: Leagues;
}

/** Reads leagues. Cohorts are in Postgres; their ranks are current. */
export function createLeagueReads({ pool, leaderboards, clock, users, redis }: LeagueReadsOptions) {
  /**
   * A user's league in a run. Before the user's first score is stored, and until the run before is closed, there is no cohort. Costs
   * three queries of Postgres and a read of at most 200 scores and users. Throws 404 for an unknown user, errors as
   * `LeaderboardReads.rankings`, and 422 for a leaderboard without leagues.
   */
  async function ofUser(
    compiled: CompiledCatalog,
    userId: string,
    { key, run: runDate }: { key: string; run?: string | undefined },
  ): Promise<UserLeague> {
    const { tenantNo } = compiled.catalog;
    const state = await users.state(tenantNo, userId);
    const at = find(compiled, key, { run: runDate, zone: state.zone });
    const { board, status, run, leagues } = at;
    const place = await leaguePlace(pool, { tenantNo, boardNo: board.no, runDay: run.startDay }, userId);
    const rankings = place.members === null ? [] : await readRankings(compiled, at, place);
    const own = rankings.find((ranking) => ranking.userId === userId);
    const rule = ruleOf(leagues);
    const endsMs = dayStartMs(state.zone ?? 'UTC', run.endDay + 1);
    return {
      leaderboardKey: board.key,
      status,
      run: {
        start: dateOf(run.startDay),
        end: dateOf(run.endDay),
        endsAt: new Date(endsMs).toISOString(),
        secondsLeft: Math.max(0, Math.ceil((endsMs - clock.now()) / 1000)),
        finalAt: new Date(finalMs(run.endDay)).toISOString(),
        isClosed: place.isClosed,
      },
      tier: tierOf(leagues, place.tier),
      tiers: leagues.tiers.length,
      rank: own?.rank ?? null,
      value: own?.value ?? null,
      ...(board.secondaryAttributeId !== null && { secondaryScore: own?.secondaryScore ?? null }),
      move: place.isClosed ? moveAtEnd(place.moved) : (own?.move ?? moveOfInactive(rule, tierIn(rule, place.tier))),
      cohort: place.members === null ? null : { users: rankings.length, rankings },
    };
  }

  /** How many users and cohorts each tier has in a run. Errors as `ofUser`. */
  async function overview(compiled: CompiledCatalog, key: string, runDate?: string): Promise<LeagueOverview> {
    const { board, run, leagues } = find(compiled, key, { run: runDate, zone: null });
    const { tenantNo } = compiled.catalog;
    const counted = await countLeagues(pool, { tenantNo, boardNo: board.no, runDay: run.startDay });
    const rule = ruleOf(leagues);
    const tiers = leagues.tiers.map((_, number) => ({ ...tierOf(leagues, number), users: 0, cohorts: 0 }));
    for (const { tier, users, cohorts } of counted.tiers) {
      const its = tiers[tierIn(rule, tier)]!;
      its.users += users;
      its.cohorts += cohorts;
    }
    return { run: dateOf(run.startDay), waiting: counted.waiting, tiers };
  }

  /** Cohorts of a run, page by page. Errors as `ofUser`. */
  async function cohorts(
    compiled: CompiledCatalog,
    key: string,
    { run: runDate, after, limit }: { run?: string | undefined; after: number; limit: number },
  ): Promise<LeagueCohorts> {
    const { board, run, leagues } = find(compiled, key, { run: runDate, zone: null });
    const { tenantNo } = compiled.catalog;
    const listed = await listCohorts(pool, { tenantNo, boardNo: board.no, runDay: run.startDay }, after, limit);
    return {
      run: dateOf(run.startDay),
      cohorts: listed.map(({ id, tier, group, members }) => ({
        id,
        tier: tierOf(leagues, tier),
        users: members,
        userAttributes: groupAttributes(compiled, board, group),
      })),
    };
  }

  function find(
    compiled: CompiledCatalog,
    key: string,
    of: { run: string | undefined; zone: string | null },
  ): LeagueRunOf {
    const { board, status, run } = leaderboards.runOf(compiled, key, of);
    const { leagues } = board;
    if (leagues === null || run.endDay === null)
      throw new AppError('unprocessable', `The leaderboard '${key}' has no leagues.`);
    return { board, status, run: { ...run, endDay: run.endDay }, leagues };
  }

  /** The members of a cohort who have a score, best first. After the end of the run, with how they moved. */
  async function readRankings(
    compiled: CompiledCatalog,
    { board, run, leagues }: LeagueRunOf,
    place: LeaguePlace,
  ): Promise<NonNullable<UserLeague['cohort']>['rankings']> {
    const { tenantNo } = compiled.catalog;
    const members = place.members!;
    const scores = await leaderboards.scoresIn(
      compiled,
      { board, run },
      members.map(({ userId }) => userId),
    );
    const standings = await GivenStandings.of(scores, board);
    const page = await ranked(standings, await standings.page(0, scores.length), { from: 0, before: undefined });
    const shown = await shownRankings(redis, { tenantNo, board, runDay: run.startDay }, page);
    const rule = ruleOf(leagues);
    const moved = new Map(members.map((member) => [member.userId, moveAtEnd(member.moved)]));
    // Cohorts show no metadata.
    return shown.map(({ userId, userName, rank, value, secondaryScore }) => {
      const move = moveOf(rule, { tier: place.tier, rank, users: scores.length });
      return {
        userId,
        userName,
        rank,
        value,
        ...(secondaryScore !== undefined && { secondaryScore }),
        move: place.isClosed ? moved.get(userId)! : move,
      };
    });
  }

  return { ofUser, overview, cohorts };
}

function moveAtEnd(moved: TierChange | null): UserLeague['move'] {
  if (moved === null) return 'stay';
  return moved.after > moved.before ? 'up' : 'down';
}
