import { ROUNDINGS } from './rule-kinds.ts';
import { Type, type Static } from 'typebox';
import { KeyValue } from './achievement.ts';
import { AnsweredTriggerType, POINTS_TRIGGER } from './fields/points.ts';
import { additionSchemas } from './fields/wire.ts';
import { dayOf } from './periods.ts';
import { Uuid } from './schemas.ts';

const NullableText = Type.Union([Type.String(), Type.Null()]);

export const PointsTriggerResponse = Type.Object({
  id: Type.String(),
  type: AnsweredTriggerType,
  points: Type.Integer(),
  status: Type.Enum(['active', 'inactive', 'archived']),
  achievementId: Type.Optional(Type.String()),
  metricId: Type.Optional(Type.String()),
  metricName: Type.Optional(Type.String()),
  metricThreshold: Type.Optional(Type.Integer()),
  streakLengthThreshold: Type.Optional(Type.Integer()),
  achievementName: Type.Optional(Type.String()),
  timeUnit: Type.Optional(Type.Enum(['hour', 'day'])),
  timeInterval: Type.Optional(Type.Integer()),
  userAttributes: Type.Array(KeyValue),
  eventAttribute: Type.Optional(KeyValue),
  eventAttributes: Type.Optional(Type.Array(KeyValue)),
  ...additionSchemas(POINTS_TRIGGER),
  created: Type.String({ format: 'date-time' }),
  updated: Type.String({ format: 'date-time' }),
});
export type PointsTriggerResponse = Static<typeof PointsTriggerResponse>;

export const PointsBoostResponse = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: Type.Enum(['active', 'scheduled', 'finished']),
  start: Type.String({ format: 'date' }),
  end: Type.Union([Type.String({ format: 'date' }), Type.Null()]),
  multiplier: Type.Number(),
  rounding: Type.Enum([...ROUNDINGS]),
});
export type PointsBoostResponse = Static<typeof PointsBoostResponse>;

export const PointsAwardResponse = Type.Object({
  id: Type.Optional(Type.String()),
  awarded: Type.Optional(Type.Integer()),
  date: Type.Optional(Type.String({ format: 'date-time' })),
  total: Type.Optional(Type.Integer()),
  trigger: Type.Optional(PointsTriggerResponse),
  boosts: Type.Optional(Type.Array(PointsBoostResponse)),
});
export type PointsAwardResponse = Static<typeof PointsAwardResponse>;

export const PointsLevelResponse = Type.Object({
  id: Type.String(),
  key: Type.String(),
  name: Type.String(),
  description: Type.String(),
  badgeUrl: NullableText,
  points: Type.Integer(),
});
export type PointsLevelResponse = Static<typeof PointsLevelResponse>;

const systemFields = {
  id: Type.String(),
  name: Type.String(),
  description: NullableText,
  badgeUrl: NullableText,
  maxPoints: Type.Union([Type.Number(), Type.Null()]),
};

export const PointsResponse = Type.Object({ key: Type.String(), ...systemFields });
export type PointsResponse = Static<typeof PointsResponse>;

export const MetricEventPointsResponse = Type.Object({
  key: Type.String(),
  ...systemFields,
  total: Type.Integer(),
  level: Type.Optional(Type.Union([PointsLevelResponse, Type.Null()])),
  added: Type.Integer(),
  awards: Type.Array(PointsAwardResponse),
});
export type MetricEventPointsResponse = Static<typeof MetricEventPointsResponse>;

export const GetUserPointsResponse = Type.Object({
  key: Type.String(),
  ...systemFields,
  total: Type.Integer(),
  /** Missing if nothing of the system was spent or expired yet, users' keys may not spend it and it does not expire. */
  balance: Type.Optional(Type.Integer()),
  level: Type.Union([PointsLevelResponse, Type.Null()]),
  awards: Type.Array(PointsAwardResponse),
});
export type GetUserPointsResponse = Static<typeof GetUserPointsResponse>;

