/**
 * What a script reports, by the names of its fields and positions: records of what happened (also in the outbox) and
 * refusals. Lua and TypeScript use these names (`src/redis/lua-library.ts`); entries of the outbox outlive a version, so
 * what is written must never change.
 */

/** The field that says which kind of record or refusal a map is. A constant of its own: TypeScript narrows by it. */
export const kindField = 'k';

/** Kinds of records. */
export const KIND = {
  /** An event. */
  event: 'e',
  /** A user was created or changed. */
  user: 'u',
  /** An achievement was completed by call. */
  completion: 'c',
  /** The clock or an administrator changed a user's streaks. */
  streaks: 's',
  /** An event was reversed, or a reversal was. */
  reversal: 'k',
  /** A user was deleted. */
  deletion: 'g',
  /** A guard kept an event from being applied, or what it kept was dropped. */
  guarded: 'a',
  /** A user was imported, with what happened elsewhere: nothing of it is announced. */
  imported: 'i',
  /** How far the shard's batches are processed. */
  progress: 'b',
} as const;

/**
 * The positions of an event's record, which is a list; the other records are maps by RECORD, and so were those of events that an earlier
 * version recorded. What an event lacks is false. TypeScript reads both as maps (`recordOf`); RECORD says what each means.
 */
export const EVENT_RECORD = {
  kind: 0,
  id: 1,
  userId: 2,
  atMs: 3,
  day: 4,
  metric: 5,
  /** The value. */
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
  /** Whatever few records have, a map by RECORD; absent: nothing. */
  more: 16,
} as const;

/** The fields of records; `GoneRecord` and `ProgressRecord` say which of them theirs have. */
export const RECORD = {
  kind: kindField,
  /** 32 hex digits of a UUIDv7 whose last 4 are 0; the nth award (from 1) has n there. */
  id: 'i',
  userId: 'u',
  /** Epoch ms. */
  atMs: 'at',
  /** Local day (epoch day) of the user. */
  day: 'd',
  /** 1: the first sight of the user. */
  isNew: 'n',
  /** 1: the user's first event of the UTC day (events). */
  firstOfDay: 'f',
  /** 1: the user's attributes, name or e-mail changed (events; the others do not say). */
  changed: 'a',
  /** Metric number, value and new total as TOTAL without peak (events). */
  metric: 'm',
  value: 'v',
  total: 't',
  /** RECORDED_STREAK in the configured frequency (events). */
  streak: 's',
  /** Numbers of the achievements completed. */
  completed: 'c',
  /** A list of RECORDED_POINTS. */
  points: 'p',
  /** A list of RECORDED_BOARD. */
  boards: 'b',
  /** Event attributes, JSON text. */
  attributes: 'x',
  idempotencyKey: 'ik',
  /** GUARDED: of an event that a guard clamped, and of `KIND.guarded`. */
  guard: 'gd',
  /** 1: the event was released from quarantine (events). */
  released: 'rl',
  /** 1: what Postgres keeps beside the state for the sweep of streaks has changed. */
  due: 'y',
  /** A list of SETTLEMENT. */
  settlements: 'w',
  /** A list of SETTLEMENT of no frequency, by which streaks are replayed (`src/domain/replay-streaks.ts`). */
  beside: 'sb',
  /** When a late event happened, epoch ms, and the local day (epoch day) that it belongs to. */
  occurredMs: 'oc',
  occurredDay: 'od',
  /** Numbers of the stored changes of streaks that no longer hold, as text, and a list of SETTLEMENT that holds instead. */
  superseded: 'su',
  repairs: 'rp',
  /** Freezes earned meanwhile. */
  freezesEarned: 'fe',
  /** Freezes left after all of it. */
  freezes: 'fz',
  /** A list of PAUSE that were made, cut short, or, with the last day before the first, taken back. */
  pauses: 'pa',
  /** 1: an administrator changed the streak. */
  byAdmin: 'ad',
  /** 1: the completions were backdated: nobody is notified. */
  backdated: 'bd',
  /**
   * REVERSAL, of `KIND.reversal`. Metric, value and total are those of the opposite event; it happened when the event at the
   * root did. The day is that of what that one awarded.
   */
  reversal: 'rv',
  /** RECOMPUTATION: what a recomputation gave and took. Its completions are reported to nobody. */
  recomputation: 'rc',
  /** The version of the catalog that it went by: where a streak was extended, something completed or awarded. */
  version: 'cv',
  /** Of a deletion: the user's generation; absent: the first. */
  generation: 'g',
  /** Of `KIND.imported`: lists of IMPORTED_DAY, of IMPORTED_AWARD, and of COMPLETED. */
  days: 'dy',
  awards: 'aw',
  completions: 'cp',
  /** Of `KIND.imported`: the user's zone as its IANA name; '' for UTC. */
  zone: 'z',
  /** Of `KIND.progress`: the progress, see `src/redis/batches.ts`. */
  progress: 'p',
} as const;

