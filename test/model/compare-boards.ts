import type { Pool } from 'pg';
import type { Leaderboard } from '../../src/domain/catalog.ts';
import { createKeptRuns } from '../../src/engine/leaderboards/kept-runs.ts';
import {
  createLeaderboardReads,
  type LeaderboardReads,
} from '../../src/engine/leaderboards/reads/leaderboard-reads.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LeaderboardRanking } from '../../src/domain/leaderboard.ts';
import { groupOf, rankedAmong, standings, teamsOn, type Place } from './boards.ts';
import { addDays, latestRuns, runOf, wall, type Run } from './calendar.ts';
import type { LaurelModel } from './laurel-model.ts';
import type { Said } from './seen.ts';
import type { Metadata, ModelUser } from './user.ts';

/** More than the number of participants. */
const ALL = 100;

interface Page {
  offset: number;
  limit: number;
  userId?: string;
}

/** Performs every leaderboard read on both sides. */
export class CompareBoards {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly leaderboards: LeaderboardReads;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    this.leaderboards = createLeaderboardReads({ redis, users, clock, past: createKeptRuns(pool), reusesTeams: false });
  }

  async all(): Promise<Said[]> {
    const parts: Said[] = [];
    for (const board of this.model.catalog.leaderboards) {
      if (board.status !== 'active') continue;
      const groups = board.breakdownAttributes.length === 0 ? [{}] : [{ plan: 'free' }, { plan: 'pro' }];
      const today = wall(this.model.nowMs, null).date;
      const [current, before] = latestRuns(board, today) as [Run?, Run?];
      // When a score of an earlier run was reached is kept for a week of the next one; the ranks are recorded long before.
      const isKnown = board.ties !== 'first' || current === undefined || addDays(current.start, 6) >= today;
      const runs = [current, isKnown ? before : undefined].filter((run) => run !== undefined);
      for (const run of runs) for (const group of groups) parts.push(await this.standings(board, run, group));
      for (const run of runs) {
        parts.push(await this.among(board, run));
        if (board.teamAttributeId !== null) parts.push(await this.teams(board, run));
      }
      for (const user of this.model.users.values()) parts.push(await this.place(board, user));
    }
    return parts;
  }

  /** Everyone on a leaderboard, and pages of it: slices in the same order, around users or not. */
  private async standings(board: Leaderboard, run: Run, group: Record<string, string>): Promise<Said> {
    const read = (page: Page): Promise<Place[]> => this.page(board, { run, group, page });
    const whole = await read({ offset: 0, limit: ALL });
    const pages: Said[] = [{ engine: await read({ offset: 1, limit: 1 }), model: whole.slice(1, 2) }];
    for (const userId of ['a', 'b', 'c', 'nobody']) {
      const at = whole.findIndex((place) => place.userId === userId);
      const model = at === -1 ? [] : whole.slice(Math.max(0, at - 1), Math.max(0, at - 1) + 2);
      pages.push({ engine: await read({ offset: -1, limit: 2, userId }), model });
    }
    const what = [board.key, run.start, group];
    return {
      engine: [...what, inOrder(whole), pages.map(({ engine }) => engine)],
      model: [...what, inOrder(standings(this.model, board, { run, group })), pages.map(({ model }) => model)],
    };
  }

  private async page(
    board: Leaderboard,
    { run, group, page }: { run: Run; group: Record<string, string>; page: Page },
  ): Promise<Place[]> {
    const pairs = Object.entries(group).map(([key, value]) => `${key}:${value}`);
    const { rankings } = await this.leaderboards.rankings(this.engine.compiled(), board.key, {
      ...page,
      run: run.start,
      ...(pairs.length > 0 && { userAttributes: pairs.join(',') }),
    });
    return rankings.map(placeOf);
  }

  /** All users but the first, ranked among themselves across groups. */
  private async among(board: Leaderboard, run: Run): Promise<Said> {
    const [, ...users] = this.model.users.values();
    const { rankings } = await this.leaderboards.among(this.engine.compiled(), board.key, {
      userIds: ['nobody', ...users.map(({ id }) => id)],
      run: run.start,
    });
    const ranked = users.filter((user) => groupOf(this.model.catalog, board, { user, run }) !== null);
    const what = [board.key, run.start, 'among'];
    return {
      engine: [...what, inOrder(rankings.map(placeOf))],
      model: [...what, inOrder(rankedAmong(board, { run, users: ranked }))],
    };
  }

  private async teams(board: Leaderboard, run: Run): Promise<Said> {
    const page = { offset: 0, limit: ALL, run: run.start };
    const { rankings } = await this.leaderboards.teams(this.engine.compiled(), board.key, page);
    const what = [board.key, run.start, 'teams'];
    const engine = rankings
      .map(({ team, members, rank, value }) => ({ team, members, rank, value }))
      .toSorted((a, b) => a.rank - b.rank || (a.team < b.team ? -1 : 1));
    return { engine: [...what, engine], model: [...what, teamsOn(this.model, board, run)] };
  }

  private async place(board: Leaderboard, user: ModelUser): Promise<Said> {
    const { catalog, nowMs } = this.model;
    const run = runOf(board, wall(nowMs, user.tz).date);
    if (run === null) return { engine: null, model: null };
    const query = { key: board.key, numEvents: 0 };
    const {
      rank,
      value,
      secondaryScore = null,
      percentile,
      participants,
    } = await this.leaderboards.ofUser(this.engine.compiled(), user.id, query);
    const group = groupOf(catalog, board, { user, run });
    const places = group === null ? [] : standings(this.model, board, { run, group });
    const place = places.find(({ userId }) => userId === user.id);
    const all = group === null ? [] : standings(this.model, { ...board, maxParticipants: null }, { run, group });
    const own = all.find(({ userId }) => userId === user.id);
    const behind = own === undefined ? null : all.filter((other) => other.rank >= own.rank).length / all.length;
    const who = { board: board.key, user: user.id };
    return {
      engine: {
        ...who,
        rank,
        value: rank === null ? null : value,
        secondary: secondaryScore ?? null,
        percentile,
        ...(own !== undefined && { participants }),
      },
      model: {
        ...who,
        rank: place?.rank ?? null,
        value: place?.value ?? null,
        secondary: place?.secondary ?? null,
        percentile: behind === null ? null : Number((Math.floor(behind * 1000 + 1e-9) / 10).toFixed(1)),
        ...(own !== undefined && { participants: all.length }),
      },
    };
  }
}

const placeOf = ({ userId, rank, value, secondaryScore, metadata }: LeaderboardRanking): Place => ({
  userId,
  rank,
  value,
  secondary: secondaryScore ?? null,
  metadata: (metadata as Metadata | undefined) ?? null,
});

/** The order of users with the same rank is undefined. */
const inOrder = (places: readonly Place[]): Place[] =>
  places.toSorted((a, b) => a.rank - b.rank || (a.userId < b.userId ? -1 : 1));
