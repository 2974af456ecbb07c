import { Type, type Static } from 'typebox';
import { Repeat } from './repeat.ts';
import { INSTEAD_OF_NULL, LocalDate, Nullable, OLDER_VALUES } from './schemas.ts';

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
  repeat: Type.Optional(Repeat),
};

export const AchievementResponse = Type.Object(achievementFields);
export type AchievementResponse = Static<typeof AchievementResponse>;

const achievedAt = Nullable(Type.String({ format: 'date-time' }), { [INSTEAD_OF_NULL]: null });

/** A user's period of a repeating achievement: its local days, and the sum of its events. */
const QuestPeriod = Type.Object({
  start: LocalDate,
  end: LocalDate,
  progress: Type.Number(),
  completed: Type.Boolean(),
});

/** Only for repeating achievements: how often the user has completed it, and a period. */
const questFields = { timesCompleted: Type.Optional(Type.Integer()), period: Type.Optional(QuestPeriod) };

/** A repeating achievement in whose period an event counts, in the answer to the event. */
export const QuestProgress = Type.Object({
  id: Type.String(),
  key: Type.Optional(Type.String()),
  name: Type.String(),
  metricValue: Type.Number(),
  repeat: Repeat,
  timesCompleted: Type.Integer(),
  period: QuestPeriod,
});
export type QuestProgress = Static<typeof QuestProgress>;

export const UserAchievementResponse = Type.Object({ ...achievementFields, achievedAt, ...questFields });
export type UserAchievementResponse = Static<typeof UserAchievementResponse>;

const stats = { completions: Type.Integer(), rarity: Type.Number() };

export const AchievementWithStatsResponse = Type.Object({ ...achievementFields, ...stats });
export type AchievementWithStatsResponse = Static<typeof AchievementWithStatsResponse>;

export const UserAchievementWithStatsResponse = Type.Object({
  ...achievementFields,
  ...stats,
  achievedAt,
  ...questFields,
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
