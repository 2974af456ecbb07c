/** Answers of scripts that record nothing: their kinds (in `RECORD.kind`), and the other fields of each kind. */

export const REFUSAL = {
  replay: 'r',
  /** A blocking trigger cannot be paid; see BLOCKED. */
  outOfPoints: 'o',
  /** The balance does not cover what should be spent or held; see INSUFFICIENT. */
  insufficient: 'b',
  /** The user has `HOLD.most` open holds in the points system. */
  manyHolds: 'mh',
  /** The hold was captured or released, or has expired; or the user made no such spending. */
  notHeld: 'nh',
  /** A sum would leave its range; see OUT_OF_RANGE. */
  outOfRange: 'v',
  /** The packed state would exceed `STATE_BYTES`. */
  tooLarge: 'f',
  /** The user's profile would exceed `PROFILE_BYTES`. */
  profileTooLarge: 'g',
  /** The idempotency key may have been used long ago. Ask Postgres and repeat the call; see UNKNOWN_USE. */
  unknownUse: 'p',
  /** The user has used today's limit of idempotency keys; see TOO_MANY_KEYS. */
  tooManyKeys: 'mk',
  /** `subscribeToEmails: true` for a user without an email address. */
  noAddress: 'm',
  /** The sign-up date is after the user's current day. */
  futureSignUp: 'h',
  /** An application key would change a field that only servers may write; see SERVER_ONLY. */
  serverOnly: 'sv',
  unknownUser: 'n',
  /** The user is being merged: try again in a moment. */
  held: 'hd',
  /** The user was merged into another; see MERGED_INTO. */
  merged: 'mg',
  /** The achievement is locked, and the user has not completed it. */
  locked: 'l',
  /** The user's attributes do not meet the achievement's conditions. */
  unmetConditions: 'q',
  /** The user has not completed what the achievement requires; see REQUIRED. */
  required: 'rq',
  /** The streak cannot be changed; see UNCHANGED. */
  unchanged: 'w',
  /** The user's streaks, corrected events or, for points that expire, anything of the user has changed since the call was prepared. */
  outdated: 'j',
  /** The event is not in quarantine: it was released or dropped, or never was there. */
  notQuarantined: 'y',
  unsent: 'x',
} as const;

/**
 * The use (`packedUse`); for events also the current total, RECORDED_STREAK and local day; for a guarded metric, the
 * user's QUARANTINED.
 */
export const REPLAY = { use: 'use', total: 't', streak: 's', day: 'd', quarantined: 'q' } as const;

/** ID of the other user, who may have been merged since. */
export const MERGED_INTO = { userId: 'u' } as const;

/** Number of the blocking trigger. */
export const BLOCKED = { trigger: 'trigger' } as const;

export const INSUFFICIENT = { balance: 'balance' } as const;

/** Number of the metric, the kind of sum (SUM), and the number of its achievement, trigger or leaderboard. */
export const OUT_OF_RANGE = { metric: 'm', sum: 'of', no: 'no' } as const;

export const SUM = { total: 'total', count: 'count', period: 'period', score: 'score' } as const;

/** Time until the end of the UTC day, ms. */
export const TOO_MANY_KEYS = { waitMs: 'ms' } as const;

/** Numbers of the achievements that the user has not completed. */
export const REQUIRED = { missing: 'missing' } as const;

/** Number of the attribute; 0 for the sign-up date. */
export const SERVER_ONLY = { no: 'no' } as const;

/**
 * The token that the repeated call must contain, and the user's generation. Without a token: the event follows such an event
 * of the same user; just repeat the call.
 */
export const UNKNOWN_USE = { token: 'v', generation: 'g' } as const;

/** The reason (STREAK_REFUSAL), and the user's local day. */
export const UNCHANGED = { why: 'why', day: 'd' } as const;

export const STREAK_REFUSAL = {
  full: 'full',
  /** The pause would begin before today. */
  past: 'past',
  overlap: 'overlap',
  many: 'many',
  gone: 'gone',
  none: 'none',
  idle: 'idle',
} as const;

/** For a late event: the value that the guards allow, if the replay used another. */
export const OUTDATED = { whole: 'w', micros: 'i' } as const;

/** Code (`src/errors.ts`) and message of the error. */
export const UNSENT = { code: 'c', message: 'e' } as const;
