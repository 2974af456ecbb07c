/** A user's history: activity, event summaries, and the year in review. */
import { FREQUENCIES } from './periods.ts';
import { type Static, Type } from 'typebox';
import { UserAchievementResponse } from './achievement.ts';
import { BoardStatus, leaderboardFields } from './leaderboard.ts';
import { byKey, LocalDate, Nullable, NullableWholeNumber, Uuid } from './schemas.ts';
import { User } from './user.ts';

const change = {
  currentTotal: Type.Number(),
  changeThisPeriod: Type.Number(),
  percentChange: Type.Number(),
  percentileThisPeriod: Type.Optional(Type.Number()),
};

const WrappedAttributeValue = Type.Object({
  name: Type.Optional(Type.String()),
  units: Type.Optional(Nullable(Type.String())),
  currentTotal: Type.Optional(Type.Number()),
  changeThisPeriod: Type.Optional(Type.Number()),
  percentChange: Type.Optional(Type.Number()),
  percentileThisPeriod: Type.Optional(Type.Number()),
});

const WrappedMetric = Type.Object({
  name: Type.String(),
  units: Type.Optional(Nullable(Type.String())),
  ...change,
  byAttribute: byKey(byKey(WrappedAttributeValue)),
});
export type WrappedMetric = Static<typeof WrappedMetric>;

const WrappedPoints = Type.Object({
  name: Type.String(),
  description: Type.Optional(Nullable(Type.String())),
  ...change,
});
export type WrappedPoints = Static<typeof WrappedPoints>;

const WrappedLeaderboard = Type.Object({
  ...leaderboardFields,
  status: BoardStatus,
  rank: Nullable(Type.Integer()),
  // A decimal metric has decimal scores.
  value: NullableWholeNumber(),
});
export type WrappedLeaderboard = Static<typeof WrappedLeaderboard>;

const activity = {
  metrics: byKey(WrappedMetric),
  points: byKey(WrappedPoints),
  achievements: Type.Array(UserAchievementResponse),
  leaderboards: byKey(WrappedLeaderboard),
};

const WrappedActivityPeriod = Type.Object(activity);
export type WrappedActivityPeriod = Static<typeof WrappedActivityPeriod>;

const WrappedStreak = Type.Object({
  length: Type.Integer(),
  frequency: Type.Enum([...FREQUENCIES]),
  periodStart: Nullable(LocalDate),
  periodEnd: Nullable(LocalDate),
  started: Nullable(LocalDate),
});
export type WrappedStreak = Static<typeof WrappedStreak>;

export const WrappedResponse = Type.Object({
  user: User,
  activity: Type.Object({
    daysActive: Type.Integer(),
    weeksActive: Type.Integer(),
    monthsActive: Type.Integer(),
    mostActiveDay: Type.Object({ ...activity, date: LocalDate }),
    mostActiveWeek: Type.Object({ ...activity, start: LocalDate, end: LocalDate }),
    mostActiveMonth: Type.Object({ ...activity, month: Type.Integer({ minimum: 0, maximum: 11 }) }),
    entireYear: Type.Object({ ...activity, longestStreak: WrappedStreak }),
  }),
});
export type WrappedResponse = Static<typeof WrappedResponse>;

export const MAX_DAYS = 366;

export const ActivityDay = Type.Object({
  date: LocalDate,
  events: Type.Integer(),
  eventsReceived: Type.Integer(),
  activeUsers: Type.Integer(),
  newUsers: Type.Integer(),
  achievementsCompleted: Type.Integer(),
});
export type ActivityDay = Static<typeof ActivityDay>;

export const Activity = Type.Object({
  from: LocalDate,
  to: LocalDate,
  users: Type.Integer(),
  days: Type.Array(ActivityDay),
  pointsSystems: Type.Array(
    Type.Object({ id: Uuid, key: Type.String(), name: Type.String(), awarded: Type.Array(Type.Number()) }),
  ),
});
export type Activity = Static<typeof Activity>;

export const RecentCompletion = Type.Object({
  userId: Type.String(),
  userName: Nullable(Type.String()),
  achievementId: Uuid,
  achievementName: Type.String(),
  badgeUrl: Nullable(Type.String()),
  at: Type.String({ format: 'date-time' }),
});
export type RecentCompletion = Static<typeof RecentCompletion>;

export const EventSummaryQuery = Type.Object({
  aggregation: Type.Enum([...FREQUENCIES]),
  startDate: LocalDate,
  endDate: LocalDate,
});
export type EventSummaryQuery = Static<typeof EventSummaryQuery>;

/** One period: its first day, the total at its end, and the change within it. */
export const EventSummaryEntry = Type.Object({
  date: LocalDate,
  total: Type.Number(),
  change: Type.Number(),
});
export type EventSummaryEntry = Static<typeof EventSummaryEntry>;
