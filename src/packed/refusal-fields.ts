/** What a script answers where it records nothing: kinds (in `RECORD.kind`), and the other fields of each kind. */

export const REFUSAL = {
  /** The idempotency key was used: see REPLAY. */
  replay: 'r',
  /** A trigger that blocks cannot be paid: see BLOCKED. */
  outOfPoints: 'o',
  /** A sum would leave its range: see OUT_OF_RANGE. */
  outOfRange: 'v',
  /** The packed state would have more than `STATE_BYTES`. */
  tooLarge: 'f',
  /** What requests say of the user would have more than `PROFILE_BYTES`. */
  profileTooLarge: 'g',
  /** The zone's offset is not known for this time; ask again with it: see UNKNOWN_OFFSET. */
  unknownOffset: 'z',
  /** The idempotency key may have been used long ago; ask Postgres, then again: see UNKNOWN_USE. */
  unknownUse: 'p',
  /** The user used as many idempotency keys today as there may be: see TOO_MANY_KEYS. */
  tooManyKeys: 'mk',
  /** `subscribeToEmails: true` for a user without an e-mail address. */
  noAddress: 'm',
  /** The sign-up date is after the user's today. */
  futureSignUp: 'h',
  /** An application key would change what only servers may write: see SERVER_ONLY. */
  serverOnly: 'sv',
  /** A call about a user never seen, that needs one who was. */
  unknownUser: 'n',
  /** The achievement is locked, and the user does not have it. */
  locked: 'l',
  /** The user's attributes do not meet the achievement's conditions. */
  unmetConditions: 'q',
  /** The change of a streak cannot be made: see UNCHANGED. */
  unchanged: 'w',
  /** The user's streaks, or what was corrected, are not what the call was made from. */
  outdated: 'j',
  /** A retry whose first try may be in Postgres; look there, then ask again: see MAYBE_STORED. */
  maybeStored: 'd',
  /** The event is not in quarantine: it was released or dropped, or never was. */
  notQuarantined: 'y',
  /** The import brought the user before. */
  alreadyImported: 't',
  /** The user who is to be imported exists, and is not from this import. */
  userExists: 'ex',
  /** The event of a batch was not sent to the script: see UNSENT. */
  unsent: 'x',
} as const;

/** The use as `lua/lib/used_keys.lua` says it; total, RECORDED_STREAK and local day as they are now; of a guarded metric QUARANTINED of the user. */
export const REPLAY = { use: 'use', total: 't', streak: 's', day: 'd', quarantined: 'q' } as const;

/** Number of the trigger that blocks. */
export const BLOCKED = { trigger: 'trigger' } as const;

/** Metric number, which sum it was (SUM), and the number of its achievement, trigger or board. */
export const OUT_OF_RANGE = { metric: 'm', sum: 'of', no: 'no' } as const;

/** The sums that an event may take out of range. */
export const SUM = { total: 'total', count: 'count', period: 'period', score: 'score' } as const;

/** How long the UTC day lasts, ms. */
export const TOO_MANY_KEYS = { waitMs: 'ms' } as const;

/** Number of the attribute; 0: the sign-up day. */
export const SERVER_ONLY = { no: 'no' } as const;

/** Name of the user's zone. */
export const UNKNOWN_OFFSET = { zone: 'tz' } as const;

/**
 * What the answer has to come with, and the user's generation. Without token: an event behind such a one, of the same
 * user; just ask again.
 */
export const UNKNOWN_USE = { token: 'v', generation: 'g' } as const;

/** Why (STREAK_REFUSAL), on the user's local day. */
export const UNCHANGED = { why: 'why', day: 'd' } as const;

/** Why a change of a streak cannot be made. */
export const STREAK_REFUSAL = {
  /** The user has as many freezes as there may be. */
  full: 'full',
  /** The pause would begin before today. */
  past: 'past',
  /** A day of the pause is paused already. */
  overlap: 'overlap',
  /** The user has as many pauses as there may be. */
  many: 'many',
  /** There is no such pause. */
  gone: 'gone',
  /** No streak was lost that is longer than the one there is. */
  none: 'none',
  /** There is no streak. */
  idle: 'idle',
  /** The packed state would have more than `STATE_BYTES`. */
} as const;

/** Of a late event: what the guards left of its value, where the replay was made of another. */
export const OUTDATED = { whole: 'w', micros: 'i' } as const;

/** The position of the outbox up to which Postgres is to be asked. */
export const MAYBE_STORED = { upTo: 'upTo' } as const;

/** The status and the message of the answer. */
export const UNSENT = { status: 's', message: 'e' } as const;
