/** Names of the fields and positions in data that TypeScript passes to scripts, or that scripts pass to each other. */

/**
 * Keys of every call that changes a tenant's users: the shard's outbox, the tenant's counters; the script's own keys start
 * at `own`.
 */
export const CALL_KEY = { outbox: 0, counters: 1, own: 2 } as const;

export const CALL_ARG = {
  /** Epoch ms. */
  nowMs: 0,
  tenantNo: 1,
  boardPrefix: 2,
  pointsPrefix: 3,
  /** `''` for a first try; for a retry, an outbox position from before the first try. */
  retryPosition: 4,
  /** `'1'` if other shards hold users of the tenant, too: ranks are not counted (`NO_RANK.unranked`). */
  wide: 5,
  /** JSON of `src/catalog/plan.ts`, or `''`. */
  plan: 6,
  /** JSON; each script describes its own. */
  body: 7,
  /** Packed states start here; they are not JSON. */
  states: 8,
} as const;

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
export const BATCH_RESULT = {
  answered: 'n',
} as const;

export const LEFT = { offsetSeconds: 0, untilMs: 1 } as const;

/** A row of a plan's periods: those of one local day (epoch day), then their first days. */
export const ROW = { day: 0, week: 1, month: 2, dayStart: 3, weekStart: 4, monthStart: 5 } as const;

/** Offset from the position of a FREQUENCY's period in a ROW to that of the period's first day. */
export const ROW_OFFSET = { start: 3 } as const;

/** Earning of freezes: interval in days, amount, maximum, since when (epoch ms). */
export const EARNING = { days: 0, amount: 1, max: 2, sinceMs: 3 } as const;

export const CONDITION = { attribute: 0, value: 1 } as const;

/** Whole part of the highest total, before and after an event. */
export const PEAK = { before: 0, after: 1 } as const;

/**
 * A user's change on a leaderboard: the plan's leaderboard, the first day of the run (epoch day), the groups and scores
 * before and after (a score <= 0: in no sorted set), and whether only the group changed.
 */
export const CHANGE = {
  board: 0,
  runDay: 1,
  group: 2,
  oldGroup: 3,
  oldScore: 4,
  score: 5,
  onlyGroup: 6,
  /** A list of TEAM_MOVE; absent for none. */
  teams: 7,
  /** When the old and the new score were reached; only on leaderboards with `ties`. */
  oldReached: 8,
  reached: 9,
} as const;

/** A change of what a team earned in a run: whole, micros, and number of members who earned something. */
export const TEAM_MOVE = { team: 0, whole: 1, micros: 2, members: 3 } as const;

/**
 * Fields of the hash of a run's teams (`teamsKey`), each followed by the team. Whole parts and millionths are sums over the
 * members, so the millionths may exceed a million.
 */
export const TEAM_SUM = { whole: 'w', micros: 'm', members: 'n' } as const;

/** A record to write, with its CHANGEs. */
export const APPLIED = { record: 0, changes: 1 } as const;

/**
 * A user's score in a run by history: the run's first day (epoch day), whole and micros, and when it was reached (see SCORE_TIME).
 * `whole` is NO_SCORE if the user has none, on leaderboards on which 0 is a score.
 */
export const HISTORY_SUM = { runDay: 0, whole: 1, micros: 2, reached: 3 } as const;

/** An event of a batch that was not sent to the script: its index in the batch, then UNSENT. */
export const UNSENT_EVENT = { index: 0, code: 1, message: 2 } as const;

export const RECOMPUTED = {
  /** Something was given or taken. */
  changed: 1,
  /** An earlier try of the step already did it. */
  done: 2,
  /** Nothing of the plan was left to do. */
  nothing: 3,
  /** The user has been deleted. */
  gone: 4,
  /** The packed state would exceed `STATE_BYTES`. */
  large: 5,
  /** An event of the user has been reversed or restored since. */
  corrected: 6,
} as const;

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
  /** Increases with every deleted user. */
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
