/**
 * Names of the fields and positions of a script's results: records (which the outbox also contains) and refusals. Lua and
 * TypeScript use these names (`src/redis/lua-library.ts`). Outbox entries outlive a version, so written values must never
 * change.
 */

/** The field with the kind of a record or refusal. A separate constant, by which TypeScript narrows types. */
export const kindField = 'k';

export const KIND = {
  event: 'e',
  user: 'u',
  /** An API call completed an achievement. */
  completion: 'c',
  /** The clock or an administrator changed a user's streaks. */
  streaks: 's',
  /** An event or a reversal was reversed. */
  reversal: 'k',
  deletion: 'g',
  /** A guard stopped an event, or a quarantined event was dropped. */
  guarded: 'a',
  /** A user was imported with a history from elsewhere. Nothing of it is announced. */
  imported: 'i',
  /** A user was merged into another: one record about each of the two, in one entry. */
  merge: 'm',
  /** The progress of the shard's batches. */
  progress: 'b',
} as const;

/**
 * Positions in an event's record, which is a list. Other records are maps by RECORD, as were event records of an earlier
 * version. Fields that an event lacks are `false`. TypeScript reads both as maps (`recordOf`); RECORD describes the fields.
 */
export const EVENT_RECORD = {
  kind: 0,
  id: 1,
  userId: 2,
  atMs: 3,
  day: 4,
  metric: 5,
  whole: 6,
  micros: 7,
  totalWhole: 8,
  totalMicros: 9,
  streak: 10,
  points: 11,
  version: 12,
  attributes: 13,
  idempotencyKey: 14,
  boards: 15,
  /** Rare fields, as a map by RECORD; absent if there are none. */
  more: 16,
} as const;

export const RECORD = {
  kind: kindField,
  /** 32 hex digits of a UUIDv7 that ends in 4 zeros. The nth award (from 1) has n in these digits. */
  id: 'i',
  userId: 'u',
  atMs: 'at',
  /** Local day (epoch day) of the user. */
  day: 'd',
  /** 1 if the record created the user. */
  isNew: 'n',
  /** For the user's first event on a UTC day: the UTC day of the event before it, -1 for none (events). */
  activeBefore: 'f',
  /** 1 if the user's attributes, name or email address changed (events only). */
  changed: 'a',
  /** Metric number, value and new total as TOTAL without peak (events). */
  metric: 'm',
  value: 'v',
  total: 't',
  /** RECORDED_STREAK in the configured frequency (events). */
  streak: 's',
  completed: 'c',
  /** RECORDED_QUESTs: repeating achievements in whose period the record counts, or that it completed. */
  quests: 'q',
  /** RECORDED_POINTS. */
  points: 'p',
  /** RECORDED_BOARDs. */
  boards: 'b',
  /** Event attributes, JSON text. */
  attributes: 'x',
  idempotencyKey: 'ik',
  /** GUARDED, of clamped events and of `KIND.guarded`. */
  guard: 'gd',
  /** 1 if the event was released from quarantine (events). */
  released: 'rl',
  /** 1 if data changed that Postgres keeps separately for the streak sweep. */
  due: 'y',
  settlements: 'w',
  /** SETTLEMENTs of no frequency, which replays of streaks need (`src/domain/streaks/replay.ts`). */
  beside: 'sb',
  /** When a late event happened (epoch ms), and the local day to which it belongs (epoch day). */
  occurredMs: 'oc',
  occurredDay: 'od',
  /** Numbers of stored streak changes that no longer hold, as text, and the SETTLEMENTs that replace them. */
  superseded: 'su',
  repairs: 'rp',
  freezesEarned: 'fe',
  /** Freezes left afterwards. */
  freezes: 'fz',
  /** PAUSEs that were created, shortened or (last day before the first) cancelled. */
  pauses: 'pa',
  /** 1 if an administrator changed the streak. */
  byAdmin: 'ad',
  /** 1 if the completions were backdated, so that nobody is notified. */
  backdated: 'bd',
  /**
   * REVERSAL, of `KIND.reversal`. Metric, value and total are those of the opposite event, whose time is that of the root
   * event. Its day is that of the root event's awards.
   */
  reversal: 'rv',
  /** RECOMPUTATION. Its completions are not announced. */
  recomputation: 'rc',
  /** Version of the catalog, if a streak was extended or something was completed or awarded. */
  version: 'cv',
  /** For deletions: the user's generation; absent for the first. */
  generation: 'g',
  /** For `KIND.imported`: IMPORTED_DAYs, IMPORTED_AWARDs and COMPLETEDs. */
  days: 'dy',
  awards: 'aw',
  completions: 'cp',
  /** For `KIND.imported`: IANA name of the user's zone; `''` for UTC. */
  zone: 'z',
  /** For `KIND.imported`: RECORDED_TIERs; absent without any. */
  tiers: 'ti',
  /** MERGED, of the record about the remaining user of a merge. */
  merged: 'mg',
  /** Of a user who is sealed for a merge across shards: the user who remains. */
  sealed: 'sl',
  /** The ID of the seal (32 hex digits) that ends: the user was merged, or the merge was given up. */
  unsealed: 'us',
  /** BALANCE_CHANGE. */
  balance: 'ba',
  /** RANKED, of a reward for a rank in a final run. */
  ranked: 'rk',
  /** RECORDED_LEAGUEs: leaderboards with leagues on which the user's score changed. */
  leagues: 'lg',
  /** For `KIND.progress`: see `src/redis/batches.ts`. */
  progress: 'p',
} as const;

