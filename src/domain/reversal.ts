import { Type, type Static } from 'typebox';
import { UserId } from './user.ts';

const Uuid = Type.String({ format: 'uuid' });

/** Points of one system that a reversal took, or gave back. */
const ReversedPoints = Type.Object({
  key: Type.String(),
  /** The user's total after it. */
  total: Type.Integer(),
  /** Negative: taken. */
  changed: Type.Integer(),
  /** What reversals could not take so far, because the total does not fall below 0; later reversals that give are set off against it. */
  shortfall: Type.Integer(),
});

/** What reversing an event came to. */
export const EventReversal = Type.Object({
  /** `unchanged`: it was so already, and nothing was done. */
  status: Type.Enum(['reversed', 'restored', 'unchanged']),
  dryRun: Type.Boolean(),
  /** The event that counts no more, or counts again. */
  eventId: Uuid,
  /** The opposite event, by which the reversal can be reversed; null in a dry run. */
  reversalId: Type.Union([Uuid, Type.Null()]),
  userId: Type.String(),
  /** Null: the metric was deleted. */
  metricKey: Type.Union([Type.String(), Type.Null()]),
  /** Of the opposite event. */
  value: Type.Number(),
  /** The user's total of the metric after it; null where nothing was done. */
  total: Type.Union([Type.Number(), Type.Null()]),
  /** Length of the current streak after it; null where nothing was done. */
  streak: Type.Union([Type.Integer(), Type.Null()]),
  points: Type.Array(ReversedPoints),
  /** Keys of achievements, or IDs of those without a key. */
  revokedAchievements: Type.Array(Type.String()),
  restoredAchievements: Type.Array(Type.String()),
});
export type EventReversal = Static<typeof EventReversal>;

/** How one event is reversed. */
export const ReversalOptions = {
  revokeAchievements: Type.Optional(Type.Boolean({ default: false })),
  dryRun: Type.Optional(Type.Boolean({ default: false })),
};

/** How many events one call reverses. */
export const MOST_REVERSED = 1_000;

/** Which events are reversed: by exactly one of `eventIds`, `idempotencyKeys` of a user, and a user's time. */
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

/** An event that was not reversed, and why. */
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
