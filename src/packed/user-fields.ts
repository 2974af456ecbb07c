/**
 * Names of the positions in a user's packed state: concatenated msgpack values in one Redis key, and the same bytes in
 * Postgres. Lua and TypeScript use these names (`src/redis/lua-library.ts`). Stored positions must never change. A script
 * keeps the state as one list, which costs a fifth of a map with the same values (decision 1).
 */

/**
 * Positions of the fields. Missing fields are nil, and nil after the last field is not stored, so common fields come first.
 * A new field gets the next position.
 */
export const USER = {
  createdMs: 0,
  updatedMs: 1,
  /** UTC day (epoch day) of the last event; -1 before the first. */
  activeDay: 2,
  /**
   * UTC day (modulo USED_KEYS.days) times USED_KEYS.day, plus the number of idempotency keys used on that day. Absent if
   * none was ever used.
   */
  usedKeys: 3,
  /** Metric number → TOTAL. */
  totals: 4,
  /** Achievement or trigger number → TOTAL of the matching events. */
  counts: 5,
  /** Points system number → total. */
  points: 6,
  /** Achievement number → epoch ms of completion. */
  completions: 7,
  /** Flat list of SCOREs, by number of the leaderboard, newest run first. */
  boards: 8,
  /** Three STREAKs in a row, in the order of FREQUENCY; this is the first position of the first one. */
  streaks: 9,
  /** IANA name of the time zone; absent for UTC. */
  zone: 27,
  /** The zone's offset from UTC, seconds. */
  offsetSeconds: 28,
  /** End of the offset's validity (epoch ms); absent if unlimited. */
  offsetUntilMs: 29,
  /** Attribute number → value. */
  attributes: 30,
  name: 31,
  email: 32,
  freezes: 33,
  /** The user's generation, see `src/redis/idempotency.ts`; absent for the first. */
  generation: 34,
  /** 1 if the user wants no emails. */
  unsubscribed: 35,
  /** A JSON array. */
  deviceTokens: 36,
  /**
   * Sign-up date (epoch day), the full years that the clock has counted since, and when the date was set or the zone changed
   * (epoch ms); absent if unknown.
   */
  signUp: 37,
  /** The local day (epoch day) from which the next earning interval counts. */
  earnedDay: 38,
  hidden: 39,
  /** Notification preferences: one digit per kind, `-` if not set. */
  notifications: 40,
  /**
   * Metric number → sums of guarded events, for metrics with guards: UTC hour and its sum (whole, micros), local day and its sum, time of
   * the last event (ms).
   */
  guarded: 41,
  /** Number of what pays only once for a time (a `time` trigger for a period) → the latest time that was paid, epoch ms. */
  paidMs: 42,
  /** Number of corrections; absent for none. */
  corrections: 43,
  pauses: 44,
  /**
   * The user's own rule: enabled and all (0, 1 or -1: same as for everyone), and a list of metric, whole, micros: the sum that the
   * metric must reach in a period (empty: same as for everyone).
   */
  streakRule: 45,
  /** The user's own sets of weekdays (`src/domain/periods.ts`): the set, from which day on, the set before it; -1: as for everyone. */
  daysOff: 46,
  /** Midnights up to this time (epoch ms) are settled, under earlier settings. */
  settledMs: 47,
  /** The local day (epoch day) that had begun when the user moved west; absent if no day occurred twice. */
  begunDay: 48,
  /**
   * Points system number → points that reversals could not take, deducted from what later ones give. Negative: points that
   * they could not give, deducted from what later ones take.
   */
  owed: 49,
  /** The last recomputation step applied to the user, see `src/rules/recomputation.ts`; absent for none. */
  recomputed: 50,
  /** Name of the import that brought the user; absent for none. */
  importedBy: 51,
  /** When the user was imported (epoch ms); absent if not. Recomputations change nothing from before. */
  importedMs: 52,
  /** Points system number → points spent and not refunded, or expired; without open holds. */
  spent: 53,
  /** Flat list of HOLDs, oldest first: those not yet closed. Expired ones stay until the next change of a balance. */
  holds: 54,
  /** Flat list of SCORE_TIMEs, of scores on leaderboards that need them; absent for none. */
  scoreTimes: 55,
  /**
   * Number of a repeating achievement → times completed, and its QUEST_PERIODS, newest first: number of the period
   * (`src/domain/repeat.ts`), sum of the events that count in it (whole, micros), and 1 if it was completed, else 0. Absent if events
   * of none counted.
   */
  quests: 56,
  /** Flat list of STAYs, in the order in which they began; absent for none. */
  teams: 57,
  /** List of METADATA, those of the oldest events first; absent for none. */
  metadata: 58,
  /** Events wait until then (epoch ms), because the user is being merged; absent for no such time. */
  heldUntilMs: 59,
  /** Flat list of SCORE_SECONDARYs, of scores on leaderboards with a secondary score; absent for none. */
  secondaries: 60,
} as const;

