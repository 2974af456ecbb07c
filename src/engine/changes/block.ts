/** A user's change as `lua/commit.lua` takes it: the new state, used keys, counts, moves on leaderboards, and records. */
import { Packr } from 'msgpackr';
import { completionsField, COUNTER, TEAM_SUM } from '../../packed/call-fields.ts';
import { BLOCK, CALL } from '../../packed/commit-fields.ts';
import { EVENT_RECORD, RECORD } from '../../packed/record-fields.ts';
import { tiePrefix } from '../../packed/state.ts';
import {
  boardGroupsKey,
  boardKey,
  boardKeyPrefix,
  countersKey,
  idempotencyKey,
  oldKeysKey,
  outboxKey,
  pointsKey,
  teamsKey,
  type TenantPart,
  userKey,
} from '../../redis/keys.ts';
import type { BatchReply } from '../../redis/batches.ts';
import { narrowBucket } from '../../redis/idempotency.ts';
import { totalMoves } from '../../redis/lua-library.ts';
import type { Words } from '../../redis/script.ts';
import type { ScoreChange } from '../../rules/leaderboards.ts';
import type { PointsMove } from '../../rules/points.ts';
import type { QuestChange } from '../../rules/quests.ts';
import { allMoves, type RunOfPlan, type TeamMove } from '../../rules/teams.ts';
import type { User } from '../../rules/user.ts';

/** An idempotency key that a change uses. `keyNo`: its number among the subject's. `field`: with the user's generation. */
export interface KeyUse {
  keyNo: number;
  bucket: string;
  field: string;
  use: string;
}

interface Count {
  key: string;
  field: string;
  added: number;
}

/** A record to append to the outbox. `moves`: the changed scores, whose ranks are written between head and tail; `null` for none. */
interface RecordPart {
  id: string;
  head: Buffer;
  tail: Buffer;
  moves: readonly ScoreChange[] | null;
  /** Its scores were reached now: later than those of all earlier changes. */
  isNow: boolean;
  /** Records of one call are written in this order. */
  place: number;
}

/** A user's change. It is written only if the user's packed state is still `expected`, and the fields are those that were read. */
export interface Block {
  userId: string;
  /** `null`: the user must not exist. */
  expected: Buffer | null;
  /** The generation that a new user was computed with; '' for the first. */
  generation: string;
  /** `null`: the state stays the same. */
  state: Buffer | 'deleted' | null;
  uses: KeyUse[];
  counts: Count[];
  /** Fields of hashes to set, if they still have the value that was read (`before`). '': there is no such field. */
  fields: { key: string; field: string; before: string; value: string }[];
  records: RecordPart[];
}

/** What a record does beside the state: counts of users, completions and points, and moves on leaderboards. */
export interface Effects {
  isNew: boolean;
  completed: readonly number[];
  quests: readonly QuestChange[];
  ledgers: readonly PointsMove[];
  /** Achievements that the user no longer has at all, or has again. */
  completions?: readonly (readonly [achievement: number, added: 1 | -1])[];
  scores: readonly ScoreChange[];
}

/** The counts that a change adds to. */
export function countsOf(
  part: TenantPart,
  { isNew, completed, quests, ledgers, completions, scores }: Effects,
): Count[] {
  const counters = countersKey(part);
  const counts: Count[] = [];
  if (isNew) counts.push({ key: counters, field: COUNTER.users, added: 1 });
  for (const { achievement, completed: isDone, times } of quests)
    if (isDone === 1 && times === 1) counts.push({ key: counters, field: completionsField(achievement), added: 1 });
  for (const no of completed)
    if (!quests.some(({ achievement }) => achievement === no))
      counts.push({ key: counters, field: completionsField(no), added: 1 });
  for (const [no, added] of completions ?? []) counts.push({ key: counters, field: completionsField(no), added });
  for (const { system, before, total } of ledgers) {
    if (before === total) continue;
    const key = pointsKey(part, system.no);
    for (const [field, added] of totalMoves(before, total)) counts.push({ key, field, added });
  }
  for (const { board, runDay, teams } of scores) {
    if (teams === null) continue;
    counts.push(...countsOfTeams(part, { board: board.no, runDay }, teams));
  }
  return counts;
}

function countsOfTeams(part: TenantPart, { board, runDay }: RunOfPlan, teams: readonly TeamMove[]): Count[] {
  const key = teamsKey(part, { boardNo: board, runDay });
  return teams.flatMap(({ team, whole, micros, members }) => [
    { key, field: TEAM_SUM.whole + team, added: whole },
    { key, field: TEAM_SUM.micros + team, added: micros },
    { key, field: TEAM_SUM.members + team, added: members },
  ]);
}

