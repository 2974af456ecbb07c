/**
 * The packed state of a user, by the names of its fields and positions: one msgpack map under one key, and in Postgres the
 * same bytes. Lua and TypeScript use these names (`src/redis/inline-names.ts`); what is stored must never change.
 */

/** The fields of the map. Absent ones are nil in Lua. */
export const USER = {
  /** When the user was first seen, epoch ms. */
  createdMs: 'c',
  /** When the user was last changed, epoch ms. */
  updatedMs: 'up',
  /** UTC day (epoch day) of the last event, -1: none yet; absent: an earlier version wrote it. */
  activeDay: 'ad',
  name: 'n',
  email: 'e',
  /** IANA name of the time zone; absent: UTC. */
  zone: 'z',
  /** The zone's offset from UTC, seconds. */
  offsetSeconds: 'zo',
  /** Until when that offset holds, epoch ms; absent: for ever. */
  offsetUntilMs: 'zu',
  /** JSON text of a list. */
  deviceTokens: 'd',
  /** 1: the user wants no e-mails. */
  unsubscribed: 'un',
  /** Attribute number → value. */
  attributes: 'a',
  /** Metric number → TOTAL. */
  totals: 'm',
  /** Achievement or trigger number → TOTAL of the matching events. */
  counts: 'f',
  /** FREQUENCY → STREAK. */
  streaks: 's',
  freezes: 'fz',
  /** The local day (epoch day) from which the next interval of earning freezes counts. */
  earnedDay: 'fe',
  /** The midnights up to then (epoch ms) are settled by earlier settings. */
  settledMs: 'se',
  /** The local day (epoch day) that had begun when the user moved west; absent where no day came twice. */
  begunDay: 'sd',
  /** A list of PAUSE, by first day. */
  pauses: 'pa',
  /** The user's notification preferences: a digit a kind, '-' where nothing is set. */
  notifications: 'np',
  /** STREAK_RULE: the user's own. */
  streakRule: 'sp',
  /** DAYS_OFF: the user's own. */
  daysOff: 'of',
  /** SIGN_UP; absent: the day is not known. */
  signUp: 'su',
  /** Points system number → total. */
  points: 'p',
  /** Achievement number → epoch ms of completion. */
  completions: 't',
  /** Number of a `time` trigger → end of the last period that it paid, epoch ms. */
  timePaid: 'tp',
  /** Board number → flat list of SCORE. */
  boards: 'b',
  /** Metric number → GUARD_SUMS, of metrics with guards. */
  guarded: 'gd',
  /** Points system number → points that reversals could not take: what later reversals give is set off against them. */
  owed: 'ow',
  /** How many corrections were made; absent: none. */
  corrections: 'co',
  /** The last step of a recomputation that was made of the user, see `lua/recompute_users.lua`; absent: none. */
  recomputed: 'rc',
  /** Who hides the user from leaderboards, a sum of HIDDEN_BY; absent: nobody. */
  hidden: 'hi',
  /** The user's generation, see `src/redis/idempotency.ts`; absent: the first. */
  generation: 'g',
  /** The name of the import that brought the user; absent: none did. */
  importedBy: 'im',
  /** When, epoch ms: nothing up to then is given or taken by a recomputation; absent: never. */
  importedMs: 'it',
  /** The last change by an administrator: earlier versions kept it here, this one removes it. */
  earlierChange: 'ac',
} as const;

/** Who may hide a user from leaderboards. */
export const HIDDEN_BY = { admin: 1, user: 2 } as const;

/** A sum of decimals, in the order of `Decimal`. */
export const TOTAL = {
  whole: 0,
  micros: 1,
  /** Whole part of the highest total ever; absent where the total is the highest. */
  peak: 2,
} as const;

/** A streak in one frequency; -1: none. */
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
  /** Metric number → TOTAL of the current period, without peak. */
  sums: 5,
} as const;

/** Frequencies of streaks, as they are stored, and as positions in `USER.streaks`. */
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
 * A score in a run of a board: one list holds all of a user's on the board, newest run first. These are offsets from the
 * first of a score; `size` is the distance to the next.
 */
export const SCORE = {
  /** First day of the run, epoch day. */
  runDay: 0,
  /** '' without breakdown, and for one who lacks a value of it. */
  group: 1,
  whole: 2,
  micros: 3,
  size: 4,
} as const;
