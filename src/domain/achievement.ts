import { ACHIEVEMENT_TRIGGERS } from './rule-kinds.ts';
import { Type, type Static } from 'typebox';
import { ACHIEVEMENT_RANKS } from './fields/rank.ts';
import { additionSchemas } from './fields/wire.ts';
import { Repeat } from './repeat.ts';
import { INSTEAD_OF_NULL, LocalDate, Nullable, OLDER_VALUES } from './schemas.ts';

export const KeyValue = Type.Object({ key: Type.String(), value: Type.String() });

export const achievementFields = {
  id: Type.String(),
  name: Type.String(),
  // Older clients see an anniversary as `api`: neither an event nor a streak completes it.
  trigger: Type.Enum([...ACHIEVEMENT_TRIGGERS], {
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
  startDate: Type.Optional(LocalDate),
  endDate: Type.Optional(LocalDate),
  requires: Type.Optional(Type.Array(Type.String())),
  secret: Type.Optional(Type.Literal(true)),
  ...additionSchemas(ACHIEVEMENT_RANKS),
};

export const AchievementResponse = Type.Object(achievementFields);
export type AchievementResponse = Static<typeof AchievementResponse>;

const achievedAt = Nullable(Type.String({ format: 'date-time' }), { [INSTEAD_OF_NULL]: null });

/** A user's period of a quest: its local days (`null`: open), and the sum of its events. */
const QuestPeriod = Type.Object({
  start: Nullable(LocalDate),
  end: Nullable(LocalDate),
  progress: Type.Number(),
  completed: Type.Boolean(),
});

/** Only for quests: how often the user has completed it, if it repeats, and a period. */
const questFields = { timesCompleted: Type.Optional(Type.Integer()), period: Type.Optional(QuestPeriod) };

/** A quest in whose period an event counts, in the answer to the event. */
export const QuestProgress = Type.Object({
  id: Type.String(),
  key: Type.Optional(Type.String()),
  name: Type.String(),
  metricValue: Type.Number(),
  repeat: Type.Optional(Repeat),
  timesCompleted: Type.Optional(Type.Integer()),
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
