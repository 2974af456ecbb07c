/** Names of the positions in the arguments of `lua/read.lua` and `lua/commit.lua`. */

/** Keys of `read`; then the users' keys. */
export const READ_KEY = { counters: 0, users: 1 } as const;

/** Keys of `read` after that of the last user, if there are arguments; then the wide bucket of each idempotency key. */
export const AFTER_USERS = { oldKeys: 1, quarantine: 2, buckets: 3 } as const;

/** Then two words for each idempotency key. */
export const READ_ARG = { users: 0, quarantinedCount: 1, quarantined: 2 } as const;

/** What `read` replies before the states. */
export const READ_REPLY = { generation: 0, quarantined: 1 } as const;

/** Number of the user, from 1, and the key's field without the generation. */
export const ASKED_KEY = { user: 0, field: 1, size: 2 } as const;

/** Keys of `commit`; then the blocks' users, then all others, which blocks name by their number in KEYS. */
export const COMMIT_KEY = { outbox: 0, counters: 1, oldKeys: 2, users: 3 } as const;

/** The words of the call, and where those of the blocks begin. */
export const COMMIT_ARG = { call: 0, bytes: 1 } as const;

/**
 * The words of a block. `generation`: that of new users ('' for the first), which must not have changed, if the user must not exist; else
 * `false`. `deletes`: the user is deleted. `isRecalled`: the user was not read, so the keys must be checked. Then where the sections begin (the first word is 1), of which each ends where the next begins:
 * USEs, FIELDs, REACHED_TIMEs, the IDs of the records (only in a retry), COUNTs, and for each record the number of its MOVEs and these, or
 * `false` if it has no leaderboards.
 */
export const BLOCK = {
  userId: 0,
  generation: 1,
  deletes: 2,
  isRecalled: 3,
  recordCount: 4,
  uses: 5,
  fields: 6,
  times: 7,
  ids: 8,
  counts: 9,
  records: 10,
  size: 11,
} as const;

/** A block's words and states, then the bytes of its records. */
export const BLOCK_BYTES = { words: 0, expected: 1, state: 2, records: 3 } as const;

/** The bytes of a record, before and after its leaderboards. Without bytes, only the moves are made. */
export const RECORD_BYTES = { head: 0, tail: 1, size: 2 } as const;

/** The wide and the narrow bucket of an idempotency key, its field there, and its use. */
export const USE = { wide: 0, narrow: 1, field: 2, use: 3, size: 4 } as const;

/** A hash, a field and a number to add. A count that becomes 0 is removed. */
export const COUNT = { key: 0, field: 1, added: 2, size: 3 } as const;

/** A hash, a field, the value that was read, and the new one; `''`: there is no such field. */
export const FIELD = { key: 0, field: 1, before: 2, value: 3, size: 4 } as const;

/** A leaderboard's run (prefix of its sorted sets), and the first and last time (microseconds) at which the block's scores were reached. */
export const REACHED_TIME = { run: 0, first: 1, last: 2, size: 3 } as const;

/**
 * A move on a leaderboard. MORE follows if `hasMore`. Without it, the move is ranked, on a leaderboard with floor 0 whose ranks no webhook
 * reports: the user enters the sorted set or stays in it, and the list of groups does not change.
 */
export const MOVE = {
  board: 0,
  runDay: 1,
  group: 2,
  /** The number of the group's sorted set in KEYS; the user's score in it. */
  key: 3,
  score: 4,
  /** The score in the group before. */
  before: 5,
  /** Most participants; false for no limit. */
  max: 6,
  hasMore: 7,
  size: 8,
} as const;

/** The rest of a move that needs it. Keys are numbers in KEYS, `false` for none. Without `ranked`, the user only changes the group. */
export const MORE = {
  floor: 0,
  /** The user's member in the group's sorted set, if the score is above the floor. */
  member: 1,
  /** The sorted set to leave, and the member in it. */
  oldKey: 2,
  oldMember: 3,
  /** The run's list of groups, if the group must be added to it, or removed when its set becomes empty. */
  groups: 4,
  isGroupNew: 5,
  oldGroup: 6,
  ranked: 7,
  /** A webhook reports its ranks, so events of batches are also ranked. */
  heard: 8,
  /** The record also contains the scores. */
  scores: 9,
  /** Members are in the order of their times, and no two users share a rank. */
  tied: 10,
  /** As in RECORDED_BOARD. */
  oldReached: 11,
  reached: 12,
  size: 13,
} as const;

/**
 * A batch's step: numbers of the keys (progress, queue, results, listened), the progress before and after, the batch's ID if this is
 * its last step, and the number of results, which are the last argument; `false` if nobody waits for them.
 */
export const STEP_PART = {
  progress: 0,
  queue: 1,
  results: 2,
  listened: 3,
  expected: 4,
  after: 5,
  finished: 6,
  answered: 7,
} as const;

/** How a block of a commit ended, in the replies that are lists. An applied block's reply is the text of its ranks. */
export const ENDED = {
  /** The user or a field has changed: the packed state (`''`: none), the generation of new users, and the use of each key (`''`: unused). */
  conflict: 'conflict',
  /** An earlier try applied it: its packed records. */
  earlier: 'earlier',
  /** Scores of the leaderboards were reached later than those of the block: the latest time. */
  overtaken: 'overtaken',
  /** An earlier try may have applied it and Postgres has it: the outbox position up to which Postgres must be checked. */
  maybeStored: 'stored',
  /** The progress of the batches was not the expected one. */
  passed: 'passed',
  /** Another block of the call did not hold, and the step is applied as a whole. */
  held: 'held',
} as const;
