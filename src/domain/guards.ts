import { Type, type Static } from 'typebox';

/** What happens to an event that a guard stops. */
export const GUARD_ACTIONS = ['refuse', 'clamp', 'quarantine'] as const;

/** A guard of a value: what is clamped is cut to the limit, or to what is left up to it. */
const ValueGuard = Type.Object({ limit: Type.Number(), action: Type.Enum([...GUARD_ACTIONS]) });
/** There is no value that would bring an event nearer to an interval: nothing can be clamped. */
const IntervalGuard = Type.Object({ limit: Type.Number(), action: Type.Enum(['refuse', 'quarantine']) });

/**
 * The guards of a metric, in the order in which an event meets them. Sums and intervals are one user's: the hour is one of
 * UTC, the day the user's local one. All are asked of an event before anything of it is applied.
 */
export const MetricGuards = Type.Object({
  /** Smallest value of an event. */
  minValue: Type.Optional(ValueGuard),
  /** Largest value of an event. */
  maxValue: Type.Optional(ValueGuard),
  /** Shortest time between two events, seconds. */
  minSecondsBetween: Type.Optional(IntervalGuard),
  /** Largest sum of an hour. */
  maxSumPerHour: Type.Optional(ValueGuard),
  /** Largest sum of a local day. */
  maxSumPerDay: Type.Optional(ValueGuard),
  /** Largest total. */
  maxTotal: Type.Optional(ValueGuard),
});
export type MetricGuards = Static<typeof MetricGuards>;

export type GuardName = keyof MetricGuards;

/** The guards' names, in the order in which an event meets them. */
export const GUARD_NAMES = Object.keys(MetricGuards.properties) as GuardName[];

/** What a guard did to an event that it did not refuse; in the answer to the event. */
export const GuardedEvent = Type.Object({
  guard: Type.Enum([...GUARD_NAMES]),
  action: Type.Enum(['clamp', 'quarantine']),
  /** The value that was applied. */
  value: Type.Optional(Type.Number()),
});
export type GuardedEvent = Static<typeof GuardedEvent>;
