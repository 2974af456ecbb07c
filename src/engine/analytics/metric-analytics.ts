import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, mondayOf, SEGMENT, valuesOfSize, WEEK_DAYS } from '../../domain/analytics.ts';
import type { AnalyticsMetric, AnalyticsMetrics } from '../../domain/analytics-responses.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { dateOf } from '../../domain/periods.ts';
import { readSums, readSumsTogether, topValues, type AnalyticsSum } from '../../postgres/analytics.ts';
import { firstIdOf } from '../../postgres/partitions.ts';
import { AppError } from '../../errors.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { sumsOfDays, talliesByDay } from './range-sums.ts';
import { scopeOf, daysOf, type AnalyticsQuery, type AnalyticsScope, type AnalyticsOptions } from './analytics-range.ts';
import { bySubject, eventsOn, found, inRange, periodsIn, sumOf, talliesBy } from './figures.ts';

/** How many of the newest events, of all tenants, are searched for values of attributes. */
const NEWEST_EVENTS = 20_000;
const TOP_VALUES = 50;
/** Longest range in which the list of metrics has each day: a tenant has up to 10,000 of them. */
const MOST_DAYS_OF_EACH = 31;

/** Figures about metrics. */
export function createMetricAnalytics(options: AnalyticsOptions) {
  const { pool, costly } = options;

  /** All metrics; with `days`, the events of each on each day. 422 if these are too many days. */
  async function metrics(
    compiled: CompiledCatalog,
    query: AnalyticsQuery & { days: boolean },
  ): Promise<AnalyticsMetrics> {
    const scope = await scopeOf(options, compiled, query);
    const { tenantNo, segment, days } = scope;
    const length = days.toDay - days.fromDay + 1;
    if (query.days && length > MOST_DAYS_OF_EACH)
      throw new AppError('unprocessable', `days=true is for a range of at most ${MOST_DAYS_OF_EACH} days.`);
    const counted = { tenantNo, segment, kinds: [COUNTED.events] };
    const [now, before] = await Promise.all([
      (query.days ? readSums : readSumsTogether)(pool, { ...counted, ...inRange(days) }),
      readSumsTogether(pool, { ...counted, fromDay: days.fromBefore, toDay: days.fromDay - 1 }),
    ]);
    const [sums, sumsBefore] = [talliesBy(now, 'subject'), talliesBy(before, 'subject')];
    const dailySums = query.days ? bySubject(now) : new Map<number, AnalyticsSum[]>();
    const metrics = await mappedInSlices(compiled.catalog.metrics, ({ id, key, name, units, no }) => {
      const daily = talliesBy(dailySums.get(no) ?? [], 'day');
      return {
        id,
        key,
        name,
        units,
        events: sums.events(no),
        eventsBefore: sumsBefore.events(no),
        value: microsNumber(sums.value(no)),
        valueBefore: microsNumber(sumsBefore.value(no)),
        ...(query.days && { days: Array.from({ length }, (_, at) => daily.events(days.fromDay + at)) }),
      };
    });
    return { ...days.dates, metrics };
  }

  /** A metric by day, per active user by week, by the size of values, and by attributes of its newest events. 404. */
  async function metric(compiled: CompiledCatalog, id: string, query: AnalyticsQuery): Promise<AnalyticsMetric> {
    const metric = found(compiled.metricsById.get(id), 'metric');
    const scope = await scopeOf(options, compiled, query);
    const { days, tenantNo } = scope;
    const weeks = periodsIn(days, mondayOf);
    const ofWeeks = { fromBefore: weeks[0]!, fromDay: weeks[0]!, toDay: weeks.at(-1)! + WEEK_DAYS - 1 };
    const everyone = { tenantNo, segment: SEGMENT.everyone };
    const [byDay, byWeek, active, sizes, top] = await Promise.all([
      talliesByDay(pool, scope, [COUNTED.events], metric.no),
      sumsOfDays(pool, { ...scope, days: { ...days, ...ofWeeks } }, [COUNTED.events], metric.no),
      sumsOfDays(pool, { ...scope, days: { ...days, ...ofWeeks } }, [COUNTED.activeInWeek]),
      readSumsTogether(pool, { ...everyone, ...inRange(days), kinds: [COUNTED.sizes], subject: metric.no }),
      newestValues(scope, metric.no),
    ]);
    const events = byDay(COUNTED.events);
    const bySize = talliesBy(sizes, 'part');
    const total = (from: number, to: number): { events: number; value: number } => ({
      events: sumOf(events.numbers().map((day) => (day >= from && day <= to ? events.events(day) : 0))),
      value: microsNumber(
        events.numbers().reduce((sum, day) => (day >= from && day <= to ? sum + events.value(day) : sum), 0n),
      ),
    });
    const [now, before] = [total(days.fromDay, days.toDay), total(days.fromBefore, days.fromDay - 1)];
    return {
      ...days.dates,
      id,
      key: metric.key,
      name: metric.name,
      units: metric.units,
      events: now.events,
      eventsBefore: before.events,
      value: now.value,
      valueBefore: before.value,
      days: daysOf(days, (day, dayBefore) => ({
        events: events.events(day),
        eventsBefore: events.events(dayBefore),
        value: microsNumber(events.value(day)),
        valueBefore: microsNumber(events.value(dayBefore)),
      })),
      weeks: weeks.map((week) => {
        const ofWeek = byWeek.filter(({ day }) => day >= week && day < week + WEEK_DAYS);
        const value = microsNumber(ofWeek.reduce((sum, row) => sum + row.value, 0n));
        const activeUsers = eventsOn(active, week);
        return { date: dateOf(week), activeUsers, value, perUser: activeUsers === 0 ? null : value / activeUsers };
      }),
      sizes: bySize.numbers().flatMap((size) => {
        const count = bySize.events(size);
        return count === 0 ? [] : [{ ...valuesOfSize(size), events: count }];
      }),
      attributes: top.values,
      attributeEvents: top.events,
    };
  }

  function newestValues({ tenantNo, days }: AnalyticsScope, metricNo: number): ReturnType<typeof topValues> {
    const range = { fromId: firstIdOf(days.fromDay), toId: firstIdOf(days.toDay + 1) };
    return costly.run(tenantNo, `top values ${metricNo} ${days.fromDay} ${days.toDay}`, () =>
      topValues(pool, { tenantNo, metricNo, ...range, newest: NEWEST_EVENTS, limit: TOP_VALUES }),
    );
  }

  return { metrics, metric };
}
