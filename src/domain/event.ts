import { Type, type Static } from 'typebox';
import { QuestProgress, UserAchievementResponse } from './achievement.ts';
import { SUM_BOUND } from './decimal.ts';
import { GuardedEvent } from './administration/guards.ts';
import { EntryMetadata, MetricEventLeaderboardResponse } from './leaderboard.ts';
import { MetricEventPointsResponse } from './points.ts';
import { byKey } from './schemas.ts';
import { MetricEventStreak } from './streaks/streak.ts';
import { SentAttributes, UpsertedUser } from './user.ts';

export const MAX_VALUE = 1e12;

/** API description of the range of sums, shared by the operations that accept events. */
export const RANGE_OF_SUMS =
  `An event that would take a sum of its user to ${SUM_BOUND} or beyond, in either direction, is refused with 422, and ` +
  'nothing of it is applied: the total of the metric, the count of an achievement or a points trigger with conditions on ' +
  'event attributes, the sum of a streak period, the score on a leaderboard. One that brings a sum back nearer is taken. ' +
  'Points are not refused but cut off, at `maxPoints` or below that bound.';

/** Part of the messages about it, because the contract has two statuses for the same mistake. */
export const UNKNOWN_METRIC = 'An unknown metric is 422 for a single event and 404 in a batch.';

/** When an event happened. `src/engine/events/prepared-event.ts` checks it against the organisation's accepted window. */
const OccurredAt = Type.String({ format: 'date-time' });

export const MetricEvent = Type.Object({
  user: UpsertedUser,
  value: Type.Number({ minimum: -MAX_VALUE, maximum: MAX_VALUE }),
  attributes: Type.Optional(SentAttributes),
  occurredAt: Type.Optional(OccurredAt),
  metadata: Type.Optional(EntryMetadata),
});
export type MetricEvent = Static<typeof MetricEvent>;

export const MAX_BATCH = 1000;

/** An event of a batch. It names the metric by key; its idempotency key has the same scope as a single event's. */
export const BatchMetricEvent = Type.Object({
  key: Type.String({ maxLength: 255 }),
  ...MetricEvent.properties,
  idempotencyKey: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
});
export type BatchMetricEvent = Static<typeof BatchMetricEvent>;

/** A refused event of a batch: its index, and the error that it would have as a single event. */
const RefusedBatchEvent = Type.Object({
  index: Type.Integer(),
  error: Type.String(),
  code: Type.String(),
  hint: Type.Optional(Type.String()),
});

/** `refused`: with `partial=true`. */
export const BatchEventsResponse = Type.Object({
  accepted: Type.Integer(),
  refused: Type.Optional(Type.Array(RefusedBatchEvent)),
});
export type BatchEventsResponse = Static<typeof BatchEventsResponse>;

/** Result of one event in a batch: `error` and `code` if it was refused, the other fields otherwise. */
export const BatchEventResult = Type.Object({
  status: Type.Integer(),
  eventId: Type.Optional(Type.String()),
  total: Type.Optional(Type.Number()),
  replayed: Type.Optional(Type.Boolean()),
  idempotencyConflict: Type.Optional(Type.Boolean()),
  guarded: Type.Optional(GuardedEvent),
  error: Type.Optional(Type.String()),
  code: Type.Optional(Type.String()),
});
export type BatchEventResult = Static<typeof BatchEventResult>;

export const BatchEventResults = Type.Object({ accepted: Type.Integer(), results: Type.Array(BatchEventResult) });
export type BatchEventResults = Static<typeof BatchEventResults>;

export const AchievementCompletionResponse = Type.Object({
  completionId: Type.String(),
  achievement: UserAchievementResponse,
  points: byKey(MetricEventPointsResponse),
});
export type AchievementCompletionResponse = Static<typeof AchievementCompletionResponse>;

export const EventResponse = Type.Object({
  eventId: Type.String(),
  metricId: Type.String(),
  total: Type.Number(),
  achievements: Type.Array(UserAchievementResponse),
  achievementProgress: Type.Optional(Type.Array(QuestProgress)),
  currentStreak: MetricEventStreak,
  points: byKey(MetricEventPointsResponse),
  leaderboards: byKey(MetricEventLeaderboardResponse),
  idempotencyKey: Type.Optional(Type.String()),
  idempotentReplayed: Type.Optional(Type.Boolean()),
  idempotencyConflict: Type.Optional(Type.Boolean()),
  guarded: Type.Optional(GuardedEvent),
});
export type EventResponse = Static<typeof EventResponse>;
