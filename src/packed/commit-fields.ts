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

/** The words of the call; then those of each block; then all bytes. */
export const COMMIT_ARG = { call: 0 } as const;

/**
 * The words of the call, then its SETs; from the word `counts` (the first is 1) its HASH_COUNTS. `step`: `true`: all blocks are written
 * or none; `false`: each for itself. `blockCounts`: the number of the argument with the COUNTs of each block, which are a list;
 * `false` if they are not needed.
 */
export const CALL = {
  tenantNo: 0,
  retryPosition: 1,
  isWide: 2,
  blockCount: 3,
  order: 4,
  step: 5,
  blockCounts: 6,
  counts: 7,
  size: 8,
} as const;

/**
 * A sorted set of a leaderboard: its number in KEYS, the most participants (false for no limit), the leaderboard, the run's day and the
 * group; then two words `false`. When the commit begins, it puts the key and the packed `place` there, and later what it knows
 * of the set.
 */
export const SET = {
  key: 0,
  max: 1,
  place: 2,
  runDay: 3,
  group: 4,
  /** The score of the last rank, if it is known. */
  threshold: 5,
  /** Scores that are written later. */
  held: 6,
  size: 7,
} as const;

/** What the call adds to the counts of a hash: its number in KEYS, the number of fields, the fields, then what is added to each. */
export const HASH_COUNTS = { key: 0, size: 1, fields: 2 } as const;

/**
 * The words of a block. `bytes`: the number of the argument with its first bytes. `records`: where the words of its records begin: at
 * `generation` if the block only has a state, counts and records. Others have, before the records, the generation of new users
 * ('' for the first), which must not have changed, if the user must not exist, else `false`; whether the user is deleted; whether
 * the user was not read (`isRecalled`), so the keys must be checked; and where the sections begin (the first word is 1), of
 * which each ends where the next begins: USEs, FIELDs, REACHED_TIMEs, the IDs of the records (only in a retry).
 */
export const BLOCK = {
  userId: 0,
  bytes: 1,
  recordCount: 2,
  records: 3,
  generation: 4,
  deletes: 5,
  isRecalled: 6,
  uses: 7,
  fields: 8,
  times: 9,
  ids: 10,
  size: 11,
} as const;

/** The bytes of a block: its states, then those of its records. */
export const BLOCK_BYTES = { expected: 0, state: 1, records: 2 } as const;

/**
 * The words of a record: the number of its MOVEs, `false` if it has no leaderboards; whether it has bytes after the leaderboards; then
 * the MOVEs. Its bytes are one or two arguments. Without bytes, only the moves are made.
 */
export const RECORD_WORDS = { moves: 0, hasTail: 1, size: 2 } as const;

/** The wide and the narrow bucket of an idempotency key, its field there, and its use. */
export const USE = { wide: 0, narrow: 1, field: 2, use: 3, size: 4 } as const;

/** A count of a block: a hash, a field and a number to add. A count that becomes 0 is removed. */
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
  /** Where the words of the call have the group's SET. */
  set: 0,
  score: 1,
  /** The user's score in the group before. */
  before: 2,
  hasMore: 3,
  size: 4,
} as const;

/** The rest of a move that needs it. `groups` is a number in KEYS, `false` for none. Without `ranked`, the user only changes the group. */
export const MORE = {
  floor: 0,
  /** The user's member in the group's sorted set, if the score is above the floor. */
  member: 1,
  /** The SET to leave, `false` for none, and the member in it. */
  oldSet: 2,
  oldMember: 3,
  /** The run's list of groups, if the group must be added to it, or removed when its set becomes empty. */
  groups: 4,
  isGroupNew: 5,
  group: 6,
  oldGroup: 7,
  ranked: 8,
  /** A webhook reports its ranks, so events of batches are also ranked. */
  heard: 9,
  /** The record also contains the scores. */
  scores: 10,
  /** Members are in the order of their times, and no two users share a rank. */
  tied: 11,
  /** As in RECORDED_BOARD. */
  oldReached: 12,
  reached: 13,
  size: 14,
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