/** Number of the leaderboard, and the tier from 0. */
export const RECORDED_TIER = { board: 0, tier: 1 } as const;

/** Number of the leaderboard, first day of the run, and the group. */
export const RECORDED_LEAGUE = { board: 0, runDay: 1, group: 2 } as const;

/**
 * A merge: the ID of the user who is gone, that user's generation (-1 for the first), whose changes of streaks hold (MERGED_STREAKS), the
 * answer as JSON text, and the ID of the seal if the users were on different shards.
 */
export const MERGED = { from: 0, generation: 1, streaks: 2, answer: 3, seal: 4 } as const;

/** Whose changes of streaks hold after a merge: those of the remaining user, which the record may replace, or those of the other. */
export const MERGED_STREAKS = { into: 0, from: 1 } as const;

/** Number of the leaderboard, first day of the run, the group, and the user's rank and score in it. */
export const RANKED = { board: 0, runDay: 1, group: 2, rank: 3, score: 4 } as const;

/**
 * A reversal: the root event and the reversed event (32 hex digits each); 1 if the root was reversed, 0 if it was restored;
 * a list of COMPENSATEDs; the revoked and the restored COMPLETEDs; points that could not be taken, as SHORTFALLs; the length
 * of the streak in the configured frequency if nothing is left of it, otherwise absent.
 */
export const REVERSAL = {
  root: 0,
  reversed: 1,
  voids: 2,
  awards: 3,
  revoked: 4,
  restored: 5,
  shortfalls: 6,
  endedStreak: 7,
} as const;

/**
 * A recomputation: ID of the job (32 hex digits); 1 if it reverts the job; the revoked and the restored COMPLETEDs; points
 * taken, as COMPENSATEDs without award; points that could not be taken, as SHORTFALLs; numbers of achievements whose state
 * differed from the plan; RECOMPUTED_SCOREs, absent if leaderboards were not recomputed.
 */
export const RECOMPUTATION = {
  job: 0,
  reverts: 1,
  revoked: 2,
  restored: 3,
  awards: 4,
  shortfalls: 5,
  skipped: 6,
  scores: 7,
} as const;

/**
 * A recomputation's change of a score, including awards: number of the leaderboard, first day of the run (epoch day), whole,
 * micros, and the groups before and after. On leaderboards on which 0 is a score, also HISTORY_SUMs before and after instead
 * of a difference.
 */
export const RECOMPUTED_SCORE = {
  board: 0,
  runDay: 1,
  whole: 2,
  micros: 3,
  oldGroup: 4,
  group: 5,
  was: 6,
  is: 7,
} as const;

/**
 * An award to take: its ID (32 hex digits), numbers, points, local day (epoch day) and time (epoch ms). Reversals that were
 * stored without the last two took only awards of their own event.
 */
export const COMPENSATED = { award: 0, system: 1, trigger: 2, points: 3, day: 4, atMs: 5 } as const;

/**
 * Number of an achievement, time of its completion (epoch ms), ID of the cause (32 hex digits; absent, `null` or false if unknown),
 * and the period of a repeating achievement (absent for others).
 */
export const COMPLETED = { achievement: 0, atMs: 1, causedBy: 2, period: 3 } as const;

/**
 * A repeating achievement's number and period, how often the user has completed it, the sum of the period, and whether the period
 * is completed: 0 no, 1 by this record, 2 earlier. Those of 1 are also in the record's `completed`, in the same order.
 */