/** What the counts contain of a whole user. `isCleared`: runs whose counts are gone. `sign`: -1 to take it from them. */
export function countsOfUser(
  part: TenantPart,
  user: User,
  { isCleared, sign }: { isCleared: (run: RunOfPlan) => boolean; sign: 1 | -1 },
): Count[] {
  const counters = countersKey(part);
  const counts: Count[] = [{ key: counters, field: COUNTER.users, added: sign }];
  for (const no of user.completions.keys()) counts.push({ key: counters, field: completionsField(no), added: sign });
  for (const [system, total] of user.points) {
    const key = pointsKey(part, system);
    for (const [field, added] of totalMoves(0, total)) counts.push({ key, field, added: sign * added });
  }
  if (user.hidden !== 0) return counts;
  const runs = new Map(user.stays.map((stay) => [`${stay.board}:${stay.runDay}`, stay]));
  for (const run of runs.values())
    if (!isCleared(run)) counts.push(...countsOfTeams(part, run, allMoves(user, run, sign) ?? []));
  return counts;
}

const packr = new Packr({ useRecords: false, variableMapSize: true });
const NOTHING = Buffer.alloc(0);

/** An event's record: a list whose element after `head` is the leaderboards, of which it has none yet. */
export function eventPart(
  record: readonly unknown[],
  { moves, isNow, place }: Pick<RecordPart, 'isNow' | 'place'> & { moves: readonly ScoreChange[] },
): RecordPart {
  const packed = packr.pack(record.slice(0, EVENT_RECORD.more));
  // The header is of a list of up to 65,535 values, and the empty list of leaderboards one byte.
  packed.writeUInt16BE(record.length, 1);
  return {
    id: record[EVENT_RECORD.id] as string,
    head: packed.subarray(0, -1),
    tail: record.length > EVENT_RECORD.more ? packr.pack(record[EVENT_RECORD.more]) : NOTHING,
    moves,
    isNow,
    place,
  };
}

/** Another record: a map, with its leaderboards at the end. `moves`: `null` if it has none. */
export function mapPart(
  record: object & { [RECORD.id]: string },
  moves: readonly ScoreChange[] | null,
  place = 0,
): RecordPart {
  const id = record[RECORD.id];
  const packed = packr.pack(record);
  if (moves === null) return { id, head: packed, tail: NOTHING, moves, isNow: false, place };
  const size = Object.keys(record).length + 1;
  const head = [mapHeader(size), packed.subarray(headerLength(packed)), packr.pack(RECORD.boards)];
  return { id, head: Buffer.concat(head), tail: NOTHING, moves, isNow: false, place };
}

/** Moves on leaderboards that no record contains (`onlyGroup`). */
export const movesPart = (moves: readonly ScoreChange[]): RecordPart => ({
  id: '',
  head: NOTHING,
  tail: NOTHING,
  moves,
  isNow: false,
  place: 0,
});

const SHORT = 16;
const mapHeader = (size: number): Buffer =>
  size < SHORT ? Buffer.from([0x80 | size]) : Buffer.from([0xde, size >> 8, size & 0xff]);

/** Bytes of the header of a packed list or map. */
const headerLength = (packed: Buffer): number => ((packed[0]! & 0xe0) === 0x80 ? 1 : 3);

/** More words than this are packed as a list, because Lua's stack holds 8,000 values. */
const MOST_STACKED = 4_000;

/** Packs words one after the other, as `lua/commit.lua` reads them. */
function packWords(words: readonly unknown[]): Buffer {
  const packed = packr.pack(words);
  return words.length > MOST_STACKED ? packed : packed.subarray(headerLength(packed));
}

/** The numbers of keys in KEYS, in the order in which they are first named. */
class KeyNumbers {
  readonly keys: string[];
  private readonly numbers = new Map<string, number>();

  constructor(first: readonly string[]) {
    this.keys = [...first];
    for (const [at, key] of first.entries()) this.numbers.set(key, at + 1);
  }

  of(key: string): number {
    let number = this.numbers.get(key);
    if (number === undefined) {
      this.keys.push(key);
      number = this.keys.length;
      this.numbers.set(key, number);
    }
    return number;
  }
}

/** A queued batch's step, which is applied with all blocks or not at all. */
export interface StepPart {
  keys: { progress: string; queue: string; results: string; listened: string };
  expected: string;
  after: string;
  /** The batch's ID if this is its last step, else ''. */
  finished: string;
  /** For a waiting caller: the indexes of events in the batch, and the answer to each. */
  results: { indexes: readonly number[]; answers: readonly BatchReply[] } | null;
}

