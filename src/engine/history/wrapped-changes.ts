import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { type Micros, microsNumber, toMicros, decimalText, ZERO } from '../../domain/decimal.ts';
import type { Days } from '../../domain/periods.ts';
import type { WrappedMetric, WrappedPoints } from '../../domain/history.ts';
import type { AttributeSum, MetricDay, PointsDay } from '../../postgres/history/days.ts';
import type { User } from '../../rules/user.ts';
import { Slices } from '../../pacing/slices.ts';

/** Returns the percentile of a change. `no`: number of the metric or points system. */
export type Percentile = (no: number, change: number) => number;

/** A period of a wrapped year, and the period before it. */
export interface ComparedDays {
  days: Days;
  before: Days;
}

/** Change in percent with two decimals. From 0: 100 for an increase, −100 for a decrease. */
export function percentChange(change: Micros, before: Micros): number {
  if (before === 0n) return change > 0n ? 100 : change < 0n ? -100 : 0;
  const size = before < 0n ? -before : before;
  return Math.round((microsNumber(change - before) / microsNumber(size)) * 10_000) / 100;
}

interface Sums {
  /** Whether the period has any events or awards. */
  any: boolean;
  change: Micros;
  before: Micros;
}

/** Sums by number, without inactive ones, in ascending order: if two have the same key, the newer one wins. */
function sumsByNo<T extends { day: number; change: string }>(
  rows: readonly T[],
  no: (row: T) => number,
  { days, before }: ComparedDays,
): [number, Sums][] {
  const sums = new Map<number, Sums>();
  for (const row of rows) {
    const inside = row.day >= days.fromDay && row.day <= days.toDay;
    if (!inside && (row.day < before.fromDay || row.day > before.toDay)) continue;
    const sum = sums.get(no(row)) ?? { any: false, change: 0n, before: 0n };
    sums.set(no(row), sum);
    if (inside) sum.any = true;
    sum[inside ? 'change' : 'before'] += toMicros(row.change);
  }
  return [...sums].filter(([, { any }]) => any).sort(([a], [b]) => a - b);
}

const changeFields = (current: string, { change, before }: Sums) => ({
  currentTotal: Number(current),
  changeThisPeriod: microsNumber(change),
  percentChange: percentChange(change, before),
});

/** `changeFields` of texts, of which most are short. */
function changeFieldsOf(current: string, change: string, before: string): ReturnType<typeof changeFields> {
  if (before !== '') return changeFields(current, { any: true, change: toMicros(change), before: toMicros(before) });
  const changeThisPeriod = Number(change);
  return { currentTotal: Number(current), changeThisPeriod, percentChange: 100 * Math.sign(changeThisPeriod) };
}

interface MetricChanges extends ComparedDays {
  rows: readonly MetricDay[];
  attributes: AttributeChanges;
  state: User;
  /** `null` for a day. */
  percentile: Percentile | null;
}

/** In slices, because there may be many values of attributes. */
export async function wrappedMetrics(
  compiled: CompiledCatalog,
  changes: MetricChanges,
): Promise<Record<string, WrappedMetric>> {
  const { rows, attributes, state, percentile } = changes;
  const slices = new Slices();
  const metrics: [string, WrappedMetric][] = [];
  for (const [no, sums] of sumsByNo(rows, ({ metricNo }) => metricNo, changes)) {
    const metric = compiled.metricsByNo.get(no);
    if (metric === undefined) continue;
    const fields = changeFields(decimalText(state.totals.get(no) ?? ZERO), sums);
    const named = { name: metric.name, units: metric.units === '' ? null : metric.units };
    const shown = {
      ...named,
      ...fields,
      ...(percentile !== null && { percentileThisPeriod: percentile(no, fields.changeThisPeriod) }),
      byAttribute: await byAttribute({ ...attributes, metricNo: no, named }, slices),
    };
    metrics.push([metric.key, shown]);
  }
  // Not by assignment, since `__proto__` is a valid key.
  return Object.fromEntries(metrics);
}

/** Sums by metric and key of the attribute. */
export type AttributeSums = ReadonlyMap<number, ReadonlyMap<string, readonly AttributeSum[]>>;

/** Sums by attribute value for each metric, and the windows of the period, the one before, and all time. */
export interface AttributeChanges {
  sums: AttributeSums;
  ever: number;
  period: number;
  before: number;
}

async function byAttribute(
  { sums, ever, period, before, metricNo, named }: AttributeChanges & { metricNo: number; named: object },
  slices: Slices,
): Promise<WrappedMetric['byAttribute']> {
  const attributes: [string, Record<string, WrappedMetric['byAttribute'][string][string]>][] = [];
  for (const [key, values] of sums.get(metricNo) ?? []) {
    const shown = values.filter((each) => (each.shown & (1 << period)) !== 0);
    const entries = shown.map(({ value, changes }) => {
      const fields = changeFieldsOf(changes[ever]!, changes[period]!, changes[before]!);
      return [value, { ...named, ...fields }] as const;
    });
    if (entries.length > 0) attributes.push([key, Object.fromEntries(entries)]);
    if (slices.over) await slices.turn();
  }
  return Object.fromEntries(attributes);
}

interface PointsChanges extends ComparedDays {
  rows: readonly PointsDay[];
  state: User;
  percentile: Percentile | null;
}

export function wrappedPoints(compiled: CompiledCatalog, changes: PointsChanges): Record<string, WrappedPoints> {
  const points = sumsByNo(changes.rows, ({ systemNo }) => systemNo, changes).flatMap(
    ([no, sums]): [string, WrappedPoints][] => {
      const system = compiled.pointsSystemsByNo.get(no);
      if (system === undefined) return [];
      const fields = changeFields(String(changes.state.points.get(no) ?? 0), sums);
      const shown = {
        name: system.name,
        description: system.description,
        ...fields,
        ...(changes.percentile !== null && { percentileThisPeriod: changes.percentile(no, fields.changeThisPeriod) }),
      };
      return [[system.key, shown]];
    },
  );
  return Object.fromEntries(points);
}
