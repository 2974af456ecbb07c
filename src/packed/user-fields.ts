/**
 * The packed state of a user, by the names of its positions: msgpack values one after another under one key, and in Postgres
 * the same bytes. Lua and TypeScript use these names (`src/redis/inline-names.ts`); what is stored must never change. So a
 * script holds a state as one list, which costs a fifth of what a map of the same values does (decision 59).
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
  /** UTC day (epoch day) of the last event, -1: none yet; absent: an earlier version wrote it. */
  activeDay: 2,
  /** Metric number → TOTAL. */
  totals: 3,
  /** Achievement or trigger number → TOTAL of the matching events. */
  counts: 4,
  /** Points system number → total. */
  points: 5,
  /** Achievement number → epoch ms of completion. */
  completions: 6,
  /** Flat list of SCORE: by number of the board, newest run first. */
  boards: 7,
  /** Three STREAK, one behind the other, in the order of FREQUENCY: this is the first position of the first. */
  streaks: 8,
  /** IANA name of the time zone; absent: UTC. */
  zone: 26,
  /** The zone's offset from UTC, seconds. */
  offsetSeconds: 27,
  /** Until when that offset holds, epoch ms; absent: for ever. */
  offsetUntilMs: 28,
  /** Attribute number → value. */
  attributes: 29,
  name: 30,
  email: 31,
  freezes: 32,
  /** The user's generation, see `src/redis/idempotency.ts`; absent: the first. */
  generation: 33,
  /** 1: the user wants no e-mails. */
  unsubscribed: 34,
  /** JSON text of a list. */
  deviceTokens: 35,
  /** SIGN_UP; absent: the day is not known. */
  signUp: 36,
  /** The local day (epoch day) from which the next interval of earning freezes counts. */
  earnedDay: 37,
  /** Who hides the user from leaderboards, a sum of HIDDEN_BY; absent: nobody. */
  hidden: 38,
  /** The user's notification preferences: a digit a kind, '-' where nothing is set. */
  notifications: 39,
  /** Metric number → GUARD_SUMS, of metrics with guards. */
  guarded: 40,
  /** Number of a `time` trigger → end of the last period that it paid, epoch ms. */
  timePaid: 41,
  /** How many corrections were made; absent: none. */
  corrections: 42,
  /** A list of PAUSE, by first day. */
  pauses: 43,
  /** STREAK_RULE: the user's own. */
  streakRule: 44,
  /** DAYS_OFF: the user's own. */
  daysOff: 45,
  /** The midnights up to then (epoch ms) are settled by earlier settings. */
  settledMs: 46,
  /** The local day (epoch day) that had begun when the user moved west; absent where no day came twice. */
  begunDay: 47,
  /**
   * Points system number → points that reversals could not take, which are set off against what later ones give; below 0: those
   * that they could not give, which are set off against what later ones take.
   */
  owed: 48,
  /** The last step of a recomputation that was made of the user, see `lua/recompute_users.lua`; absent: none. */
  recomputed: 49,
  /** The name of the import that brought the user; absent: none did. */
  importedBy: 50,
  /** When, epoch ms: nothing up to then is given or taken by a recomputation; absent: never. */
  importedMs: 51,
} as const;

/** How many positions there are. */
export const STATE_SIZE = 52;

/**
 * A state as earlier versions wrote it: one map with these fields, its streaks a list of lists, its boards a
 * list of SCORE without the board by number of the board. It is read
 * (`lua/lib/packed_state.lua`, `src/packed/old-state.ts`), and written in the present form when the user changes.
 */
export const OLD_USER = {
  createdMs: 'c',
  updatedMs: 'up',
  activeDay: 'ad',
  totals: 'm',
  counts: 'f',
  points: 'p',
  completions: 't',
  boards: 'b',
  streaks: 's',
  zone: 'z',
  offsetSeconds: 'zo',
  offsetUntilMs: 'zu',
  attributes: 'a',
  name: 'n',
  email: 'e',
  freezes: 'fz',
  generation: 'g',
  unsubscribed: 'un',
  deviceTokens: 'd',
  signUp: 'su',
  earnedDay: 'fe',
  hidden: 'hi',
  notifications: 'np',
  guarded: 'gd',
  timePaid: 'tp',
  corrections: 'co',
  pauses: 'pa',
  streakRule: 'sp',
  daysOff: 'of',
  settledMs: 'se',
  begunDay: 'sd',
  owed: 'ow',
  recomputed: 'rc',
  importedBy: 'im',
  importedMs: 'it',
} as const satisfies Record<keyof typeof USER, string>;

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
