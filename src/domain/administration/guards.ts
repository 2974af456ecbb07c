import { type Static, Type } from 'typebox';

export const GUARD_ACTIONS = ['refuse', 'clamp', 'quarantine'] as const;

/** A guard on a value or sum. `clamp` reduces the event's value to what the limit allows. */
const ValueGuard = Type.Object({ limit: Type.Number(), action: Type.Enum([...GUARD_ACTIONS]) });
/** A guard on an interval. No change of the value could satisfy it, so it cannot clamp. */
const IntervalGuard = Type.Object({ limit: Type.Number(), action: Type.Enum(['refuse', 'quarantine']) });

/**
 * The guards of a metric, in the order in which they run. Sums and intervals are per user; hours are UTC hours, days are the
 * user's local days. All guards run before any part of the event is applied.
 */
export const MetricGuards = Type.Object({
  minValue: Type.Optional(ValueGuard),
  maxValue: Type.Optional(ValueGuard),
  /** Shortest time between two events, in seconds. */
  minSecondsBetween: Type.Optional(IntervalGuard),
  /** Largest sum in a UTC hour. */
  maxSumPerHour: Type.Optional(ValueGuard),
  /** Largest sum in a local day. */
  maxSumPerDay: Type.Optional(ValueGuard),
  maxTotal: Type.Optional(ValueGuard),
});
export type MetricGuards = Static<typeof MetricGuards>;

export type GuardName = keyof MetricGuards;

export const GUARD_NAMES = Object.keys(MetricGuards.properties) as GuardName[];

export const GuardedEvent = Type.Object({
  guard: Type.Enum([...GUARD_NAMES]),
  action: Type.Enum(['clamp', 'quarantine']),
  value: Type.Optional(Type.Number()),
});
export type GuardedEvent = Static<typeof GuardedEvent>;
