import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { COUNTED } from '../../domain/analytics.ts';
import type { AnalyticsPoints, AnalyticsPointsSystem } from '../../domain/analytics-responses.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { readSums, readSumsByDay, readSumsTogether, type AnalyticsSum } from '../../postgres/analytics.ts';
import { sumsTogether } from './range-sums.ts';
import {
  scopeOf,
  daysOf,
  type Tallies,
  type AnalyticsQuery,
  type AnalyticsScope,
  type AnalyticsOptions,
} from './analytics-range.ts';
import { balanceChangesOf, balanceOfAll, changesUpTo, netUpTo, type BalanceChanges } from './balance-figures.ts';
import { groupedBy } from '../../grouped.ts';
import { bothMoved, bothSpent, bySubject, found, inRange, sumOf, talliesBy } from './figures.ts';
import { epochDay } from '../../domain/periods.ts';

/** Of all users in a points system. */
interface Standing {
  net: number;
  held: number;
  balance: number;
}

/** Figures about points. */
export function createPointsAnalytics(options: AnalyticsOptions) {
  const { pool, clock } = options;

  /** Points of all systems. `net` and `balance` are those at the end of the range, or now if it ends today. */
  async function points(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsPoints> {
    const scope = await scopeOf(options, compiled, query);
    const kinds = [COUNTED.awarded, COUNTED.taken];
    const [[now, before], [changes, changesBefore], end] = await Promise.all([
      sumsTogether(pool, scope, kinds),
      sumsTogether(pool, scope, [COUNTED.balanceChanges]),
      standingAt(scope, scope.days.toDay),
    ]);
    const systems = compiled.catalog.pointsSystems.map(({ id, key, name, no }) => {
      const ofSystem = (sums: AnalyticsSum[]): AnalyticsSum[] => sums.filter(({ part }) => part === no);
      const changed = (sums: AnalyticsSum[]): BalanceChanges =>
        balanceChangesOf(sums.filter(({ subject }) => subject === no));
      return {
        id,
        key,
        name,
        ...bothMoved(ofSystem(now), ofSystem(before)),
        ...bothSpent(changed(changes), changed(changesBefore)),
        ...end(no),
      };
    });
    return { ...scope.days.dates, systems };
  }

  /** A points system by day and trigger, and the current distribution of points. 404. */
  async function pointsSystem(
    compiled: CompiledCatalog,
    id: string,
    query: AnalyticsQuery,
  ): Promise<AnalyticsPointsSystem> {
    const system = found(compiled.pointsSystemsById.get(id), 'points system');
    const scope = await scopeOf(options, compiled, query);
    const { days } = scope;
    const kinds = [COUNTED.awarded, COUNTED.taken];
    const ofSystem = { tenantNo: scope.tenantNo, segment: scope.segment, kinds, part: system.no };
    const before = { fromDay: days.fromBefore, toDay: days.fromDay - 1 };
    const changesOf = { tenantNo: scope.tenantNo, segment: scope.segment, subject: system.no };
    const balanceKinds = [COUNTED.balanceChanges, COUNTED.holdsEnded];
    const [now, then, dailyBefore, changes, changesBefore, start, end, ranges, levels] = await Promise.all([
      readSums(pool, { ...ofSystem, ...inRange(days) }),
      readSumsTogether(pool, { ...ofSystem, ...before }),
      readSumsByDay(pool, { ...ofSystem, ...before }),
      readSums(pool, { ...changesOf, kinds: balanceKinds, ...inRange(days) }),
      readSumsTogether(pool, { ...changesOf, kinds: [COUNTED.balanceChanges], ...before }),
      standingAt(scope, days.fromDay - 1),
      standingAt(scope, days.toDay),
      options.points.summary(compiled, system.key, query.userAttributes),
      levelsOf(compiled, system, query),
    ]);
    const [awarded, taken] = [COUNTED.awarded, COUNTED.taken].map((wanted) =>
      talliesBy(
        [...now, ...dailyBefore].filter(({ kind }) => kind === wanted),
        'day',
      ),
    ) as [Tallies, Tallies];
    const [byTriggerNow, byTriggerThen] = [bySubject(now), bySubject(then)];
    const changesByDay = groupedBy(changes, ({ day }) => day);
    let { net, held, balance } = start(system.no);
    return {
      ...days.dates,
      id,
      key: system.key,
      name: system.name,
      ...bothMoved(now, then),
      ...bothSpent(balanceChangesOf(changes), balanceChangesOf(changesBefore)),
      ...end(system.no),
      days: daysOf(days, (day, dayBefore) => {
        const changed = balanceChangesOf(changesByDay.get(day) ?? []);
        const { spent, refunded, expired } = changed;
        const row = {
          awarded: microsNumber(awarded.value(day)),
          awardedBefore: microsNumber(awarded.value(dayBefore)),
          taken: microsNumber(taken.value(day)),
          takenBefore: microsNumber(taken.value(dayBefore)),
        };
        net += row.awarded - row.taken;
        held += changed.held;
        balance += balanceOfAll(row.awarded - row.taken, changed);
        const standing = day === days.toDay ? end(system.no) : { net, held, balance };
        return { ...row, spent, refunded, expired, ...standing };
      }),
      triggers: [...new Set([...byTriggerNow.keys(), ...byTriggerThen.keys()])].map((no) => {
        const trigger = compiled.triggersByNo.get(no);
        const [ownNow, ownThen] = [byTriggerNow.get(no) ?? [], byTriggerThen.get(no) ?? []];
        const awarded = talliesBy(
          ownNow.filter(({ kind }) => kind === COUNTED.awarded),
          'day',
        );
        return {
          id: trigger?.id ?? null,
          type: trigger?.type ?? null,
          awards: sumOf(ownNow.map(({ events }) => events)),
          ...bothMoved(ownNow, ownThen),
          days: Array.from({ length: days.toDay - days.fromDay + 1 }, (_, at) =>
            microsNumber(awarded.value(days.fromDay + at)),
          ),
        };
      }),
      ranges,
      levels,
    };
  }

  /** Points awarded and not taken, held, and left to spend at the end of a day, by points system. */
  async function standingAt(
    { tenantNo, segment }: AnalyticsScope,
    day: number,
  ): Promise<(systemNo: number) => Standing> {
    const scope = { tenantNo, segment, day, today: epochDay(clock.now()) };
    const [netOf, changesOf] = await Promise.all([netUpTo(pool, scope), changesUpTo(pool, scope)]);
    return (systemNo) => {
      const [net, changes] = [netOf(systemNo), changesOf(systemNo)];
      return { net, held: changes.held, balance: balanceOfAll(net, changes) };
    };
  }

  async function levelsOf(
    compiled: CompiledCatalog,
    { id, key }: PointsSystem,
    query: AnalyticsQuery,
  ): Promise<AnalyticsPointsSystem['levels']> {
    if ((compiled.levels.get(id) ?? []).length === 0 || query.userAttributes !== undefined) return [];
    const levels = await options.points.levelSummary(compiled, key);
    return levels.map(({ level, users }) => ({ id: level.id, name: level.name, users }));
  }

  return { points, pointsSystem };
}