export const STATE_SIZE = 61;

/** JSON that an event (32 hex digits) sent, and the leaderboards' runs that show it: numbers and first days in one list. */
export const METADATA = { event: 0, json: 1, runs: 2 } as const;

/**
 * `day`: greater than the number of keys that a user may use per day. `days`: days are counted modulo this, so that the sum
 * fits into 32 bits. A wrap-around after eleven years refuses nobody.
 */
export const USED_KEYS = { day: 2 ** 20, days: 2 ** 12 } as const;

/** Who may hide a user from leaderboards. */
export const HIDDEN_BY = { admin: 1, user: 2 } as const;

export const TOTAL = {
  whole: 0,
  micros: 1,
  /** Whole part of the highest total ever; absent if the current total is the highest. */
  peak: 2,
} as const;

/** A streak in one frequency; -1 means none. Offsets from its first position; `size`: distance to the next frequency. */
export const STREAK = {
  length: 0,
  /** Local day (epoch day) on which the first period began. */
  startDay: 1,
  /** Index of the last period that was met or excused. */
  lastPeriod: 2,
  /** Epoch ms of the event that met it. */
  extendedMs: 3,
  currentPeriod: 4,
  /** Metric number → TOTAL of the current period, without peak; absent for none. */
  sums: 5,
  size: 6,
} as const;

/** Stored numbers of streak frequencies. */
export const FREQUENCY = { none: 0, daily: 1, weekly: 2, monthly: 3 } as const;

/**
 * Points that are held for a spending that is not certain yet: number of the points system, ID (32 hex digits), amount, time
 * of expiry (epoch ms). `most`: the limit per user and points system. `size`: distance to the next hold.
 */
export const HOLD = { system: 0, id: 1, amount: 2, expiresMs: 3, size: 4, most: 50 } as const;

/** A pause of streaks: first and last local day (epoch days), 32 hex digits of a UUID. */
export const PAUSE = { firstDay: 0, lastDay: 1, id: 2 } as const;

/**
 * Periods that a state keeps of each repeating achievement: the latest ones with events. Two changes of zone can take a user back
 * two days, so a user's current period is always among them.
 */
export const QUEST_PERIODS = { most: 3 } as const;

/**
 * A score in a run of a leaderboard. One list holds all scores of a user. Offsets from a score's first position; `size`:
 * distance to the next score.
 */
export const SCORE = {
  board: 0,
  /** First day of the run, epoch day. */
  runDay: 1,
  /** `''` without a breakdown, and for users who lack a value of it. */
  group: 2,
  /** On leaderboards in ascending order, the negated value: the highest score is always the best. */
  whole: 3,
  micros: 4,
  size: 5,
} as const;

/**
 * When a user reached the score in a run of a leaderboard (epoch, microseconds), in one list like SCOREs. Negative for a sum
 * of events that all had the value 0, which is reached at the first of them; other sums are reached at the last other event.
 */
export const SCORE_TIME = { board: 0, runDay: 1, reached: 2, size: 3 } as const;

/** The rank number (`src/domain/secondary-score.ts`) of the secondary score of a score that is in the list of SCORE_TIMEs. */
export const SCORE_SECONDARY = { board: 0, runDay: 1, secondary: 2, size: 3 } as const;

/**
 * What a user earned in a run of a leaderboard while in a team, until the next stay of the run begins. Offsets as in SCORE.
 */
export const STAY = {
  board: 0,
  /** First day of the run, epoch day. */
  runDay: 1,
  /** When the user first earned something in this team (epoch ms). */
  sinceMs: 2,
  /** `''` for none. */
  team: 3,
  whole: 4,
  micros: 5,
  size: 6,
} as const;

/** Maximum number of stays of a user in a run; later changes of team do not count in it. */
export const MOST_STAYS = 8;

/** `latest`: the time from which times are subtracted in members of sorted sets; see `timedMember` (src/packed/state.ts). */
export const TIMED_MEMBER = { latest: 2 ** 53 - 1 } as const;
