import type { Pool } from 'pg';
import type { MetricResponse, UserAchievementWithStatsResponse } from '../../src/domain/achievement.ts';
import type { Achievement } from '../../src/domain/catalog.ts';
import { createStreakReads, type StreakReads } from '../../src/engine/streaks/streak-reads.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { wall } from './calendar.ts';
import { CompareBoards } from './compare-boards.ts';
import { ComparePoints } from './compare-points.ts';
import { wire } from './decimals.ts';
import type { LaurelModel } from './laurel-model.ts';
import { CompareLeagues } from './leagues-side-by-side.ts';
import { isQuest, periodNamed, sumIn } from './quests.ts';
import type { Said } from './seen.ts';
import { stored } from './stored.ts';
import { historyOf, pausesOf } from './streak-answer.ts';
import { totalOf, type ModelUser } from './user.ts';

/** Periods of a streak's history to compare. */
const PERIODS = 25;

/** Performs every read of users and leaderboards on both sides. */
export class CompareReads {
  private readonly engine: TestUsers;
  private readonly model: LaurelModel;
  private readonly pool: Pool;
  private readonly streaks: StreakReads;
  private readonly points: ComparePoints;
  private readonly boards: CompareBoards;
  private readonly leagues: CompareLeagues;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    this.streaks = createStreakReads(redis, pool, users, clock);
    this.points = new ComparePoints(engine, model, pool);
    this.boards = new CompareBoards(engine, model, pool);
    this.leagues = new CompareLeagues(engine, model, pool);
  }

  async all(): Promise<Said> {
    // Everything read from Postgres is stored.
    await stored(this.engine.redis, this.pool, this.model.catalog.tenantNo);
    const parts: Said[] = [];
    for (const user of this.model.users.values()) parts.push(await this.user(user), await this.streak(user));
    parts.push(await this.lengths());
    for (const system of this.model.catalog.pointsSystems) {
      parts.push(await this.points.summaries(system));
      for (const user of this.model.users.values()) parts.push(await this.points.ofUser(user, system));
    }
    parts.push(...(await this.boards.all()), ...(await this.leagues.all()));
    return { engine: parts.map(({ engine }) => engine), model: parts.map(({ model }) => model) };
  }

  private async user(user: ModelUser): Promise<Said> {
    const { catalog } = this.model;
    const compiled = this.engine.compiled();
    const { tz, attributes, signUpDate } = await this.engine.profiles.get(compiled, user.id);
    const text = await this.engine.users.metrics(compiled, user.id, { nowMs: this.engine.clock.now() });
    const metrics = JSON.parse(text) as MetricResponse[];
    const as = { includeIncomplete: false, nowMs: this.engine.clock.now() };
    const completed = JSON.parse(
      await this.engine.achievements.ofUser(compiled, user.id, as),
    ) as UserAchievementWithStatsResponse[];
    return {
      engine: {
        user: user.id,
        tz,
        signUpDate,
        attributes,
        totals: metrics.map(({ current }) => current),
        completed: completed.map(({ id, achievedAt, completions, timesCompleted, period }) => [
          id,
          Date.parse(achievedAt!),
          completions,
          ...(timesCompleted === undefined ? [] : [timesCompleted]),
          ...(period === undefined ? [] : [period.progress, period.completed]),
        ]),
      },
      model: {
        user: user.id,
        tz: user.tz,
        signUpDate: user.signUp?.date ?? null,
        attributes: user.attributes,
        totals: catalog.metrics.map(({ id }) => wire(totalOf(user, id))),
        completed: catalog.achievements
          .filter(({ id }) => user.completed.has(id))
          .map((one) => [one.id, user.completed.get(one.id), this.havers(one.id), ...this.quest(user, one)]),
      },
    };
  }

  /** A repeating achievement's completions and current period. */
  private quest(user: ModelUser, achievement: Achievement): unknown[] {
    if (!isQuest(achievement)) return [];
    const { id, repeat } = achievement;
    const { catalog, nowMs } = this.model;
    const done = user.quests.get(id) ?? new Set();
    const period = periodNamed(achievement, wall(nowMs, user.tz).date, catalog.streaks.weekStart);
    return [
      ...(repeat === null ? [] : [done.size]),
      ...(period === null ? [] : [wire(sumIn(catalog, user, achievement, period)), done.has(period)]),
    ];
  }

  /** The lengths of all, longest first; equal ones in the requested order. */
  private async lengths(): Promise<Said> {
    const asked = ['c', 'nobody', 'a', 'b'];
    const lengthOf = (userId: string): number => {
      const user = this.model.users.get(userId);
      return user === undefined ? 0 : Number(this.model.streak(user)['length']);
    };
    const engine = await this.streaks.list(this.engine.compiled(), asked);
    return {
      engine: engine.map(({ userId, streakLength }) => [userId, streakLength]),
      model: asked.map((userId) => [userId, lengthOf(userId)] as const).toSorted(([, a], [, b]) => b - a),
    };
  }

  private havers(achievementId: string): number {
    return [...this.model.users.values()].filter(({ completed }) => completed.has(achievementId)).length;
  }

  private async streak(user: ModelUser): Promise<Said> {
    const { streakHistory, pauses, ...streak } = await this.streaks.ofUser(this.engine.compiled(), user.id, PERIODS);
    const expected = this.model.streak(user);
    const { date } = wall(this.model.nowMs, user.tz);
    const history = historyOf(user.streaks, date, this.model.catalog, PERIODS);
    const { frequency } = this.model.catalog.streaks;
    const { length, extendedMs } = user.streaks.tracks[frequency];
    const extended = length === 0 ? null : new Date(extendedMs!).toISOString();
    // After a journey a day may have been two days, or none; the same applies where weeks began on another day. Which of
    // them has a length is undefined.
    const isReported = !user.travelled && !(frequency === 'weekly' && user.weeksShifted);
    return {
      engine: {
        user: user.id,
        ...streak,
        pauses: pauses.map(({ start, end }) => ({ start, end })),
        history: isReported && streakHistory,
      },
      model: {
        user: user.id,
        ...expected,
        extended,
        pauses: pausesOf(user.streaks, date),
        history: isReported && history,
      },
    };
  }
}
