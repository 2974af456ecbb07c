/** Guards of metrics as plans, states and records have them; what is stored must never change. */

/** The guards, in the order in which an event meets them. */
export const GUARD = {
  minValue: 1,
  maxValue: 2,
  minSecondsBetween: 3,
  maxSumPerHour: 4,
  maxSumPerDay: 5,
  maxTotal: 6,
} as const;

/** What became of an event that a guard stopped. */
export const GUARD_ACTION = {
  refused: 1,
  /** Its value was cut. */
  clamped: 2,
  /** It is kept and not applied. */
  quarantined: 3,
  /** It was refused as the quarantine holds as much as it may. */
  full: 4,
  /** What was kept is dropped. */
  dropped: 5,
} as const;

/** What a record says of a guard: GUARD, GUARD_ACTION; of a clamped event the value as it was sent, too. */
export const GUARDED = { guard: 0, action: 1, whole: 2, micros: 3 } as const;

/** What a user's guarded events of a metric came to: UTC hour and its sum, local day and its sum, time of the last one (ms). */
export const GUARD_SUMS = {
  hour: 0,
  hourWhole: 1,
  hourMicros: 2,
  day: 3,
  dayWhole: 4,
  dayMicros: 5,
  lastMs: 6,
} as const;

/**
 * What is kept of a user in quarantine: for each event the 32 hex digits of its ID and the digit of its GUARD, one behind the
 * other. The hash of a tenant has a field a user, and one for how many there are in all.
 */
export const QUARANTINED = {
  /** With which the hash's key ends, in the place of the end of boards' prefix. */
  keyEnd: 'q',
  idLength: 32,
  length: 33,
  /** No user has this ID. */
  count: '',
  /** Most events of one user: whoever has a user's key must not fill a tenant's quarantine. */
  mostOfUser: 100,
  /** Most events of a tenant. */
  most: 10_000,
} as const;
