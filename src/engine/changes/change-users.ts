/**
 * The way to change users: read, compute, commit. Only `commit` writes, and only if the user is still the one that was read;
 * otherwise it returns the current state, and the change is computed and committed again. Somebody always wins, so there is progress.
 */
import { AppError } from '../../errors.ts';
import { ENDED } from '../../packed/commit-fields.ts';
import type { RecordedBoard } from '../../packed/record.ts';
import { unpackAll } from '../../packed/state.ts';
import { countersKey, idempotencyKey, oldKeysKey, quarantineKey, type TenantPart, userKey } from '../../redis/keys.ts';
import { scriptNamed, type Words } from '../../redis/script.ts';
import { Slices } from '../../pacing/slices.ts';
import type { IdempotencyDigest } from '../ids.ts';
import { type Block, commitCall, type StepPart } from './block.ts';
import type { RecentStates } from './recent-states.ts';
import { isSealed, UserSealed } from './sealed.ts';

/** What `lua/read.lua` knows of a user. */
export interface ReadUser {
  /** `null`: the user does not exist. */
  packed: Buffer | null;
  /** The generation of new users; '' for the first, or if the user exists and the subject has no keys and is not guarded. */
  generation: string;
  /** The user into whom the user, who does not exist, was merged; absent for none. */
  mergedInto?: string;
  /** The user's events in quarantine, and the number of all of the tenant; only if the subject is guarded. */
  quarantine: { events: string; total: number };
  /** The use of each of the subject's keys: '' if it is unused, or '?' and a token if only Postgres knows it. */
  uses: string[];
}

/** A user to change. */
export interface Subject<C extends { block: Block | null }> {
  userId: string;
  /** The idempotency keys of the change. */
  keys: readonly IdempotencyDigest[];
  /** Whether the rules need the user's events in quarantine. */
  isGuarded: boolean;
  /** Computes the change. Called again if the user has changed meanwhile. */
  compute: (read: ReadUser) => C;
}

/** How a user's change ended. */
export interface Changed<C> {
  change: C;
  /** The leaderboards with ranks of each record of the block; `null` for records without any. */
  boards: readonly (RecordedBoard[] | null)[];
  /** The records that an earlier try of the call wrote; `null` if this one wrote them. */
  earlier: unknown[] | null;
}

interface KeysAndArgs {
  keys: string[];
  args: Words;
}

type CommitReplies = (Buffer | Buffer[])[];

/** Sends the calls of a change. */
export interface Calls {
  read: (call: KeysAndArgs) => Promise<Buffer[]>;
  /** `null` if an earlier try was found in Postgres. */
  commit: (call: (retryPosition: string) => KeysAndArgs) => Promise<CommitReplies | null>;
  /** States that need not be read. */
  recent?: RecentStates;
}

export interface ChangeOptions<C> {
  /** Scores on the leaderboards were reached later (microseconds) than those of the nth subject. */
  onOvertaken?: (latest: number, nth: number) => void;
  /**
   * A step of a queued batch: all blocks are written or none. Gets the changes that are about to be committed; `null`: they must not
   * be.
   */
  step?: (changes: readonly C[]) => StepPart | null;
  /** The blocks of all subjects are written or none: none if a change has no block. */
  together?: boolean;
  /** Users who are sealed get no `UserSealed`: the changes refuse them (events), or belong to the merge that sealed them. */
  handlesSealed?: boolean;
  /** Computes in slices, because many users take more than a few milliseconds. */
  inSlices?: boolean;
}

export const READ_SCRIPT = scriptNamed('read');
export const COMMIT_SCRIPT = scriptNamed('commit');

/** More conflicts of one change than any load causes. */
const MOST_CONFLICTS = 1_000;

/**
 * Changes users of a tenant's part. Returns how each change ended, in order; 'passed' if the step's batch has another progress;
 * 'held' if `step` returned `null`, or a change without a block holds the others; 'stored' if Postgres has what an earlier try wrote.
 * Throws 503 if Redis does not answer; `UserSealed`.
 */
