import { Type, type Static } from 'typebox';
import { UserAchievementResponse } from './achievement.ts';
import { MetricEventLeaderboardResponse } from './leaderboard.ts';
import { MetricEventPointsResponse } from './points.ts';
import { MetricEventStreak } from './streak.ts';
import { StringMap, UpsertedUser } from './user.ts';

/** Largest magnitude of an event's value. */
export const MAX_VALUE = 1e12;

export const MetricEvent = Type.Object({
  user: UpsertedUser,
  value: Type.Number({ minimum: -MAX_VALUE, maximum: MAX_VALUE }),
  attributes: Type.Optional(StringMap),
});
export type MetricEvent = Static<typeof MetricEvent>;

const byKey = <T extends Type.TSchema>(schema: T) =>
  Type.Unsafe<Record<string, Static<T>>>({ type: 'object', additionalProperties: schema });

/** A completion of an achievement by call, and the points that it brought. */
export const AchievementCompletionResponse = Type.Object({
  completionId: Type.String(),
  achievement: UserAchievementResponse,
  points: byKey(MetricEventPointsResponse),
});
export type AchievementCompletionResponse = Static<typeof AchievementCompletionResponse>;

/** What an event changed for its user. */
export const EventResponse = Type.Object({
  eventId: Type.String(),
  metricId: Type.String(),
  total: Type.Number(),
  achievements: Type.Array(UserAchievementResponse),
  currentStreak: MetricEventStreak,
  points: byKey(MetricEventPointsResponse),
  leaderboards: byKey(MetricEventLeaderboardResponse),
  idempotencyKey: Type.Optional(Type.String()),
  idempotentReplayed: Type.Optional(Type.Boolean()),
});
export type EventResponse = Static<typeof EventResponse>;
