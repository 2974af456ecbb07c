import type { Pool } from 'pg';
import type { Leaderboard } from '../../src/domain/catalog.ts';
import { LeaderboardReads } from '../../src/engine/leaderboards/leaderboard-reads.ts';
import { Persister } from '../../src/engine/persist/persister.ts';
import { StreakReads } from '../../src/engine/streaks/streak-reads.ts';
import { shardOf } from '../../src/redis/keys.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { groupOf, standings, type Place } from './boards.ts';
import { latestRuns, runOf, wall, type Run } from './calendar.ts';
import { wire } from './decimals.ts';
import { ComparePoints } from './compare-points.ts';
import type { LaurelModel } from './laurel-model.ts';
import type { Said } from './seen.ts';
import { historyOf, pausesOf } from './streak-told.ts';
import { totalOf, type ModelUser } from './user.ts';

/** Periods of a streak's history to compare. */
const PERIODS = 25;

/** Reads on both sides whatever can be read of the users and the boards. */
export class CompareReads {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly pool: Pool;
  private readonly streaks: StreakReads;
  private readonly points: ComparePoints;
  private readonly leaderboards: LeaderboardReads;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    this.streaks = new StreakReads({ redis, pool, users, clock });
    this.points = new ComparePoints(engine, model, pool);
    this.leaderboards = new LeaderboardReads({ redis, users, clock });
  }

  async all(): Promise<Said> {
    // What is read from Postgres is there.
    await new Persister({ redis: this.engine.redis, pool: this.pool }).drain(shardOf(this.model.catalog.tenantNo));
    const parts: Said[] = [];
    for (const user of this.model.users.values()) parts.push(await this.user(user), await this.streak(user));
    for (const system of this.model.catalog.pointsSystems) {
      parts.push(await this.points.summaries(system));
      for (const user of this.model.users.values()) parts.push(await this.points.ofUser(user, system));
    }
    for (const board of this.model.catalog.leaderboards) {
      if (board.status !== 'active') continue;
      const groups = board.breakdownAttributes.length === 0 ? [{}] : [{ plan: 'free' }, { plan: 'pro' }];
      const runs = latestRuns(board, wall(this.model.nowMs, null).date);
      for (const run of runs) for (const group of groups) parts.push(await this.page(board, run, group));
      for (const user of this.model.users.values()) parts.push(await this.place(board, user));
    }
    return { engine: parts.map(({ engine }) => engine), model: parts.map(({ model }) => model) };
  }

  private async user(user: ModelUser): Promise<Said> {
    const { catalog } = this.model;
    const compiled = this.engine.compiled();
    const { tz, attributes } = await this.engine.profiles.get(compiled, user.id);
    const metrics = await this.engine.users.metrics(compiled, user.id);
    const completed = await this.engine.achievements.ofUser(compiled, user.id, false);
    return {
      engine: {
        user: user.id,
        tz,
        attributes,
        totals: metrics.map(({ current }) => current),
        completed: completed.map(({ id, achievedAt, completions }) => [id, Date.parse(achievedAt!), completions]),
      },
      model: {
        user: user.id,
        tz: user.tz,
        attributes: user.attributes,
        totals: catalog.metrics.map(({ id }) => wire(totalOf(user, id))),
        completed: catalog.achievements
          .filter(({ id }) => user.completed.has(id))
          .map(({ id }) => [id, user.completed.get(id), this.havers(id)]),
      },
    };
  }

  private havers(achievementId: string): number {
    return [...this.model.users.values()].filter(({ completed }) => completed.has(achievementId)).length;
  }

  private async streak(user: ModelUser): Promise<Said> {
    const { streakHistory, pauses, ...streak } = await this.streaks.ofUser(this.engine.compiled(), user.id, PERIODS);
    const told = this.model.streak(user);
    const { date } = wall(this.model.nowMs, user.tz);
    const history = historyOf(user.streaks, date, this.model.catalog, PERIODS);
    const { length, extendedMs } = user.streaks.tracks[this.model.catalog.streaks.frequency];
    const extended = length === 0 ? null : new Date(extendedMs!).toISOString();
    // After a journey a day may have been two days, or none: which of them a length is shown for is not promised.
    const isTold = !user.travelled;
    return {
      engine: {
        user: user.id,
        ...streak,
        pauses: pauses.map(({ start, end }) => ({ start, end })),
        history: isTold && streakHistory,
      },
      model: { user: user.id, ...told, extended, pauses: pausesOf(user.streaks, date), history: isTold && history },
    };
  }

  private async page(board: Leaderboard, run: Run, group: Record<string, string>): Promise<Said> {
    const pairs = Object.entries(group).map(([key, value]) => `${key}:${value}`);
    const { rankings } = await this.leaderboards.rankings(this.engine.compiled(), board.key, {
      offset: 0,
      limit: 100,
      run: run.start,
      ...(pairs.length > 0 && { userAttributes: pairs.join(',') }),
    });
    const seen = rankings.map(({ userId, rank, value }) => ({ userId, rank, value }));
    const model = inOrder(standings(this.model, board, { run, group }));
    const what = [board.key, run.start, group];
    return { engine: [...what, inOrder(seen)], model: [...what, model] };
  }

  private async place(board: Leaderboard, user: ModelUser): Promise<Said> {
    const { catalog, nowMs } = this.model;
    const run = runOf(board, wall(nowMs, user.tz).date);
    if (run === null) return { engine: null, model: null };
    const query = { key: board.key, numEvents: 0 };
    const { rank, value } = await this.leaderboards.ofUser(this.engine.compiled(), user.id, query);
    const group = groupOf(catalog, board, { user, run });
    const places = group === null ? [] : standings(this.model, board, { run, group });
    const place = places.find(({ userId }) => userId === user.id);
    const who = { board: board.key, user: user.id };
    return {
      engine: { ...who, rank, value: rank === null ? null : value },
      model: { ...who, rank: place?.rank ?? null, value: place?.value ?? null },
    };
  }
}

/** Who shares a rank stands in no order that is promised. */
const inOrder = (places: readonly Place[]): Place[] =>
  places.toSorted((a, b) => a.rank - b.rank || (a.userId < b.userId ? -1 : 1));