/** KEYS and ARGV of `lua/commit.lua`. `recalled`: blocks of users who were not read. `together`: all blocks are written or none. */
export function commitCall(
  part: TenantPart,
  commit: {
    blocks: readonly Block[];
    recalled: ReadonlySet<Block>;
    retryPosition: string;
    step?: StepPart | 'together' | null;
  },
): { keys: string[]; args: Words } {
  const { blocks, recalled, retryPosition, step = null } = commit;
  const keys = new KeyNumbers([
    outboxKey(part.shard),
    countersKey(part),
    oldKeysKey(part),
    ...blocks.map(({ userId }) => userKey(part, userId)),
  ]);
  const sets = new SetWords(part, keys);
  // The words of the call, those of the blocks, then the bytes.
  const args: Buffer[] = Array.from({ length: 1 + blocks.length }, () => NOTHING);
  for (const [at, block] of blocks.entries()) {
    const { expected, state, records } = block;
    const words = blockWords(part, sets, block, {
      firstArg: args.length + 1,
      isRetry: retryPosition !== '',
      isRecalled: recalled.has(block),
    });
    args[1 + at] = packWords(words);
    args.push(expected ?? NOTHING, state === 'deleted' || state === null ? NOTHING : state);
    for (const { head, tail } of records) {
      args.push(head);
      if (tail.length > 0) args.push(tail);
    }
  }
  const counts = hashCounts(keys, blocks);
  // A single block that does not hold leaves nothing to write, unless an earlier try wrote it.
  const hasBlockCounts = counts.length > 0 && (blocks.length > 1 || retryPosition !== '');
  if (hasBlockCounts) args.push(packr.pack(blocks.map((block) => countWords(keys, block))));
  const blockCounts = hasBlockCounts && args.length;
  const stepWords = step === 'together' || (step !== null && packedStepPart(keys, step, args));
  // In the order of CALL.
  args[0] = packWords([
    String(part.tenantNo),
    retryPosition,
    part.isWide === true,
    blocks.length,
    orderOf(blocks),
    stepWords,
    blockCounts,
    CALL.size + sets.words.length + 1,
    ...sets.words,
    ...counts,
  ]);
  return { keys: keys.keys, args };
}

/** The sorted sets that a call moves users in, in the order in which they are first named. */
class SetWords {
  /** In the order of SET. */
  readonly words: unknown[] = [];
  readonly keys: KeyNumbers;
  readonly part: TenantPart;
  private readonly positions = new Map<number, number>();

  constructor(part: TenantPart, keys: KeyNumbers) {
    this.part = part;
    this.keys = keys;
  }

  /** Where the words of the call have a group's set. */
  of({ board, runDay }: ScoreChange, group: string): number {
    const key = this.keys.of(boardKey(this.part, { boardNo: board.no, runDay, group }));
    let position = this.positions.get(key);
    if (position === undefined) {
      position = CALL.size + this.words.length + 1;
      this.positions.set(key, position);
      this.words.push(key, board.max ?? false, board.no, runDay, group, false, false);
    }
    return position;
  }
}

/** In the order of COUNT. */
const countWords = (keys: KeyNumbers, { counts }: Block): unknown[] =>
  counts.flatMap(({ key, field, added }) => [keys.of(key), field, added]);

/** What all blocks add to the counts, in the order of HASH_COUNTS. A sum of 0 stays, in case one of its blocks does not hold. */
function hashCounts(keys: KeyNumbers, blocks: readonly Block[]): unknown[] {
  const hashes = new Map<string, Map<string, number>>();
  for (const { counts } of blocks) {
    for (const { key, field, added } of counts) {
      let fields = hashes.get(key);
      if (fields === undefined) hashes.set(key, (fields = new Map<string, number>()));
      fields.set(field, (fields.get(field) ?? 0) + added);
    }
  }
  const words: unknown[] = [];
  for (const [key, fields] of hashes) words.push(keys.of(key), fields.size, ...fields.keys(), ...fields.values());
  return words;
}

/** The blocks of all records in the order of the records, unless it is that of the blocks. Records of a block are in order. */
function orderOf(blocks: readonly Block[]): number[] | false {
  const parts = blocks.flatMap(({ records }, block) => records.map(({ place }) => ({ place, block })));
  if (parts.every(({ place }, at) => at === 0 || parts[at - 1]!.place <= place)) return false;
  return parts.toSorted((a, b) => a.place - b.place).map(({ block }) => block + 1);
}

