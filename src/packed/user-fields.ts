/**
 * The packed state of a user, by the names of its positions: msgpack values one after another under one key, and in Postgres
 * the same bytes. Lua and TypeScript use these names (`src/redis/lua-library.ts`); what is stored must never change. So a
 * script holds a state as one list, which costs a fifth of what a map of the same values does (decision 1).
 */

/**
 * What is at each position; what a user lacks is nil, and is not stored behind the last that there is: so what most users
 * have comes first. A new field gets the next position.
 */
export const USER = {
  /** When the user was first seen, epoch ms. */
  createdMs: 0,
  /** When the user was last changed, epoch ms. */
  updatedMs: 1,
  /** UTC day (epoch day) of the last event, -1: none yet. */
  activeDay: 2,
  /** A sum: the UTC day (USED_KEYS.days), times USED_KEYS.day, and how many idempotency keys were used on it; absent: none ever. */
  usedKeys: 3,
  /** Metric number → TOTAL. */
  totals: 4,
  /** Achievement or trigger number → TOTAL of the matching events. */
  counts: 5,
  /** Points system number → total. */
  points: 6,
  /** Achievement number → epoch ms of completion. */
  completions: 7,
  /** Flat list of SCORE: by number of the board, newest run first. */
  boards: 8,
  /** Three STREAK, one behind the other, in the order of FREQUENCY: this is the first position of the first. */
  streaks: 9,
  /** IANA name of the time zone; absent: UTC. */
  zone: 27,
  /** The zone's offset from UTC, seconds. */
  offsetSeconds: 28,
  /** Until when that offset holds, epoch ms; absent: for ever. */
  offsetUntilMs: 29,
  /** Attribute number → value. */
  attributes: 30,
  name: 31,
  email: 32,
  freezes: 33,
  /** The user's generation, see `src/redis/idempotency.ts`; absent: the first. */
  generation: 34,
  /** 1: the user wants no e-mails. */
  unsubscribed: 35,
  /** JSON text of a list. */
  deviceTokens: 36,
  /** SIGN_UP; absent: the day is not known. */
  signUp: 37,
  /** The local day (epoch day) from which the next interval of earning freezes counts. */
  earnedDay: 38,
  /** Who hides the user from leaderboards, a sum of HIDDEN_BY; absent: nobody. */
  hidden: 39,
  /** The user's notification preferences: a digit a kind, '-' where nothing is set. */
  notifications: 40,
  /** Metric number → GUARD_SUMS, of metrics with guards. */
  guarded: 41,
  /** Number of a `time` trigger → end of the last period that it paid, epoch ms. */
  timePaid: 42,
  /** How many corrections were made; absent: none. */
  corrections: 43,
  /** A list of PAUSE, by first day. */
  pauses: 44,
  /** STREAK_RULE: the user's own. */
  streakRule: 45,
  /** DAYS_OFF: the user's own. */
  daysOff: 46,
  /** The midnights up to then (epoch ms) are settled by earlier settings. */
  settledMs: 47,
  /** The local day (epoch day) that had begun when the user moved west; absent where no day came twice. */
  begunDay: 48,
  /**
   * Points system number → points that reversals could not take, which are set off against what later ones give; below 0: those
   * that they could not give, which are set off against what later ones take.
   */
  owed: 49,
  /** The last step of a recomputation that was made of the user, see `lua/recompute_users.lua`; absent: none. */
  recomputed: 50,
  /** The name of the import that brought the user; absent: none did. */
  importedBy: 51,
  /** When, epoch ms: nothing up to then is given or taken by a recomputation; absent: never. */
  importedMs: 52,
} as const;

/** How many positions there are. */
export const STATE_SIZE = 53;

/**
 * `day`: more than the keys that a user may use on a day. `days`: the days are counted modulo this, so that the sum has 32 bits; nobody is
 * refused for a day eleven years ago.
 */
export const USED_KEYS = { day: 2 ** 20, days: 2 ** 12 } as const;

/** Who may hide a user from leaderboards. */
export const HIDDEN_BY = { admin: 1, user: 2 } as const;

/** A sum of decimals, in the order of `Decimal`. */
export const TOTAL = {
  whole: 0,
  micros: 1,
  /** Whole part of the highest total ever; absent where the total is the highest. */
  peak: 2,
} as const;

/** A streak in one frequency; -1: none. These are offsets from the first; `size` is the distance to the next frequency's. */
export const STREAK = {
  length: 0,
  /** Local day (epoch day) on which the first period began. */
  startDay: 1,
  /** Index of the last period that was met, or excused by a freeze or pause. */
  lastPeriod: 2,
  /** Epoch ms of the event that met it. */
  extendedMs: 3,
  /** The period that `sums` belong to. */
  currentPeriod: 4,
  /** Metric number → TOTAL of the current period, without peak; absent: none. */
  sums: 5,
  size: 6,
} as const;

/** Frequencies of streaks, as they are stored. */
export const FREQUENCY = { none: 0, daily: 1, weekly: 2, monthly: 3 } as const;

/** A pause of streaks: first and last local day (epoch days), 32 hex digits of a UUID. */
export const PAUSE = { firstDay: 0, lastDay: 1, id: 2 } as const;

/** A user's own rule of the streak: 0 or 1, -1 as for everyone; a list of THRESHOLD, empty as for everyone. */
export const STREAK_RULE = { enabled: 0, all: 1, metrics: 2 } as const;

/** A user's own days off: sets of weekdays (`src/domain/days-off.ts`), -1 as for everyone, and the day between them. */
export const DAYS_OFF = { set: 0, fromDay: 1, before: 2 } as const;

/**
 * When the user signed up, epoch day; full years since then that the clock has counted; when the day was set, or the zone
 * changed, epoch ms.
 */
export const SIGN_UP = { day: 0, years: 1, sinceMs: 2 } as const;

/** What a metric must reach in a period of a streak. */
export const THRESHOLD = { metric: 0, whole: 1, micros: 2 } as const;

/**
 * A score in a run of a board: one list holds all of a user's. These are offsets from the first of a score; `size` is the
 * distance to the next.
 */
export const SCORE = {
  /** The board's number. */
  board: 0,
  /** First day of the run, epoch day. */
  runDay: 1,
  /** '' without breakdown, and for one who lacks a value of it. */
  group: 2,
  whole: 3,
  micros: 4,
  size: 5,
} as const;
