/** Names of the fields and positions in data that TypeScript passes to scripts, or that scripts pass to each other. */

export const QUEUED_BATCH = {
  tenant: 't',
  /** Epoch ms. */
  acceptedMs: 'a',
  /** Version of the catalog that validated its events. */
  catalogVersion: 'c',
  /** 1 if a caller waits. */
  awaited: 'w',
  events: 'e',
} as const;

/** Fields of a batch's results. Each step adds another field, named after the progress it reached. */
export const BATCH_RESULT = { answered: 'n' } as const;

/**
 * Fields of the hash of a run's teams (`teamsKey`), each followed by the team. Whole parts and millionths are sums over the
 * members, so the millionths may exceed a million.
 */
export const TEAM_SUM = { whole: 'w', micros: 'm', members: 'n' } as const;

/**
 * A user's score in a run by history: the run's first day (epoch day), whole and micros, and when it was reached (see SCORE_TIME).
 * `whole` is NO_SCORE if the user has none, on leaderboards on which 0 is a score.
 */
export const HISTORY_SUM = { runDay: 0, whole: 1, micros: 2, reached: 3, secondary: 4 } as const;

/** An event of a batch that was not applied: its index in the batch, then UNSENT. */
export const UNSENT_EVENT = { index: 0, code: 1, message: 2 } as const;

/** Result of a batch step. */
export const STEP = {
  /** Nothing was done, because the batch's progress was different. */
  passed: 'passed',
  /** Nothing was done, because some events require questions to Postgres first. */
  held: 'held',
  done: 'done',
} as const;

/** Fields of a tenant's counters. */
export const COUNTER = {
  users: 'users',
  /** Prefix of an achievement's number: how many users completed it. */
  completions: 'a',
  /** Increases with every deleted or merged user. */
  generation: 'd',
} as const;

export const completionsField = (achievementNo: number): string => `${COUNTER.completions}${achievementNo}`;

/** Fields of an outbox entry. The last two occur once per user. */
export const OUTBOX = { tenant: 't', records: 'r', user: 'u', state: 's' } as const;

/**
 * Fields in the hash of a tenant's old idempotency keys. `large`: hot keys are also in narrow buckets
 * (`src/redis/idempotency.ts`).
 */
export const OLD_KEYS = { segments: 's', keys: 'n', large: 'w' } as const;

/** Fields in the hash of tenants with live stream listeners, besides the tenants' numbers. */
export const LISTENED = {
  /** The oldest kept position, if entries had to make room. */
  recentFloor: 'r',
  announcedFloor: 'a',
  /** Prefix of a tenant's number: who listens; see `lua/lib/live_streams.lua`. */
  listeners: 'l',
} as const;

/** Positions in the hash about entries that left the outbox; see `src/redis/handed-over.ts`. */
export const HANDED = {
  /** Entries up to here have left. */
  position: 'p',
  /** Entries that left after this position are kept; if missing, all that exist are. */
  floor: 'f',
} as const;

export const ANNOUNCED = { tenant: 't', notification: 'n' } as const;
