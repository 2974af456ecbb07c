/** Guards of metrics in plans, states and records. Stored values must never change. */

/** The guards, in the order in which they run. */
export const GUARD = {
  minValue: 1,
  maxValue: 2,
  minSecondsBetween: 3,
  maxSumPerHour: 4,
  maxSumPerDay: 5,
  maxTotal: 6,
} as const;

export const GUARD_ACTION = {
  refused: 1,
  /** Its value was reduced. */
  clamped: 2,
  /** It was quarantined and not applied. */
  quarantined: 3,
  /** It was refused because the quarantine is full. */
  full: 4,
  dropped: 5,
} as const;

/** A guard in a record: GUARD, GUARD_ACTION and, for clamped events, the value as sent. */
export const GUARDED = { guard: 0, action: 1, whole: 2, micros: 3 } as const;

/**
 * A user's quarantined events, concatenated: for each, the 32 hex digits of its ID and the digit of its GUARD. A tenant's
 * hash has one field per user, and one with the total number.
 */
export const QUARANTINED = {
  /** End of the hash's key, in place of the end of the leaderboards' prefix. */
  keyEnd: 'q',
  idLength: 32,
  length: 33,
  /** No user can have this ID. */
  count: '',
  /** Limit per user, so that the holder of a user's key cannot fill the tenant's quarantine. */
  mostOfUser: 100,
  /** Limit per tenant. */
  most: 10_000,
} as const;
