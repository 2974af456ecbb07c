import { type Static, Type } from 'typebox';
import { AdminIssue, DeletedResources } from '../administration/admin.ts';
import { dateOf, FREQUENCIES, type Frequency, periodEnd, periodOf, periodStart, type WeekStart } from '../periods.ts';
import { INSTEAD_OF_NULL, LocalDate, Nullable, Uuid } from '../schemas.ts';
import { UserId } from '../user.ts';

export const streakFields = {
  length: Type.Integer(),
  frequency: Type.Enum([...FREQUENCIES]),
  started: Nullable(LocalDate),
  periodStart: Nullable(LocalDate),
  periodEnd: Nullable(LocalDate),
  expires: Nullable(LocalDate),
  freezes: Type.Optional(Type.Integer()),
  maxFreezes: Type.Optional(Type.Integer()),
  freezeAutoEarnInterval: Type.Optional(Type.Integer()),
  freezeAutoEarnAmount: Type.Optional(Type.Integer()),
};

export const MetricEventStreak = Type.Object({ ...streakFields, extended: Type.Boolean() });

/** The answer of `GET /users/{id}/streak`. `extended`: when the streak last grew. */
export const StreakResponse = Type.Object({
  ...streakFields,
  extended: Nullable(Type.String({ format: 'date-time' }), { [INSTEAD_OF_NULL]: null }),
  streakHistory: Type.Array(
    Type.Object({
      periodStart: LocalDate,
      periodEnd: LocalDate,
      length: Type.Integer(),
      usedFreeze: Type.Optional(Type.Boolean()),
      usedPause: Type.Boolean(),
      resetAt: Type.Optional(Type.String({ format: 'date-time' })),
    }),
  ),
  pauses: Type.Array(
    Type.Object({
      id: Uuid,
      start: LocalDate,
      end: LocalDate,
    }),
  ),
});
export type StreakResponse = Static<typeof StreakResponse>;

export const BulkStreakResponse = Type.Array(
  Type.Object({
    userId: Type.String(),
    streakLength: Type.Integer(),
    extended: Nullable(Type.String(), { [INSTEAD_OF_NULL]: '' }),
  }),
);
export type BulkStreakResponse = Static<typeof BulkStreakResponse>;

export const StreakRankingType = Type.Enum(['active', 'longest'], { default: 'active' });
export type StreakRankingType = Static<typeof StreakRankingType>;

export const StreakRankings = Type.Array(
  Type.Object({
    userId: Type.String(),
    name: Nullable(Type.String()),
    streakLength: Type.Integer(),
  }),
);
export type StreakRankings = Static<typeof StreakRankings>;

/** The dates of a settled streak; `null` at length 0. `offDays`: days off that directly follow `expires`. */
export function streakDates(
  { length, startDay, lastPeriod }: StreakAsLeft,
  { day, frequency, weekStart, offDays }: { day: number; frequency: Frequency; weekStart: WeekStart; offDays: number },
): {
  started: string | null;
  periodStart: string | null;
  periodEnd: string | null;
  expires: string | null;
} {
  if (length === 0 || startDay === null) return { started: null, periodStart: null, periodEnd: null, expires: null };
  const period = periodOf(day, frequency, weekStart);
  const last = Math.max((lastPeriod ?? -1) + 1, period);
  return {
    started: dateOf(startDay),
    periodStart: dateOf(periodStart(period, frequency, weekStart)),
    periodEnd: dateOf(periodEnd(period, frequency, weekStart)),
    expires: dateOf(periodEnd(last, frequency, weekStart) + offDays),
  };
}

/** A streak in a user's state, as of its last settlement (`settle.ts`). */
export interface StreakAsLeft {
  length: number;
  /** First day (epoch day) of its first period; `null` at length 0. */
  startDay: number | null;
  /** Index of the last period that was met or excused; `null` if there never was one. */
  lastPeriod: number | null;
}

export const StreakFreezeItem = Type.Object({ userId: UserId });
export const StreakPauseItem = Type.Object({ userId: UserId, start: LocalDate, end: LocalDate });
export type StreakPauseItem = Static<typeof StreakPauseItem>;
/** A user whose streak to restore or reset. */
export const StreakUserItem = Type.Object({ id: UserId });

/** A pause of a user's streaks; both local days are included. */
export const AdminStreakPause = Type.Object({
  id: Uuid,
  userId: Type.String(),
  start: LocalDate,
  end: LocalDate,
  status: Type.Enum(['active', 'archived']),
});
export type AdminStreakPause = Static<typeof AdminStreakPause>;

export const CreatedStreakFreezes = Type.Object({ issues: Type.Array(AdminIssue) });
export const CreatedStreakPauses = Type.Object({
  created: Type.Array(AdminStreakPause),
  issues: Type.Array(AdminIssue),
});
export const DeletedStreakPauses = DeletedResources;
export const RestoredStreaks = Type.Object({
  restoredUsers: Type.Array(Type.String()),
  issues: Type.Array(AdminIssue),
});
export const ResetStreaks = Type.Object({
  resetUsers: Type.Array(Type.String()),
  issues: Type.Array(AdminIssue),
});
