/** What TypeScript hands to scripts, and what scripts hand on among themselves, by the names of fields and positions. */

/** The keys of every call that changes users of a tenant: its shard's outbox, its counters; from `own` on those of the script. */
export const CALL_KEY = { outbox: 0, counters: 1, own: 2 } as const;

/** The arguments of every such call; those of `record_events` go on by EVENTS_ARG. */
export const CALL_ARG = {
  /** Epoch ms. */
  nowMs: 0,
  tenantNo: 1,
  boardPrefix: 2,
  pointsPrefix: 3,
  /** '' for a first try, else a position in the outbox from before it. */
  retryPosition: 4,
  /** JSON of `src/catalog/plan.ts`; '' for none. */
  plan: 5,
  /** JSON; each script says what it has. */
  body: 6,
  /** From here on packed states, which are no JSON. */
  states: 7,
} as const;

/** Arguments of `record_events` behind the retry position; `firstPlan`: the first of them. */
export const EVENTS_ARG = { plans: 5, lookedUp: 6, oldKeys: 7, keysPerDay: 8, firstPlan: 9 } as const;

/** The arguments of one event of a call of `record_events`, as offsets from its first; `size`: how many there are. */
export const EVENT = {
  /** Index of the plan in the call, from 1. */
  plan: 0,
  userId: 1,
  /** 32 hex digits. */
  id: 2,
  whole: 3,
  micros: 4,
  /** Field of the idempotency key in its bucket, '' for none. */
  keyField: 5,
  idempotencyKey: 6,
  /** SENT, JSON; '' for none. */
  sent: 7,
  /** Numbers of the achievements and triggers that count the event, comma separated. */
  counted: 8,
  /** The user's own boosts, JSON; '' for none. */
  boosts: 9,
  /** Event attributes, JSON; '' for none. */
  attributes: 10,
  size: 11,
} as const;

/** The keys of one event of such a call: its user, the bucket of its idempotency key. */
export const EVENT_KEY = { user: 0, bucket: 1, size: 2 } as const;

/** The keys of a step of a batch, behind those of its events. */
export const BATCH_KEY = { progress: 0, queue: 1, results: 2, listened: 3 } as const;

/** The arguments of a step of a batch, behind those of its events. */
export const BATCH_ARG = { expected: 0, after: 1, finished: 2, wanted: 3 } as const;

/** Fields of a queued batch, in their order. */
export const QUEUED_BATCH = {
  tenant: 't',
  /** Epoch ms. */
  acceptedMs: 'a',
  /** Version of the catalog that its events were checked with. */
  catalogVersion: 'c',
  /** 1: a caller waits. */
  awaited: 'w',
  /** JSON text. */
  events: 'e',
} as const;

/** Fields of a batch's results; the others are a step's each, named by the progress after it. */
export const BATCH_RESULT = {
  /** How many events are answered. */
  answered: 'n',
} as const;

/** What Postgres says of an idempotency key: the token it was asked with; the use, 0 for none. */
export const LOOKED_UP = { token: 0, use: 1 } as const;

/** The user fields and preferences of a request; false clears. */
export const SENT = {
  name: 'n',
  email: 'e',
  /** JSON text of a list. */
  deviceTokens: 'd',
  /** Subscribe to e-mails. */
  subscribe: 'sub',
  /** Attribute number → value. */
  attributes: 'a',
  /** IANA name of a new time zone. */
  zone: 'z',
  /** Instead of `zone`: the zone that the user is in, whose offset is renewed. */
  renewedZone: 'zn',
  /** Offset (seconds) of either, and until when (epoch ms) it holds. */
  offsetSeconds: 'zo',
  offsetUntilMs: 'zu',
  /** With `zone`: the zone that is left behind, and its offset now. */
  leftZone: 'bn',
  leftOffsetSeconds: 'bo',
  /** Notification preferences: a digit a kind, '-' where nothing is sent. */
  notifications: 'np',
  /** STREAK_RULE, with -1 and false for what is not sent. */
  streakRule: 'sp',
  /** The user's own days off: a set of weekdays. */
  daysOff: 'of',
  /** The day on which the user signed up, epoch day. */
  signUpDay: 'su',
  /**
   * With an application key: what of this only servers may write, so that it must be what is stored already. Numbers of attributes; 0:
   * the sign-up day.
   */
  serverOnly: 'so',
  /** When the event happened, where it says so: `Occurred` of `src/engine/corrections/late-event.ts`. */
  occurred: 'oc',
} as const;

