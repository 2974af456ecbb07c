import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED } from '../../domain/analytics.ts';
import type { AnalyticsStreaks } from '../../domain/analytics-responses.ts';
import { FREQUENCIES } from '../../domain/periods.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { sampledStates, sumsOfDays, userCount } from './range-sums.ts';
import { settledNow } from '../responses/streaks.ts';
import { scopeOf, daysOf, type Tallies, type AnalyticsQuery, type AnalyticsOptions } from './analytics-range.ts';
import { lengthRanges, talliesBy } from './figures.ts';

/** Figures about streaks. */
export function createStreakAnalytics(options: AnalyticsOptions) {
  const { pool, redis, clock } = options;

  /** Changes of streaks by day, and the current distribution of lengths. */
  async function streaks(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsStreaks> {
    const scope = await scopeOf(options, compiled, query);
    const { frequency } = compiled.catalog.streaks;
    const subject = FREQUENCIES.indexOf(frequency) + 1;
    const [extended, changes, users, states] = await Promise.all([
      sumsOfDays(pool, scope, [COUNTED.streaksExtended]),
      sumsOfDays(pool, scope, [COUNTED.streakChanges], subject),
      userCount(redis, scope.tenantNo),
      sampledStates(options, scope.tenantNo),
    ]);
    const ofKind = (kind: number): Tallies =>
      talliesBy(
        changes.filter(({ part }) => part === kind),
        'day',
      );
    const [byDay, lost, frozen] = [talliesBy(extended, 'day'), ofKind(SETTLED.lost), ofKind(SETTLED.freeze)];
    const nowMs = clock.now();
    const lengths = await mappedInSlices(
      states,
      (state) => settledNow(compiled, state, nowMs).streaks[frequency].length,
    );
    return {
      ...scope.days.dates,
      users,
      days: daysOf(scope.days, (day, before) => ({
        extended: byDay.events(day),
        extendedBefore: byDay.events(before),
        lost: lost.events(day),
        lostBefore: lost.events(before),
        frozen: frozen.events(day),
        frozenBefore: frozen.events(before),
      })),
      sampled: states.length,
      lengths: lengthRanges(lengths),
    };
  }

  return { streaks };
}
