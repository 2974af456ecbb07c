import { Type, type Static } from 'typebox';
import { KeyValue } from './achievement.ts';
import { dayOf } from './periods.ts';

const NullableText = Type.Union([Type.String(), Type.Null()]);

export const PointsTriggerResponse = Type.Object({
  id: Type.String(),
  type: Type.Enum(['metric', 'achievement', 'streak', 'time', 'user_creation']),
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
  rounding: Type.Enum(['down', 'up', 'nearest']),
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
