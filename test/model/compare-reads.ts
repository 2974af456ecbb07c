import type { Pool } from 'pg';
import { StreakReads } from '../../src/engine/streaks/streak-reads.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import { wall } from './calendar.ts';
import { CompareBoards } from './compare-boards.ts';
import { ComparePoints } from './compare-points.ts';
import { wire } from './decimals.ts';
import type { LaurelModel } from './laurel-model.ts';
import type { Said } from './seen.ts';
import { stored } from './stored.ts';
import { historyOf, pausesOf } from './streak-answer.ts';
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
  private readonly boards: CompareBoards;

  constructor(engine: TestUsers, model: LaurelModel, pool: Pool) {
    const { redis, users, clock } = engine;
    this.engine = engine;
    this.model = model;
    this.pool = pool;
    this.streaks = new StreakReads({ redis, pool, users, clock });
    this.points = new ComparePoints(engine, model, pool);
    this.boards = new CompareBoards(engine, model);
  }

  async all(): Promise<Said> {
    // What is read from Postgres is there.
    await stored(this.engine.redis, this.pool, this.model.catalog.tenantNo);
    const parts: Said[] = [];
    for (const user of this.model.users.values()) parts.push(await this.user(user), await this.streak(user));
    parts.push(await this.lengths());
    for (const system of this.model.catalog.pointsSystems) {
      parts.push(await this.points.summaries(system));
      for (const user of this.model.users.values()) parts.push(await this.points.ofUser(user, system));
    }
    parts.push(...(await this.boards.all()));
    return { engine: parts.map(({ engine }) => engine), model: parts.map(({ model }) => model) };
  }

  private async user(user: ModelUser): Promise<Said> {
    const { catalog } = this.model;
    const compiled = this.engine.compiled();
    const { tz, attributes, signUpDate } = await this.engine.profiles.get(compiled, user.id);
    const metrics = await this.engine.users.metrics(compiled, user.id);
    const completed = await this.engine.achievements.ofUser(compiled, user.id, false);
    return {
      engine: {
        user: user.id,
        tz,
        signUpDate,
        attributes,
        totals: metrics.map(({ current }) => current),
        completed: completed.map(({ id, achievedAt, completions }) => [id, Date.parse(achievedAt!), completions]),
      },
      model: {
        user: user.id,
        tz: user.tz,
        signUpDate: user.signUp?.date ?? null,
        attributes: user.attributes,
        totals: catalog.metrics.map(({ id }) => wire(totalOf(user, id))),
        completed: catalog.achievements
          .filter(({ id }) => user.completed.has(id))
          .map(({ id }) => [id, user.completed.get(id), this.havers(id)]),
      },
    };
  }

  /** The lengths of all, longest first; those who share one as they were asked for. */
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
    // After a journey a day may have been two days, or none, and so it is where weeks began on another day: which of
    // them a length is shown for is not promised.
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