export const PointsLevelSummaryResponse = Type.Array(
  Type.Object({ level: PointsLevelResponse, users: Type.Integer() }),
);
export type PointsLevelSummaryResponse = Static<typeof PointsLevelSummaryResponse>;

export const PointsSystemResponse = Type.Object({
  ...systemFields,
  triggers: Type.Array(PointsTriggerResponse),
});
export type PointsSystemResponse = Static<typeof PointsSystemResponse>;

export function boostStatus(
  { start, end }: { start: string; end: string | null },
  day: number,
): PointsBoostResponse['status'] {
  if (day < dayOf(start)) return 'scheduled';
  return end !== null && day > dayOf(end) ? 'finished' : 'active';
}

const Reason = Type.String({ minLength: 1, maxLength: 500 });
const Reference = Type.String({ minLength: 1, maxLength: 255 });

/** Sums of points are below 10^15. */
const Amount = Type.Integer({ minimum: 1, maximum: 999_999_999_999_999 });

export const SpendRequest = Type.Object({
  amount: Amount,
  reason: Type.Optional(Reason),
  reference: Type.Optional(Reference),
});
export type SpendRequest = Static<typeof SpendRequest>;

const LONGEST_HOLD_SECONDS = 30 * 86_400;

export const HoldRequest = Type.Object({
  ...SpendRequest.properties,
  expiresIn: Type.Integer({ minimum: 1, maximum: LONGEST_HOLD_SECONDS }),
});
export type HoldRequest = Static<typeof HoldRequest>;

const NullableUuid = Type.Union([Uuid, Type.Null()]);
const NullableTime = Type.Union([Type.String({ format: 'date-time' }), Type.Null()]);

/** A change of a user's balance. It is never changed itself. */
export const BalanceChange = Type.Object({
  id: Uuid,
  type: Type.Enum(['spend', 'hold', 'capture', 'release', 'refund', 'expire']),
  /** Key of the points system; `null` if it was deleted. */
  pointsSystem: NullableText,
  amount: Type.Integer(),
  /** The balance afterwards. */
  balance: Type.Integer(),
  /** The spending or hold that a capture, release or refund closes. */
  spendingId: NullableUuid,
  /** Of a hold. */
  expiresAt: NullableTime,
  reason: NullableText,
  reference: NullableText,
  /** Key of the reward that a spending paid for; `null` if it was deleted. Absent for other changes. */
  reward: Type.Optional(NullableText),
  createdAt: Type.String({ format: 'date-time' }),
});
export type BalanceChange = Static<typeof BalanceChange>;

/** A spending, hold or expiry with its later changes. */
export const Spending = Type.Object({
  ...BalanceChange.properties,
  status: Type.Enum(['spent', 'held', 'captured', 'released', 'expired', 'refunded']),
  idempotencyKey: NullableText,
  /** Captures, releases and refunds, in order. */
  closedBy: Type.Array(BalanceChange),
});
export type Spending = Static<typeof Spending>;

export const Spendings = Type.Object({
  spendings: Type.Array(Spending),
  nextCursor: NullableText,
});
export type Spendings = Static<typeof Spendings>;

export const SpendingsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Uuid),
  pointsSystem: Type.Optional(Type.String()),
});
export type SpendingsQuery = Static<typeof SpendingsQuery>;

/** Number of users who have `from` to `to` points, both inclusive. */
export const PointsRange = Type.Object({
  from: Type.Integer(),
  to: Type.Integer(),
  users: Type.Integer(),
});
export type PointsRange = Static<typeof PointsRange>;

/** Ranges of the points summary: 0, then ten equal ranges up to the greatest total, rounded up to a power of 10. */
export function summaryBounds(greatest: number): { from: number; to: number }[] {
  let end = 10;
  while (end < greatest) end *= 10;
  const size = end / 10;
  const ranges = Array.from({ length: 10 }, (_, index) => ({
    from: index * size + 1,
    to: (index + 1) * size,
  }));
  return [{ from: 0, to: 0 }, ...ranges];
}
