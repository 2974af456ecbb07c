import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Activity, ActivityDay, RecentCompletion } from '../../domain/activity.ts';
import { dateOf } from '../../domain/periods.ts';
import { COUNTER } from '../../packed/call-fields.ts';
import { newestCompletions } from '../../postgres/persist/completions.ts';
import { readDays } from '../../postgres/history/activity.ts';
import { countersKey } from '../../redis/keys.ts';
import { userNames } from '../leaderboards/user-names.ts';
import type { CaughtUp } from '../persisted/caught-up.ts';
import { activityDays } from './activity-days.ts';

export interface ActivityReadsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  caughtUp: Pick<CaughtUp, 'tenant'>;
}

/** What happens in a tenant as a whole. What was answered before is in it, unless Postgres is far behind; see `CaughtUp`. */
export class ActivityReads {
  private readonly options: ActivityReadsOptions;

  constructor(options: ActivityReadsOptions) {
    this.options = options;
  }

  /** What happened on each of some UTC days, see `activityDays`. */
  async days(tenantNo: number, asked: { from?: string; to?: string }): Promise<Activity> {
    const { redis, pool, clock, caughtUp } = this.options;
    const { fromDay, toDay } = activityDays(asked, clock.now());
    await caughtUp.tenant(tenantNo);
    const [counted, users] = await Promise.all([
      readDays(pool, { tenantNo, fromDay, toDay }),
      redis.hget(countersKey(tenantNo), COUNTER.users),
    ]);
    const days: ActivityDay[] = [];
    for (let day = fromDay; day <= toDay; day += 1) {
      const { completions: achievementsCompleted = 0, ...counts } = counted.get(day) ?? {};
      days.push({ ...NOTHING, date: dateOf(day), ...counts, achievementsCompleted });
    }
    return { from: dateOf(fromDay), to: dateOf(toDay), users: Number(users ?? 0), days };
  }

  /** The newest completions of achievements that are not deleted, newest first: some 20 at most. */
  async completions(compiled: CompiledCatalog): Promise<RecentCompletion[]> {
    const { redis, pool, caughtUp } = this.options;
    const { tenantNo, achievements } = compiled.catalog;
    await caughtUp.tenant(tenantNo);
    const newest = await newestCompletions(pool, tenantNo);
    const names = await userNames(redis, tenantNo, newest);
    return newest.flatMap(({ userId, achievementNo, at }, index) => {
      const achievement = achievements.find(({ no }) => no === achievementNo);
      if (achievement === undefined) return [];
      return [
        {
          userId,
          userName: names[index] ?? null,
          achievementId: achievement.id,
          achievementName: achievement.name,
          badgeUrl: achievement.badgeUrl ?? null,
          at: at.toISOString(),
        },
      ];
    });
  }
}

const NOTHING: Omit<ActivityDay, 'date'> = {
  events: 0,
  activeUsers: 0,
  newUsers: 0,
  pointsAwarded: 0,
  achievementsCompleted: 0,
};
