import { Type, type Static } from 'typebox';
import { dateOf, periodEnd, periodOf, periodStart, type Frequency, type WeekStart } from './periods.ts';

const NullableDate = Type.Union([Type.String({ format: 'date' }), Type.Null()]);

export const streakFields = {
  length: Type.Integer(),
  frequency: Type.Enum(['daily', 'weekly', 'monthly']),
  started: NullableDate,
  periodStart: NullableDate,
  periodEnd: NullableDate,
  expires: NullableDate,
  freezes: Type.Optional(Type.Integer()),
  maxFreezes: Type.Optional(Type.Integer()),
  freezeAutoEarnInterval: Type.Optional(Type.Integer()),
  freezeAutoEarnAmount: Type.Optional(Type.Integer()),
};

export const MetricEventStreak = Type.Object({ ...streakFields, extended: Type.Boolean() });
export type MetricEventStreak = Static<typeof MetricEventStreak>;

/** A streak at a local day, in one frequency. */
export interface StreakOnDay {
  length: number;
  /** First day (epoch day) of its first period. */
  startDay: number;
  /** Index of the last period that was met. */
  lastPeriod: number;
}

/** The dates of a streak: null at length 0; `expires` is the last day on which acting still keeps it. */
export function streakDates(
  streak: StreakOnDay,
  { day, frequency, weekStart }: { day: number; frequency: Frequency; weekStart: WeekStart },
): {
  started: string | null;
  periodStart: string | null;
  periodEnd: string | null;
  expires: string | null;
} {
  if (streak.length === 0) return { started: null, periodStart: null, periodEnd: null, expires: null };
  const period = periodOf(day, frequency, weekStart);
  const last = streak.lastPeriod >= period ? period + 1 : period;
  return {
    started: dateOf(streak.startDay),
    periodStart: dateOf(periodStart(period, frequency, weekStart)),
    periodEnd: dateOf(periodEnd(period, frequency, weekStart)),
    expires: dateOf(periodEnd(last, frequency, weekStart)),
  };
}
