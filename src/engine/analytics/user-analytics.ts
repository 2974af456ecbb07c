import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED, mondayOf, monthOf, MOST_VALUES, SEGMENT } from '../../domain/analytics.ts';
import type { AnalyticsSegments, AnalyticsUsers } from '../../domain/analytics-responses.ts';
import { dateOf } from '../../domain/periods.ts';
import { firstDayOf, idsOfUsers, usersWithValue, type AnalyticsSum } from '../../postgres/analytics.ts';
import { readValues } from '../../postgres/analytics-segments.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { sumsOfDays, talliesByDay, userCount } from './range-sums.ts';
import { isControl } from '../responses/users.ts';
import { scopeOf, daysOf, type AnalyticsQuery, type AnalyticsScope, type AnalyticsOptions } from './analytics-range.ts';
import { eventsOn, periodsIn, sumOf } from './figures.ts';

/** How many IDs are read at once to count the users of a group. */
const IDS_AT_ONCE = 5_000;

/** Figures about users, and the segments of them. */
export function createUserAnalytics(options: AnalyticsOptions) {
  const { pool, redis, caughtUp, controlShare, costly } = options;

  /** The segments that a query may select. */
  async function segments({ catalog, userAttributes }: CompiledCatalog): Promise<AnalyticsSegments> {
    await caughtUp.tenant(catalog.tenantNo);
    const values = await readValues(pool, catalog.tenantNo);
    const attributes = [...userAttributes.values()].map(({ no, key, name }) => {
      const own = values.filter(({ attributeNo }) => attributeNo === no);
      return { key, name, values: own.map(({ value }) => value), isFull: own.length >= MOST_VALUES };
    });
    return { controlShare: controlShare(), attributes };
  }

  async function users(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsUsers> {
    const scope = await scopeOf(options, compiled, query);
    const { days } = scope;
    const [byDay, weeks, months, users, countedFrom] = await Promise.all([
      talliesByDay(pool, scope, [COUNTED.activeOnDay, COUNTED.newUsers]),
      sumsOfDays(pool, { ...scope, days: { ...days, fromBefore: mondayOf(days.fromDay) } }, [COUNTED.activeInWeek]),
      sumsOfDays(pool, { ...scope, days: { ...days, fromBefore: monthOf(days.fromDay) } }, [COUNTED.activeInMonth]),
      usersOf(scope),
      scope.segment === SEGMENT.everyone ? null : firstDayOf(pool, scope),
    ]);
    // Who was active before the segment was counted is missing in the period of its first day, and in earlier ones.
    const isPartial = (firstDay: number): boolean =>
      scope.segment !== SEGMENT.everyone && (countedFrom === null || firstDay < countedFrom);
    const period = (sums: AnalyticsSum[], day: number): AnalyticsUsers['weeks'][number] => ({
      date: dateOf(day),
      activeUsers: eventsOn(sums, day),
      isPartial: isPartial(day),
    });
    const active = byDay(COUNTED.activeOnDay);
    const fresh = byDay(COUNTED.newUsers);
    const rows = daysOf(days, (day, before) => ({
      activeUsers: active.events(day),
      activeUsersBefore: active.events(before),
      newUsers: fresh.events(day),
      newUsersBefore: fresh.events(before),
    }));
    return {
      ...days.dates,
      users,
      countedFrom: countedFrom === null ? null : dateOf(countedFrom),
      newUsers: sumOf(rows.map(({ newUsers }) => newUsers)),
      newUsersBefore: sumOf(rows.map(({ newUsersBefore }) => newUsersBefore)),
      days: rows,
      weeks: periodsIn(days, mondayOf).map((day) => period(weeks, day)),
      months: periodsIn(days, monthOf).map((day) => period(months, day)),
    };
  }

  /** Number of users who are in a segment now. */
  async function usersOf({ tenantNo, segment, value }: AnalyticsScope): Promise<number> {
    if (value !== null)
      return costly.run(tenantNo, `users ${value.attributeNo} ${value.value}`, () => usersWithValue(pool, value));
    const users = await userCount(redis, tenantNo);
    if (segment === SEGMENT.everyone) return users;
    const share = controlShare();
    const control = await costly.run(tenantNo, `control users ${share}`, () => controlUsers(tenantNo, share));
    return segment === SEGMENT.control ? control : users - control;
  }

  async function controlUsers(tenantNo: number, share: number): Promise<number> {
    let users = 0;
    for (let after: string | null = null; ;) {
      const ids: string[] = await idsOfUsers(pool, tenantNo, after, IDS_AT_ONCE);
      const inControl = await mappedInSlices(ids, (id) => isControl(id, share));
      users += inControl.filter(Boolean).length;
      if (ids.length < IDS_AT_ONCE) return users;
      after = ids.at(-1)!;
    }
  }

  return { segments, users };
}