/** A zone's offset (seconds) that held before the state's, and until when (epoch ms). */
export const LEFT = { offsetSeconds: 0, untilMs: 1 } as const;

/** A row of a plan's periods, those of one local day (epoch day), and their first days. */
export const ROW = { day: 0, week: 1, month: 2, dayStart: 3, weekStart: 4, monthStart: 5 } as const;

/** From a FREQUENCY, the position in a ROW of its period, to that of the period's first day. */
export const ROW_OFFSET = { start: 3 } as const;

/** How freezes are earned: every so many days, how many, up to which number, since when it is so (epoch ms). */
export const EARNING = { days: 0, amount: 1, max: 2, sinceMs: 3 } as const;

/** A condition on a user's attribute. */
export const CONDITION = { attribute: 0, value: 1 } as const;

/** Whole part of the highest total before and after an event. */
export const PEAK = { before: 0, after: 1 } as const;

/** A user's change on a board: the plan's board, SCORE in text and number before and after. */
export const CHANGE = {
  board: 0,
  runDay: 1,
  group: 2,
  oldGroup: 3,
  oldScore: 4,
  score: 5,
  /** Whether only the group changed. */
  onlyGroup: 6,
} as const;

/** A record that is still to be written, with its CHANGEs. */
export const APPLIED = { record: 0, changes: 1 } as const;

/** A user whose state is written: key, ID, packed state. */
export const TOUCHED = { key: 0, id: 1, packed: 2 } as const;

/** What a run's history came to for a user: the run's first day (epoch day), TOTAL without peak. */
export const HISTORY_SUM = { runDay: 0, whole: 1, micros: 2 } as const;

/** An event of a batch that was not sent: its index in the batch, UNSENT. */
export const UNSENT_EVENT = { index: 0, status: 1, message: 2 } as const;

/** What became of a user in a step of a recomputation. */
export const RECOMPUTED = {
  /** Something was given or taken. */
  changed: 1,
  /** An earlier try of the step has done it. */
  done: 2,
  /** Nothing of the plan was left to do. */
  nothing: 3,
  /** The user was deleted since. */
  gone: 4,
  /** The packed state would have more than `STATE_BYTES`. */
  large: 5,
  /** An event of the user was reversed since, or counts again. */
  corrected: 6,
} as const;

/** How a step of a batch ended. */
export const STEP = {
  /** Nothing was done: the progress is elsewhere. */
  passed: 'passed',
  /** Nothing was done: some events need to be asked about. */
  held: 'held',
  done: 'done',
} as const;

/** Fields of the tenant's counters. */
export const COUNTER = {
  users: 'users',
  /** Before the number of an achievement: how many completed it. */
  completions: 'a',
  /** Grows with every deleted user. */
  generation: 'd',
} as const;

/** The counter of those who completed an achievement. */
export const completionsField = (achievementNo: number): string => `${COUNTER.completions}${achievementNo}`;

/** Fields of an entry of the outbox; the last two come once a user. */
export const OUTBOX = { tenant: 't', records: 'r', user: 'u', state: 's' } as const;

/** Fields of the hash of a tenant's old idempotency keys; `large`: its hot ones are in narrow buckets, too (`src/redis/idempotency.ts`). */
export const OLD_KEYS = { segments: 's', keys: 'n', large: 'w' } as const;

/** Fields of the hash of the tenants whose live streams are listened to, beside the numbers of those. */
export const LISTENED = {
  /** The oldest position that was kept, where entries had to make room. */
  recentFloor: 'r',
  announcedFloor: 'a',
  /** Before the number of a tenant: for whom its streams are, see `lua/lib/live_streams.lua`. */
  listeners: 'l',
} as const;

/** Fields of the hash that says what left the outbox for Postgres: positions, see `src/redis/handed-over.ts`. */
export const HANDED = {
  /** Up to here. */
  position: 'p',
  /** What left after this position is kept; missing: all is that is kept. */
  floor: 'f',
} as const;

/** Fields of an entry of the announced notifications. */
export const ANNOUNCED = { tenant: 't', notification: 'n' } as const;