export const RECORDED_QUEST = { achievement: 0, period: 1, times: 2, whole: 3, micros: 4, completed: 5 } as const;

/** Number of a points system, and points. */
export const SHORTFALL = { system: 0, points: 1 } as const;

/** Sum of a metric's events on a local day (epoch day), and the total after it, in millionths as text. */
export const IMPORTED_DAY = { metric: 0, day: 1, change: 2, total: 3 } as const;

/**
 * A trigger's award (trigger 0: unknown): points, the total after it, epoch ms, local day (epoch day), numbers of the boosts
 * applied.
 */
export const IMPORTED_AWARD = { system: 0, trigger: 1, awarded: 2, after: 3, atMs: 4, day: 5, boosts: 6 } as const;

/** A streak in a record; -1 means none. `extended`: 0 or 1. */
export const RECORDED_STREAK = {
  length: 0,
  startDay: 1,
  lastPeriod: 2,
  extended: 3,
  freezes: 4,
  /** Number of days off that directly follow the expiry day; absent for none. */
  offDays: 5,
} as const;

/** A points system's total before and after, and a list of AWARDs. */
export const RECORDED_POINTS = { system: 0, before: 1, after: 2, awards: 3 } as const;

/**
 * A change of a user's balance in a points system: the system's number, BALANCE, amount, balance after it; ID (32 hex
 * digits) of the spending or hold that it closes; expiry of a hold (epoch ms); reason, reference and idempotency key of the
 * request; the local day (epoch day) on which a hold, or the hold that it closes, ends by itself. `false` for what it lacks, and
 * the last two may be absent: the number of the reward that a spending pays for is only in claims. The total of the points does not change.
 */
export const BALANCE_CHANGE = {
  system: 0,
  kind: 1,
  amount: 2,
  balance: 3,
  of: 4,
  expiresMs: 5,
  reason: 6,
  reference: 7,
  idempotencyKey: 8,
  holdEndDay: 9,
  reward: 10,
} as const;

/** A captured hold is a spending. Stored numbers must never change. */
export const BALANCE = { spend: 1, hold: 2, capture: 3, release: 4, refund: 5, expire: 6 } as const;

/**
 * A trigger's award, the total after it, numbers of the boosts applied, and its local day (epoch day; absent: that of the
 * record).
 */
export const AWARD = { trigger: 0, awarded: 1, after: 2, boosts: 3, day: 4 } as const;

/**
 * A changed score. `threshold`: the score of the last rank; the leaderboard's floor (`floorOf`) if there is room. Ranks: `off` if the user is not on the
 * leaderboard; `unranked` for a wide tenant, until `addRanks` (src/engine/leaderboards/wide-ranks.ts) counts them.
 */
export const RECORDED_BOARD = {
  board: 0,
  runDay: 1,
  group: 2,
  previousRank: 3,
  rank: 4,
  threshold: 5,
  /** The score in the group before and after; only for leaderboards whose ranks a webhook reports, and on wide tenants. */
  previousScore: 6,
  score: 7,
  /**
   * When these scores were reached (epoch, microseconds); only on wide tenants, on leaderboards that rank equal scores by it. On those
   * with a secondary score, the text with which members begin (`tiePrefix`).
   */
  previousReached: 8,
  reached: 9,
} as const;

/** Values in place of a rank: not on the leaderboard; not counted yet. */
export const NO_RANK = { off: -1, unranked: -2 } as const;

/**
 * A change to a streak: FREQUENCY, SETTLED, first and last epoch day, and a length if SETTLED says so. In repairs also the
 * time (epoch ms) of changes that did not happen now.
 */
export const SETTLEMENT = { frequency: 0, kind: 1, firstDay: 2, lastDay: 3, length: 4, atMs: 5 } as const;

export const SETTLED = {
  freeze: 1,
  pause: 2,
  /** The streak of this length and these days was lost. */
  lost: 3,
  /** A streak of this length was restored. It began on the first day and waits for the last one, or was met on it. */
  restored: 4,
  /** A restored streak replaced the streak of this length and these days. */
  replaced: 5,
  off: 6,
  /** An administrator reset the streak of this length and these days. */
  reset: 7,
  /** Of no frequency: freezes were earned on the day. Their number is in place of the length. */
  earned: 8,
  /** Of no frequency: an administrator gave this number of freezes on the day. */
  given: 9,
  /** Of no frequency: a change of zone moved the user from the first day to the last. */
  moved: 10,
} as const;
