/** Changes of one user that a caller waits for: what requests, administrators and jobs do to a user, except for events. */
import type { Span } from '@opentelemetry/api';
import type { HappenedRecord, ScriptReply } from '../../packed/record.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { AppError } from '../../errors.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { TenantPart } from '../../redis/keys.ts';
import type { Plan } from '../../rules/plan.ts';
import type { Refusal } from '../../rules/refusal.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { newUser, type User } from '../../rules/user.ts';
import { currentBill, inOwnTurn } from '../../pacing/turns.ts';
import type { IdempotencyDigest } from '../ids.ts';
import type { Scripts } from '../scripts.ts';
import { type Block, countsOf, type Effects, type KeyUse, mapPart } from './block.ts';
import { callsOf } from './calls.ts';
import { changeUsers, type ReadUser } from './change-users.ts';
import { packedRefusal } from './packed-refusal.ts';
import { lackOfRoom } from './state-size.ts';

/** A change of one user. */
export interface UserChange<R extends object = ScriptReply> {
  /** `null` if nothing is written. */
  block: Block | null;
  /** The block's record, without ranks on leaderboards; or why nothing is written. */
  reply: R;
  /** The packed state after the change; `null` for a user who does not exist. */
  packed: Buffer | null;
}

/** A user to change, with the idempotency keys that the change may use. */
interface ChangedUser<R extends object> {
  userId: string;
  keys?: readonly IdempotencyDigest[];
  /** Whether the change needs the user's events in quarantine. */
  isGuarded?: boolean;
  /** Computes the change. Called again if the user has changed meanwhile. */
  compute: (read: ReadUser, part: TenantPart) => UserChange<R>;
}

/**
 * Changes a user once, even if the connection breaks. `isStored`: whether Postgres holds the change of an earlier try; omit it for
 * changes that are idempotent. Returns `null` if it does. Throws 503 if the outbox is full or Redis does not answer.
 */
export async function changeUser<R extends object>(
  scripts: Scripts,
  tenantNo: number,
  { userId, keys = [], isGuarded = false, compute }: ChangedUser<R>,
  { span, isStored }: { span?: Span | undefined; isStored?: (() => Promise<boolean>) | undefined } = {},
): Promise<UserChange<R | HappenedRecord> | null> {
  const part = scripts.partToChange(tenantNo, userId);
  const calls = callsOf(scripts, part, {
    ...(span !== undefined && { spans: [span] }),
    ...(isStored !== undefined && { foundElsewhere: isStored }),
  });
  const subject = { userId, keys, isGuarded, compute: (read: ReadUser) => compute(read, part) };
  const { changed, ended } = await oneAfterAnother(scripts, `${tenantNo}:${userId}`, () =>
    changeUsers(calls, part, [subject]),
  );
  if (ended === 'stored') return null;
  const [{ change, earlier }] = changed as [(typeof changed)[number]];
  // What the user was a moment ago may not be on the replicas yet.
  if (change.block === null) await scripts.replicated(part.shard);
  else currentBill()?.wroteState(change.packed?.length ?? 0);
  return earlier === null ? change : { ...change, reply: earlier[0] as HappenedRecord };
}

/** The last change of each user that is in flight or waits. Settles with it, and never rejects. */
const last = new WeakMap<Scripts, Map<string, Promise<void>>>();

/** Runs the changes of a user one after another: at the same time, all but one would be in conflict and computed again. */
function oneAfterAnother<T>(scripts: Scripts, user: string, work: () => Promise<T>): Promise<T> {
  let users = last.get(scripts);
  if (users === undefined) last.set(scripts, (users = new Map()));
  const before = users.get(user);
  const run = before === undefined ? work() : inOwnTurn(before).then(work);
  const forget = (): void => void (users.get(user) === ended && users.delete(user));
  const ended = run.then(forget, forget);
  users.set(user, ended);
  return run;
}

/** The user to change; `newUser` if there is none. Throws 503 if the user was merged a moment ago. */
export function userOf(
  { packed, generation, mergedInto }: ReadUser,
  { streak }: Pick<Plan, 'streak'>,
  nowMs: number,
): User {
  if (packed !== null) return decodeUser(packed);
  if (mergedInto !== undefined) throw new UserMerged();
  return newUser(nowMs, { freezes: streak.freezes, generation: generation === '' ? null : Number(generation) });
}

/** A user was merged after the request was resolved (`resolveUsers`). The next try names the other user. */
export class UserMerged extends AppError {
  constructor() {
    super('unavailable', 'The user was merged into another a moment ago; try again.');
  }
}

/** A change that writes nothing. */
export const unwritten = <R extends object>({ packed }: ReadUser, reply: R): UserChange<R> => ({
  block: null,
  reply,
  packed,
});

/** There is no such user. */
export const UNKNOWN_USER = { [RECORD.kind]: REFUSAL.unknownUser } as const;

/** A change that the rules refuse. */
export const refused = (read: ReadUser, refusal: Refusal): UserChange => unwritten(read, packedRefusal(refusal));

const NO_EFFECTS: Effects = { isNew: false, completed: [], quests: [], ledgers: [], scores: [] };

/** A change that writes the changed user with a record, unless the state has no room. */
export function written(
  user: User,
  read: ReadUser,
  change: { part: TenantPart; record: HappenedRecord; effects?: Partial<Effects>; uses?: KeyUse[] },
): UserChange {
  const { part, record, effects = {}, uses = [] } = change;
  const packed = encodeUser(user);
  const refusal = lackOfRoom(user, packed, read.packed);
  if (refusal !== null) return refused(read, refusal);
  const all = { ...NO_EFFECTS, ...effects };
  const block: Block = {
    userId: record[RECORD.userId],
    expected: read.packed,
    generation: read.generation,
    state: packed,
    uses,
    counts: countsOf(part, all),
    fields: [],
    records: [mapPart(record, all.scores)],
  };
  return { block, reply: record, packed };
}