/** In the order of BLOCK. */
function blockWords(
  part: TenantPart,
  sets: SetWords,
  block: Block,
  { firstArg, isRetry, isRecalled }: { firstArg: number; isRetry: boolean; isRecalled: boolean },
): unknown[] {
  const { keys } = sets;
  const { userId, expected, generation, state, uses, fields, records } = block;
  const words: unknown[] = [userId, firstArg, records.length, BLOCK.generation + 1];
  const times = reachedTimes(part, records);
  const hasSections = uses.length > 0 || fields.length > 0 || times.size > 0 || isRetry;
  if (hasSections || expected === null || state === 'deleted') {
    words.push(expected === null && generation, state === 'deleted', isRecalled);
    words.length = BLOCK.size;
    const begin = (section: number): number => (words[section] = words.length + 1);
    begin(BLOCK.uses);
    for (const { bucket, field, use } of uses) {
      const wide = idempotencyKey(part, bucket);
      words.push(keys.of(wide), keys.of(narrowBucket(wide, field)), field, use);
    }
    begin(BLOCK.fields);
    for (const { key, field, before, value } of fields) words.push(keys.of(key), field, before, value);
    begin(BLOCK.times);
    for (const [run, [first, last]] of times) words.push(run, first, last);
    begin(BLOCK.ids);
    if (isRetry) for (const { id } of records) words.push(id);
    begin(BLOCK.records);
  }
  for (const { moves, tail } of records) {
    // In the order of RECORD_WORDS.
    words.push(moves !== null && moves.length, tail.length > 0);
    for (const move of moves ?? []) addMove(words, sets, move, userId);
  }
  return words;
}

/** The first and last time at which scores are reached now, by run. */
function reachedTimes(part: TenantPart, records: readonly RecordPart[]): Map<string, [first: number, last: number]> {
  const times = new Map<string, [number, number]>();
  for (const { moves, isNow } of records) if (isNow) for (const move of moves ?? []) noteTime(part, move, times);
  return times;
}

/** Adds when a score was reached to the first and last time of its run. */
function noteTime(
  part: TenantPart,
  { board, runDay, reached, oldReached }: ScoreChange,
  times: Map<string, [first: number, last: number]>,
): void {
  if (reached === null || reached === oldReached) return;
  const run = `${boardKeyPrefix(part)}${board.no}:${runDay}`;
  const at = Math.abs(reached);
  const [first, last] = times.get(run) ?? [at, at];
  times.set(run, [Math.min(first, at), Math.max(last, at)]);
}

/** In the order of MOVE and MORE. */
function addMove(words: unknown[], sets: SetWords, move: ScoreChange, userId: string): void {
  const { board, runDay, group, oldGroup, oldScore, score, onlyGroup } = move;
  const floor = board.floor ?? 0;
  const isSameSet = group === oldGroup;
  const stood = oldScore > floor;
  const stands = score > floor;
  const isInPlace = stands && isSameSet && floor === 0 && (stood || board.groups === undefined);
  const hasMore = !isInPlace || onlyGroup || board.heard === true || board.scores === true;
  words.push(sets.of(move, group), score, isSameSet ? oldScore : floor, hasMore);
  if (!hasMore) return;
  const isTied = board.ties === true && floor !== 0;
  const old = { reached: move.oldReached ?? 0, secondary: move.oldSecondary };
  const now = { reached: move.reached ?? 0, secondary: move.secondary };
  const oldMember = isTied ? tiePrefix(old) + userId : userId;
  const member = isTied ? tiePrefix(now) + userId : userId;
  const leaves = stood && (!isSameSet || !stands || member !== oldMember);
  words.push(
    floor,
    member,
    leaves && sets.of(move, oldGroup),
    oldMember,
    board.groups !== undefined && sets.keys.of(boardGroupsKey(sets.part, { boardNo: board.no, runDay })),
    stands && board.groups !== undefined && (!stood || leaves || !isSameSet),
    group,
    oldGroup,
    !onlyGroup,
    board.heard === true,
    board.scores === true,
    isTied,
    old.secondary === null ? old.reached : tiePrefix(old),
    now.secondary === null ? now.reached : tiePrefix(now),
  );
}

/** In the order of STEP_PART. Appends the results to the arguments. */
function packedStepPart(keys: KeyNumbers, step: StepPart, bytes: Buffer[]): unknown[] {
  const { progress, queue, results, listened } = step.keys;
  const wanted = step.results;
  if (wanted !== null) bytes.push(packWords([wanted.indexes, ...wanted.answers]));
  return [
    keys.of(progress),
    keys.of(queue),
    keys.of(results),
    keys.of(listened),
    step.expected,
    step.after,
    step.finished,
    wanted !== null && wanted.indexes.length,
  ];
}