export async function changeUsers<C extends { block: Block | null }>(
  calls: Calls,
  part: TenantPart,
  asked: readonly Subject<C>[],
  { onOvertaken, step, together = false, handlesSealed = false, inSlices = false }: ChangeOptions<C> = {},
): Promise<{ changed: Changed<C>[]; ended: 'done' | 'passed' | 'held' | 'stored' }> {
  const { recent } = calls;
  const subjects = handlesSealed ? asked : asked.map(unlessSealed);
  const { reads, recalled, changed } = await compute(calls, part, subjects, inSlices);
  let open = subjects.map((_, at) => at);
  for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
    const stepPart = step?.(changed.map(({ change }) => change));
    if (stepPart === null) return { changed, ended: 'held' };
    if (together && changed.some(({ change }) => change.block === null)) return { changed, ended: 'held' };
    open = open.filter((at) => changed[at]!.change.block !== null);
    if (open.length === 0 && stepPart === undefined) return { changed, ended: 'done' };
    const blocks = open.map((at) => changed[at]!.change.block!);
    const unread = new Set(open.flatMap((at, index) => (recalled.has(at) ? [blocks[index]!] : [])));
    const replies = await calls.commit((retryPosition) =>
      commitCall(part, { blocks, recalled: unread, retryPosition, step: stepPart ?? (together ? 'together' : null) }),
    );
    if (replies === null) return { changed, ended: 'stored' };
    if (endedWith(replies[0], ENDED.passed) !== null) return { changed, ended: 'passed' };
    const again: number[] = [];
    for (const [index, at] of open.entries()) {
      const reply = replies[index]!;
      const isOver = takeReply(changed[at]!, reply);
      if (isOver) {
        if (recent !== undefined) noteWritten(recent, part, changed[at]!, recalled.has(at));
        continue;
      }
      again.push(at);
      const overtakenBy = endedWith(reply, ENDED.overtaken);
      if (overtakenBy !== null) onOvertaken?.(Number(overtakenBy), at);
      else if (endedWith(reply, ENDED.conflict) !== null) {
        reads[at] = await readAfterConflict(calls, part, {
          subject: subjects[at]!,
          read: reads[at]!,
          block: blocks[index]!,
          reply: reply as Buffer[],
        });
        if (recalled.delete(at)) recent!.compare(part, subjects[at]!.userId, reads[at]!.packed);
      }
      // A block that is only held by others of its step does not change.
      else continue;
      changed[at]!.change = subjects[at]!.compute(reads[at]!);
    }
    if (again.length === 0) return { changed, ended: 'done' };
    open = again;
  }
  throw new AppError('unavailable', 'The user is changed too often at once; try again in a moment.');
}

/** A subject whose change throws `UserSealed` if it would change a sealed user. */
const unlessSealed = <C extends { block: Block | null }>(subject: Subject<C>): Subject<C> => ({
  ...subject,
  compute: (read) => {
    const change = subject.compute(read);
    if (change.block !== null && read.packed !== null && isSealed(read.packed)) throw new UserSealed();
    return change;
  },
});

/**
 * Reads or recalls users, and computes their changes. Returns which are recalled: only a commit finds out whether they are current, so
 * answers that no commit checks are computed from users who were read.
 */
async function compute<C extends { block: Block | null }>(
  calls: Calls,
  part: TenantPart,
  subjects: readonly Subject<C>[],
  inSlices: boolean,
): Promise<{ reads: ReadUser[]; recalled: Set<number>; changed: Changed<C>[] }> {
  const reads = subjects.map((subject) => recall(calls.recent, part, subject));
  const recalled = new Set(reads.flatMap((read, at) => (read === null ? [] : [at])));
  await readInto(reads, calls, part, subjects);
  const changed: Changed<C>[] = [];
  const slices = inSlices ? new Slices() : null;
  for (const [at, subject] of subjects.entries()) {
    changed.push({ change: subject.compute(reads[at]!), boards: [], earlier: null });
    if (slices?.over === true) await slices.turn();
  }
  for (const at of recalled) {
    if (isChecked(changed[at]!.change.block, subjects[at]!)) continue;
    recalled.delete(at);
    reads[at] = null;
  }
  const unchecked = reads.flatMap((read, at) => (read === null ? [at] : []));
  await readInto(reads, calls, part, subjects);
  for (const at of unchecked) changed[at]!.change = subjects[at]!.compute(reads[at]!);
  return { reads: reads as ReadUser[], recalled, changed };
}

/** A user whose state needs not be read; `null` for others. Only a read knows of events in quarantine. */
function recall(
  recent: RecentStates | undefined,
  part: TenantPart,
  { userId, keys, isGuarded }: Pick<Subject<never>, 'userId' | 'keys' | 'isGuarded'>,
): ReadUser | null {
  const packed = isGuarded ? null : (recent?.recall(part, userId) ?? null);
  if (packed === null) return null;
  return { packed, generation: '', quarantine: { events: '', total: 0 }, uses: keys.map(() => '') };
}

/**
 * Whether the commit of a block checks everything that was recalled. It checks the keys that are used, but not those of refused events;
 * and for the tokens of old keys it does not know the user's generation, of which users have more than one only after a deletion.
 */
const isChecked = (block: Block | null, { keys }: Pick<Subject<never>, 'keys'>): boolean =>
  block !== null &&
  block.uses.length === keys.length &&
  block.uses.every(({ keyNo, field }) => keys[keyNo]!.field === field);

function noteWritten(
  recent: RecentStates,
  part: TenantPart,
  { change, earlier }: Changed<{ block: Block | null }>,
  wasRecalled: boolean,
): void {
  const { userId, expected, state } = change.block!;
  if (wasRecalled) recent.compare(part, userId, expected);
  // An earlier try may have computed another state.
  recent.note(part, userId, earlier !== null || state === 'deleted' ? null : (state ?? expected));
}

