import { Type, type Static } from 'typebox';
import { INSTEAD_OF_NULL, Nullable, OLDER_VALUES } from './schemas.ts';

export const KeyValue = Type.Object({ key: Type.String(), value: Type.String() });

export const achievementFields = {
  id: Type.String(),
  name: Type.String(),
  // Older clients see an anniversary as `api`: neither an event nor a streak completes it.
  trigger: Type.Enum(['metric', 'streak', 'api', 'achievement', 'anniversary'], {
    [OLDER_VALUES]: { anniversary: 'api' },
  }),
  description: Type.Union([Type.String(), Type.Null()]),
  badgeUrl: Type.Union([Type.String(), Type.Null()]),
  key: Type.Optional(Type.String()),
  streakLength: Type.Optional(Type.Integer()),
  anniversaryYears: Type.Optional(Type.Integer()),
  achievementIds: Type.Optional(Type.Array(Type.String())),
  metricId: Type.Optional(Type.String()),
  metricValue: Type.Optional(Type.Number()),
  metricName: Type.Optional(Type.String()),
  userAttributes: Type.Array(KeyValue),
  eventAttribute: Type.Optional(KeyValue),
  eventAttributes: Type.Optional(Type.Array(KeyValue)),
};

export const AchievementResponse = Type.Object(achievementFields);
export type AchievementResponse = Static<typeof AchievementResponse>;

const achievedAt = Nullable(Type.String({ format: 'date-time' }), { [INSTEAD_OF_NULL]: null });

export const UserAchievementResponse = Type.Object({ ...achievementFields, achievedAt });
export type UserAchievementResponse = Static<typeof UserAchievementResponse>;

const stats = { completions: Type.Integer(), rarity: Type.Number() };

export const AchievementWithStatsResponse = Type.Object({ ...achievementFields, ...stats });
export type AchievementWithStatsResponse = Static<typeof AchievementWithStatsResponse>;

export const UserAchievementWithStatsResponse = Type.Object({
  ...achievementFields,
  ...stats,
  achievedAt,
});
export type UserAchievementWithStatsResponse = Static<typeof UserAchievementWithStatsResponse>;

export const MetricResponse = Type.Object({
  id: Type.String(),
  key: Type.String(),
  name: Type.String(),
  // Not in the contract, but published clients of an earlier version require it.
  status: Type.Literal('active'),
  current: Type.Number(),
  achievements: Type.Array(UserAchievementResponse),
});
export type MetricResponse = Static<typeof MetricResponse>;
