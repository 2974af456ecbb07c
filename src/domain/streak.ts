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

/** A streak as `GET /users/{id}/streak` shows it; `extended`: when it last grew. */
export const StreakResponse = Type.Object({
  ...streakFields,
  extended: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  streakHistory: Type.Array(
    Type.Object({
      periodStart: Type.String({ format: 'date' }),
      periodEnd: Type.String({ format: 'date' }),
      length: Type.Integer(),
      usedFreeze: Type.Optional(Type.Boolean()),
      usedPause: Type.Boolean(),
    }),
  ),
  pauses: Type.Array(
    Type.Object({
      id: Type.String({ format: 'uuid' }),
      start: Type.String({ format: 'date' }),
      end: Type.String({ format: 'date' }),
    }),
  ),
});
export type StreakResponse = Static<typeof StreakResponse>;

export const BulkStreakResponse = Type.Array(
  Type.Object({
    userId: Type.String(),
    streakLength: Type.Integer(),
    extended: Type.Union([Type.String(), Type.Null()]),
  }),
);
export type BulkStreakResponse = Static<typeof BulkStreakResponse>;

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

/** A streak as a user's state holds it: as it stood when the user last did something. */
export interface StreakAsLeft {
  length: number;
  startDay: number | null;
  lastPeriod: number | null;
}

/**
 * The streak as it stands in a period: one whose last full period was not met is over. The one place of this rule
 * for reads (`lua/lib/settle_streak.lua` applies it to an event); freezes and pauses that excuse a period belong here.
 */
export function settledStreak({ length, startDay, lastPeriod }: StreakAsLeft, period: number): StreakOnDay {
  const over = length === 0 || startDay === null || lastPeriod === null || lastPeriod < period - 1;
  return over ? { length: 0, startDay: -1, lastPeriod: lastPeriod ?? -1 } : { length, startDay, lastPeriod };
}
