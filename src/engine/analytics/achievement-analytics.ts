import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, secondsOf, SEGMENT } from '../../domain/analytics.ts';
import type { AnalyticsAchievement, AnalyticsAchievements } from '../../domain/analytics-responses.ts';
import { COUNTER, completionsField } from '../../packed/call-fields.ts';
import { readSumsTogether } from '../../postgres/analytics.ts';
import { tenantCounters } from '../../redis/parts.ts';
import { sampledStates, sumsTogether, talliesByDay } from './range-sums.ts';
import { scopeOf, daysOf, type AnalyticsQuery, type AnalyticsOptions } from './analytics-range.ts';
import { found, inWeeks, medianSeconds, progress, shown, sumOf, talliesBy } from './figures.ts';

/** Figures about achievements. */
export function createAchievementAnalytics(options: AnalyticsOptions) {
  const { pool, redis, clock } = options;

  async function achievements(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsAchievements> {
    const scope = await scopeOf(options, compiled, query);
    const everyone = { tenantNo: scope.tenantNo, segment: SEGMENT.everyone, ...inWeeks(scope.days) };
    const [[now, before], byDay, durations, held] = await Promise.all([
      sumsTogether(pool, scope, [COUNTED.completed]),
      talliesByDay(pool, scope, [COUNTED.completed]).then((of) => of(COUNTED.completed)),
      readSumsTogether(pool, { ...everyone, kinds: [COUNTED.durations] }),
      holdersOf(compiled),
    ]);
    const [byNo, byNoBefore] = [talliesBy(now, 'subject'), talliesBy(before, 'subject')];
    return {
      ...scope.days.dates,
      users: held.users,
      days: daysOf(scope.days, (day, dayBefore) => ({
        completed: byDay.events(day),
        completedBefore: byDay.events(dayBefore),
      })),
      achievements: compiled.catalog.achievements.map((achievement) => ({
        ...shown(achievement),
        completed: byNo.events(achievement.no),
        completedBefore: byNoBefore.events(achievement.no),
        holders: held.of(achievement.no),
        medianSeconds: medianSeconds(durations.filter(({ subject }) => subject === achievement.no)),
      })),
    };
  }

  /** An achievement by day and by the time to complete it, and the progress of users who do not have it. 404. */
  async function achievement(
    compiled: CompiledCatalog,
    id: string,
    query: AnalyticsQuery,
  ): Promise<AnalyticsAchievement> {
    const achievement = found(compiled.achievementsById.get(id), 'achievement');
    const scope = await scopeOf(options, compiled, query);
    const everyone = { tenantNo: scope.tenantNo, segment: SEGMENT.everyone, ...inWeeks(scope.days) };
    const [byDay, durations, held, states] = await Promise.all([
      talliesByDay(pool, scope, [COUNTED.completed], achievement.no),
      readSumsTogether(pool, { ...everyone, kinds: [COUNTED.durations], subject: achievement.no }),
      holdersOf(compiled),
      sampledStates(options, scope.tenantNo),
    ]);
    const completed = byDay(COUNTED.completed);
    const days = daysOf(scope.days, (day, dayBefore) => ({
      completed: completed.events(day),
      completedBefore: completed.events(dayBefore),
    }));
    const steps = talliesBy(durations, 'part');
    return {
      ...scope.days.dates,
      ...shown(achievement),
      users: held.users,
      completed: sumOf(days.map((day) => day.completed)),
      completedBefore: sumOf(days.map((day) => day.completedBefore)),
      holders: held.of(achievement.no),
      medianSeconds: medianSeconds(durations),
      days,
      durations: steps.numbers().flatMap((step) => {
        const count = steps.events(step);
        return count === 0 ? [] : [{ seconds: secondsOf(step), completed: count }];
      }),
      sampled: states.length,
      progress: progress(compiled, achievement, states, clock.now()),
    };
  }

  /** Numbers of users: of all, and of those who have an achievement. */
  async function holdersOf({ catalog }: CompiledCatalog): Promise<{ users: number; of: (no: number) => number }> {
    const numbers = catalog.achievements.map(({ no }) => no);
    const fields = [COUNTER.users, ...numbers.map(completionsField)];
    const [users = 0, ...counts] = await tenantCounters(redis, catalog.tenantNo, fields);
    const byNo = new Map(numbers.map((no, index) => [no, counts[index]!]));
    return { users, of: (no) => byNo.get(no) ?? 0 };
  }

  return { achievements, achievement };
}