/** Takes the reply to a block that is written, now or by an earlier try. Returns false for others. */
function takeReply(changed: Changed<unknown>, reply: Buffer | Buffer[]): boolean {
  if (Buffer.isBuffer(reply)) {
    changed.boards = (unpackAll(reply) as (RecordedBoard[] | false)[]).map((boards) => boards || null);
    return true;
  }
  if (endedWith(reply, ENDED.earlier) === null) return false;
  changed.earlier = unpackAll(reply[1]!);
  return true;
}

/** The first detail of a reply that ended in a way ('' if it has none); `null` if it did not end in this way. */
function endedWith(reply: Buffer | Buffer[] | undefined, ended: string): string | null {
  if (!Array.isArray(reply) || reply[0]?.toString('latin1') !== ended) return null;
  return reply[1]?.toString('latin1') ?? '';
}

/** The outbox position up to which Postgres must be checked, if a retry's reply says so; `null` otherwise. */
export const maybeStored = ([first]: readonly unknown[]): string | null =>
  endedWith(first as Buffer | Buffer[], ENDED.maybeStored);

type AnySubject = Pick<Subject<never>, 'userId' | 'keys' | 'isGuarded'>;

/** Reads the users that are missing in `reads`. */
async function readInto(
  reads: (ReadUser | null)[],
  calls: Calls,
  part: TenantPart,
  subjects: readonly AnySubject[],
): Promise<void> {
  const missing = reads.flatMap((read, at) => (read === null ? [at] : []));
  const read = await readUsers(
    calls,
    part,
    missing.map((at) => subjects[at]!),
  );
  for (const [index, at] of missing.entries()) {
    reads[at] = read[index]!;
    calls.recent?.compare(part, subjects[at]!.userId, read[index]!.packed);
  }
}

async function readUsers(calls: Calls, part: TenantPart, subjects: readonly AnySubject[]): Promise<ReadUser[]> {
  // A step whose events were all refused before, or applied before Redis was reset, has only its progress.
  if (subjects.length === 0) return [];
  const keys = [countersKey(part)];
  const buckets: string[] = [];
  const asked: (string | number)[] = [];
  const guarded = subjects.filter(({ isGuarded }) => isGuarded).map(({ userId }) => userId);
  for (const [at, { userId, keys: used }] of subjects.entries()) {
    keys.push(userKey(part, userId));
    for (const { bucket, field } of used) {
      buckets.push(idempotencyKey(part, bucket));
      asked.push(at + 1, field);
    }
  }
  const args: (string | number)[] = [];
  if (asked.length > 0 || guarded.length > 0) {
    // In the order of AFTER_USERS and READ_ARG.
    keys.push(oldKeysKey(part), quarantineKey(part), ...buckets);
    args.push(subjects.length, guarded.length, ...guarded, ...asked);
  }
  const [generation, total, ...rest] = await calls.read({ keys, args });
  const ofNewUsers = generation!.toString('latin1');
  const states = rest.splice(0, subjects.length);
  const quarantined = rest.splice(0, guarded.length);
  const read = subjects.map(({ keys: used, isGuarded }, at): ReadUser => ({
    packed: states[at]!.length === 0 ? null : states[at]!,
    generation: ofNewUsers,
    quarantine: { events: isGuarded ? quarantined.shift()!.toString('latin1') : '', total: Number(total) },
    uses: rest.splice(0, used.length).map((use) => use.toString('latin1')),
  }));
  if (rest.length === 0) return read;
  const missing = read.filter(({ packed }) => packed === null);
  for (const [at, into] of rest.entries()) if (into.length > 0) missing[at]!.mergedInto = into.toString('utf8');
  return read;
}

/** The user after a conflict. A key that was used stays used. */
async function readAfterConflict<C extends { block: Block | null }>(
  calls: Calls,
  part: TenantPart,
  { subject, read, block, reply }: { subject: Subject<C>; read: ReadUser; block: Block; reply: Buffer[] },
): Promise<ReadUser> {
  const [, packed, latest, ...uses] = reply;
  const generation = latest!.toString('latin1');
  // A user of another generation has other keys.
  const hasOtherKeys = subject.keys.length > 0 && generation !== read.generation;
  // A user who is gone may have been merged.
  if (subject.isGuarded || hasOtherKeys || packed!.length === 0) return (await readUsers(calls, part, [subject]))[0]!;
  const after = { ...read, generation, uses: [...read.uses] };
  for (const [index, { keyNo }] of block.uses.entries()) {
    const use = uses[index]!.toString('latin1');
    if (use !== '') after.uses[keyNo] = use;
  }
  return { ...after, packed: packed!.length === 0 ? null : packed! };
}
