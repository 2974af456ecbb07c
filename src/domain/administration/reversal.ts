import { type Static, Type } from 'typebox';
import { RankRewards } from '../leaderboard.ts';
import { LocalDate, Nullable } from '../schemas.ts';
import { UserId } from '../user.ts';

const Uuid = Type.String({ format: 'uuid' });

const ReversedPoints = Type.Object({
  key: Type.String(),
  total: Type.Integer(),
  /** Negative if points were taken. */
  changed: Type.Integer(),
  /** Points that reversals could not take because totals do not fall below 0. Later reversals deduct it from what they give back. */
  shortfall: Type.Integer(),
});

/** A score in an open run. */
const ChangedScore = Type.Object({
  leaderboardKey: Type.String(),
  start: LocalDate,
  /** `null`: not on the leaderboard. */
  previousValue: Nullable(Type.Number()),
  value: Nullable(Type.Number()),
});

/** A final run, which keeps its result although the user would have another rank without the event. */
export const UnchangedRun = Type.Object({
  leaderboardKey: Type.String(),
  start: LocalDate,
  end: LocalDate,
  /** `null`: not on the leaderboard. */
  rank: Nullable(Type.Integer()),
  rankWithout: Nullable(Type.Integer()),
  /** What the rank earned. */
  rewards: RankRewards,
  /** Whether other rules would reward the other rank. */
  rewardsDiffer: Type.Boolean(),
});
export type UnchangedRun = Static<typeof UnchangedRun>;

export const EventReversal = Type.Object({
  /** `unchanged`: the event already was in the requested state. */
  status: Type.Enum(['reversed', 'restored', 'unchanged']),
  dryRun: Type.Boolean(),
  /** The event that no longer counts, or counts again. */
  eventId: Uuid,
  /** ID of the opposite event, with which the reversal can be reversed; `null` in a dry run. */
  reversalId: Type.Union([Uuid, Type.Null()]),
  userId: Type.String(),
  /** `null` if the metric was deleted. */
  metricKey: Type.Union([Type.String(), Type.Null()]),
  /** Value of the opposite event. */
  value: Type.Number(),
  /** The user's total of the metric afterwards; `null` if nothing changed. */
  total: Type.Union([Type.Number(), Type.Null()]),
  /** Length of the current streak afterwards; `null` if nothing changed. */
  streak: Type.Union([Type.Integer(), Type.Null()]),
  points: Type.Array(ReversedPoints),
  /** Keys of achievements, or IDs if they have no key. */
  revokedAchievements: Type.Array(Type.String()),
  restoredAchievements: Type.Array(Type.String()),
  leaderboards: Type.Array(ChangedScore),
  /** Of a reversed event only. */
  finalRuns: Type.Array(UnchangedRun),
});
export type EventReversal = Static<typeof EventReversal>;

export const ReversalOptions = {
  revokeAchievements: Type.Optional(Type.Boolean({ default: false })),
  dryRun: Type.Optional(Type.Boolean({ default: false })),
};

export const MOST_REVERSED = 1_000;

/** Which events to reverse: exactly one of `eventIds`, a user's `idempotencyKeys`, or a user's period of time. */
export const ReverseEvents = Type.Object({
  ...ReversalOptions,
  eventIds: Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: MOST_REVERSED })),
  idempotencyKeys: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: MOST_REVERSED }),
  ),
  userId: Type.Optional(UserId),
  metricKey: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  from: Type.Optional(Type.String({ format: 'date-time' })),
  to: Type.Optional(Type.String({ format: 'date-time' })),
});
export type ReverseEvents = Static<typeof ReverseEvents>;

const ReversalIssue = Type.Object({
  eventId: Type.Optional(Uuid),
  idempotencyKey: Type.Optional(Type.String()),
  message: Type.String(),
});
export type ReversalIssue = Static<typeof ReversalIssue>;

export const ReversedEvents = Type.Object({
  reversals: Type.Array(EventReversal),
  issues: Type.Array(ReversalIssue),
});
export type ReversedEvents = Static<typeof ReversedEvents>;
