import { Type, type Static } from 'typebox';
import { LocalDate, Nullable, Uuid } from './schemas.ts';

/** Most days per answer. */
export const MAX_DAYS = 366;

/** A tenant's activity on a UTC day. */
export const ActivityDay = Type.Object({
  date: LocalDate,
  events: Type.Integer(),
  activeUsers: Type.Integer(),
  newUsers: Type.Integer(),
  pointsAwarded: Type.Number(),
  achievementsCompleted: Type.Integer(),
});
export type ActivityDay = Static<typeof ActivityDay>;

export const Activity = Type.Object({
  from: LocalDate,
  to: LocalDate,
  users: Type.Integer(),
  days: Type.Array(ActivityDay),
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
