import {
  DAY_MS,
  type Days,
  type Frequency,
  periodEnd,
  periodOf,
  periodStart,
  type WeekStart,
} from '../../domain/periods.ts';
import type { MetricDay } from '../../postgres/history/days.ts';

export function daysOfYear(year: number): Days {
  return { fromDay: firstDayOf(year), toDay: firstDayOf(year + 1) - 1 };
}

// Date.UTC maps the years 0 to 99 to 1900 to 1999.
const firstDayOf = (year: number): number => new Date(0).setUTCFullYear(year, 0, 1) / DAY_MS;

/** How often, and when most, a user was active in a year. */
export interface YearActivity {
  /** Local days, weeks and months with an event in the year. */
  daysActive: number;
  weeksActive: number;
  monthsActive: number;
  /** The day with the most events of the year; the earliest if there are several, the year's first if there are no events. */
  day: Days;
  /** A whole week, which may begin before the year or end after it. The year's first week contains 1 January. */
  week: Days;
  month: Days;
}

/** The activity of a year, from the number of events by local day (epoch day), in any order. */
export function yearActivity(
  eventsByDay: ReadonlyMap<number, number>,
  year: number,
  weekStart: WeekStart,
): YearActivity {
  const whole = daysOfYear(year);
  const busiest = (frequency: Frequency): { active: number; days: Days } => {
    const events = new Map<number, number>();
    for (const [day, count] of eventsByDay) {
      if (day < whole.fromDay || day > whole.toDay) continue;
      const period = periodOf(day, frequency, weekStart);
      events.set(period, (events.get(period) ?? 0) + count);
    }
    let best: number | null = null;
    let most = 0;
    for (const [period, count] of events) {
      if (count > most || (count === most && best !== null && period < best)) [best, most] = [period, count];
    }
    return {
      active: events.size,
      days: best === null ? firstPeriod(year, frequency, weekStart) : daysOf(best, frequency, weekStart),
    };
  };
  const [day, week, month] = [busiest('daily'), busiest('weekly'), busiest('monthly')];
  return {
    daysActive: day.active,
    weeksActive: week.active,
    monthsActive: month.active,
    day: day.days,
    week: week.days,
    month: month.days,
  };
}

const daysOf = (period: number, frequency: Frequency, weekStart: WeekStart): Days => ({
  fromDay: periodStart(period, frequency, weekStart),
  toDay: periodEnd(period, frequency, weekStart),
});

function firstPeriod(year: number, frequency: Frequency, weekStart: WeekStart): Days {
  const { fromDay } = daysOfYear(year);
  return frequency === 'monthly'
    ? { fromDay, toDay: fromDay + 30 }
    : daysOf(periodOf(fromDay, frequency, weekStart), frequency, weekStart);
}

/** The preceding day, week, month or year: it ends just before these days begin. */
export function daysBefore(kind: 'day' | 'week' | 'month' | 'year', { fromDay, toDay }: Days): Days {
  const last = fromDay - 1;
  if (kind === 'day' || kind === 'week') return { fromDay: fromDay - (toDay - fromDay + 1), toDay: last };
  const first = new Date(fromDay * DAY_MS);
  if (kind === 'month') first.setUTCMonth(first.getUTCMonth() - 1);
  else first.setUTCFullYear(first.getUTCFullYear() - 1);
  return { fromDay: first.getTime() / DAY_MS, toDay: last };
}

/** Number of events of all metrics on each day. */
export function eventsByDay(metricDays: readonly MetricDay[]): Map<number, number> {
  const events = new Map<number, number>();
  for (const { day, events: count } of metricDays) events.set(day, (events.get(day) ?? 0) + count);
  return events;
}