/**
 * What a reversal did: 32 hex digits of the event at the root, and of what was reversed; 1 if it reversed the event, 0 if it
 * restored it; lists of COMPENSATED, of those revoked and those restored as COMPLETED; points that could not be taken as
 * SHORTFALL; the length of the streak in the configured frequency that it left nothing of, absent: none.
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
 * What a recomputation did: 32 hex digits of the job; 1 if it took back what the job had done; lists of COMPLETED that were
 * revoked, and that were restored; what was taken as COMPENSATED, without award; points that could not be taken as SHORTFALL;
 * numbers of the achievements that were not as planned; a list of RECOMPUTED_SCORE, absent where boards were not computed again.
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
 * What a recomputation added to a score, awards included: a board's number, the first day (epoch day) of a run, whole, micros, and
 * the groups before and after.
 */
export const RECOMPUTED_SCORE = { board: 0, runDay: 1, whole: 2, micros: 3, oldGroup: 4, group: 5 } as const;

/**
 * What was awarded, to be taken: 32 hex digits of the award, numbers, points; the local day (epoch day) and the time (epoch ms) of
 * the award. Reversals that were stored without these two took awards of their event alone.
 */
export const COMPENSATED = { award: 0, system: 1, trigger: 2, points: 3, day: 4, atMs: 5 } as const;

/** An achievement's number, when it was completed, epoch ms, and 32 hex digits of what completed it; absent: not known. */
export const COMPLETED = { achievement: 0, atMs: 1, causedBy: 2 } as const;

/** A points system's number, and points. */
export const SHORTFALL = { system: 0, points: 1 } as const;

/** What a metric's events of a local day (epoch day) added, and the total after it, in millionths as text. */
export const IMPORTED_DAY = { metric: 0, day: 1, change: 2, total: 3 } as const;

/** What a trigger (0: not known) awarded, the total after it, epoch ms, local day (epoch day), numbers of the boosts applied. */
export const IMPORTED_AWARD = { system: 0, trigger: 1, awarded: 2, after: 3, atMs: 4, day: 5, boosts: 6 } as const;

/** A streak as a record holds it; -1: none. `extended`: 0 or 1. */
export const RECORDED_STREAK = {
  length: 0,
  startDay: 1,
  lastPeriod: 2,
  extended: 3,
  freezes: 4,
  /** How many days off follow from the day on by which to act; absent: none. */
  offDays: 5,
} as const;

/** What a points system's total was and is; a list of AWARD. */
export const RECORDED_POINTS = { system: 0, before: 1, after: 2, awards: 3 } as const;

/** What a trigger awarded, the total after it, numbers of the boosts applied; its local day (epoch day), absent: the record's. */
export const AWARD = { trigger: 0, awarded: 1, after: 2, boosts: 3, day: 4 } as const;

/** A score that changed; rank -1: not on the board. `threshold`: the score of the last rank, 0 while there is room. */
export const RECORDED_BOARD = {
  board: 0,
  runDay: 1,
  group: 2,
  previousRank: 3,
  rank: 4,
  threshold: 5,
  /** The score in the group before and after: only of boards whose ranks a webhook is to hear of. */
  previousScore: 6,
  score: 7,
} as const;

/**
 * What became of a streak over some days: FREQUENCY, SETTLED, epoch days, and a length where SETTLED says so. In repairs the
 * time (epoch ms) of what did not happen now.
 */
export const SETTLEMENT = { frequency: 0, kind: 1, firstDay: 2, lastDay: 3, length: 4, atMs: 5 } as const;

/** Kinds of settlements. */
export const SETTLED = {
  /** A freeze excused the days. */
  freeze: 1,
  /** A pause excused the days. */
  pause: 2,
  /** The streak of that length and those days was lost. */
  lost: 3,
  /** A streak of that length was restored: it began on the first of the days and waits for, or was met on, the last. */
  restored: 4,
  /** A streak of that length and those days gave way to the restored one. */
  replaced: 5,
  /** The days were days off. */
  off: 6,
  /** An administrator reset the streak of that length and those days. */
  reset: 7,
  /** Of no frequency: so many freezes (in the place of the length) were earned on the day. */
  earned: 8,
  /** Of no frequency: an administrator gave so many freezes on the day. */
  given: 9,
  /** Of no frequency: a change of zone made the first day the last one. */
  moved: 10,
} as const;
