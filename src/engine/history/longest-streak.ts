import type { Metric } from '../../domain/catalog.ts';
import type { StreakSettings } from '../../domain/fields/tenant-settings.ts';
import { decimalText, toDecimal, toMicros } from '../../domain/decimal.ts';
import { dateOf, type Days, periodEnd, periodOf, periodStart } from '../../domain/periods.ts';
import type { Settlement } from '../../domain/streaks/settle.ts';
import type { WrappedStreak } from '../../domain/history.ts';
import type { MetricDay } from '../../postgres/history/days.ts';
import type { Streak } from '../../rules/user.ts';
import { periodEndedOn, reachedLengths } from '../../domain/streaks/reached-lengths.ts';

interface StreakHistory {
  settings: StreakSettings;
  metricsById: ReadonlyMap<string, Metric>;
  /** All of the user's days up to the year's end, in order for each metric. */
  metricDays: readonly MetricDay[];
  /** Settlements of the user's streaks in the configured frequency, in order. */
  settlements: readonly Settlement[];
  year: Days;
  /** The current streak in the configured frequency. */
  live: Streak;
}

/**
 * The greatest length to which a streak was extended in a year. `started` is the first day of the streak's first period,
 * possibly before the year. The period is the first one in which the streak reached the length. Periods excused by a freeze
 * or a pause keep a streak together. Anything that was not recorded is derived from the events by today's settings.
 */
export function longestStreak(history: StreakHistory): WrappedStreak {
  const { settings, metricsById, metricDays, settlements, year, live } = history;
  const { frequency, weekStart } = settings;
  const none: WrappedStreak = { length: 0, frequency, periodStart: null, periodEnd: null, started: null };
  const active = metricDays.some(({ day }) => day >= year.fromDay && day <= year.toDay);
  if (!settings.enabled || !active) return none;

  const met = metPeriods(settings, metricsById, metricDays);
  const { reached, excused } = reachedLengths({ met, settlements, live, calendar: settings });
  const firstPeriod = periodOf(year.fromDay, frequency, weekStart);
  const lastPeriod = periodOf(year.toDay, frequency, weekStart);
  let best = { length: 0, period: 0, startDay: 0 };
  for (let period = firstPeriod; period <= lastPeriod; period++) {
    const { length, startDay } = reached.get(period) ?? best;
    if (length > best.length && !excused.has(period)) best = { length, period, startDay };
  }
  // A reset streak may have left its last period to the next one.
  for (const { kind, from, to, length } of settlements) {
    const period = periodEndedOn(to, settings);
    const isOfYear = period >= firstPeriod && period <= lastPeriod && !excused.has(period);
    if (kind !== 'reset' || length === null || !isOfYear) continue;
    if (length > best.length || (length === best.length && period < best.period))
      best = { length, period, startDay: from };
  }
  if (best.length === 0) return none;
  return {
    length: best.length,
    frequency,
    periodStart: dateOf(periodStart(best.period, frequency, weekStart)),
    periodEnd: dateOf(periodEnd(best.period, frequency, weekStart)),
    started: dateOf(best.startDay),
  };
}

/** Indexes of the periods that were met, ascending. A period is met once a day ends with the required sums. */
export function metPeriods(
  { metrics, evaluationMode, frequency, weekStart }: StreakSettings,
  metricsById: ReadonlyMap<string, Metric>,
  metricDays: readonly MetricDay[],
): number[] {
  const periodsOf = (reached: Iterable<MetricDay>): Set<number> => {
    const periods = new Set<number>();
    for (const { day } of reached) periods.add(periodOf(day, frequency, weekStart));
    return periods;
  };
  if (metrics.length === 0) return sorted(periodsOf(metricDays.filter(({ positive }) => positive > 0)));

  const byMetric = metrics.map(({ metricId, threshold }) => {
    const no = metricsById.get(metricId)?.no;
    const needed = toMicros(decimalText(toDecimal(threshold)));
    let current = Number.NaN;
    let sum = 0n;
    return periodsOf(
      metricDays.filter(({ metricNo, day, change }) => {
        if (metricNo !== no) return false;
        const period = periodOf(day, frequency, weekStart);
        if (period !== current) [current, sum] = [period, 0n];
        sum += toMicros(change);
        return sum >= needed;
      }),
    );
  });
  const any = new Set(byMetric.flatMap((periods) => [...periods]));
  if (evaluationMode === 'OR') return sorted(any);
  return sorted([...any].filter((period) => byMetric.every((periods) => periods.has(period))));
}

const sorted = (periods: Iterable<number>): number[] => [...periods].sort((a, b) => a - b);
