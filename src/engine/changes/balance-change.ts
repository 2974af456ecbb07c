/** Changes of a user's balance: spendings, holds and what becomes of them, and points that expire. */
import type { Span } from '@opentelemetry/api';
import { type kindField, RECORD } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { REFUSAL, REPLAY, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { fieldOfGeneration } from '../../redis/idempotency.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { balanceRecord, type BalanceTexts } from '../../rules/record.ts';
import { isRefusal } from '../../rules/refusal.ts';
import { type BalanceMovement, moveBalance } from '../../rules/spending.ts';
import { oneMoreKey } from '../../rules/used-keys.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import type { LookedUp } from '../events/ready-event.ts';
import type { IdempotencyDigest } from '../ids.ts';
import type { Scripts } from '../scripts.ts';
import type { KeyUse } from './block.ts';
import type { ReadUser } from './change-users.ts';
import { changeUser, refused, UNKNOWN_USER, unwritten, type UserChange, written } from './change-user.ts';

/** An idempotency key that a change of a balance uses. */
interface BalanceKey extends IdempotencyDigest {
  /** The packed use (`packedUse`). */
  use: string;
  /** The most keys that the user may use on a UTC day; 0: unlimited. */
  keysPerDay: number;
  /** Postgres's answer about the key; `null` before it was asked. */
  lookedUp: LookedUp | null;
}

interface BalanceCall {
  userId: string;
  /** The record's ID (32 hex digits). */
  id: string;
  movement: BalanceMovement;
  texts?: BalanceTexts;
  /** The packed state for which the movement was computed; any other is outdated. */
  expected?: Buffer;
  nowMs: number;
}

/** The key was used before. */
interface KeyReplay {
  [kindField]: typeof REFUSAL.replay;
  [REPLAY.use]: string;
}

/**
 * Changes a user's balance. The reply is the record, or a refusal: unknownUser, outdated, insufficient, manyHolds, notHeld, tooLarge.
 * Throws 503.
 */
export async function changeUserBalance(
  scripts: Scripts,
  tenantNo: number,
  call: BalanceCall,
  span?: Span,
): Promise<UserChange> {
  const compute = (read: ReadUser, part: TenantPart): UserChange => balanceChange(call, read, part);
  return (await changeUser(scripts, tenantNo, { userId: call.userId, compute }, { span }))!;
}

/** The same once for each key. Further refusals: replay, unknownUse (Postgres must be asked about the key), tooManyKeys. */
export async function changeUserBalanceOnce(
  scripts: Scripts,
  tenantNo: number,
  call: BalanceCall & { key: BalanceKey },
  span?: Span,
): Promise<UserChange<ScriptReply | KeyReplay>> {
  const { userId, key, nowMs } = call;
  const compute = (read: ReadUser, part: TenantPart): UserChange<ScriptReply | KeyReplay> => {
    if (read.packed === null) return balanceChange(call, read, part);
    const user = decodeUser(read.packed);
    const { generation } = user;
    const use = read.uses[0]!;
    const token = use.startsWith('?') ? use.slice(1) : null;
    if (token !== null && token !== key.lookedUp?.token)
      return unwritten(read, {
        [RECORD.kind]: REFUSAL.unknownUse,
        [UNKNOWN_USE.token]: token,
        ...(generation !== null && { [UNKNOWN_USE.generation]: generation }),
      });
    const earlier = token === null ? use : key.lookedUp!.use;
    if (earlier !== '') return unwritten(read, { [RECORD.kind]: REFUSAL.replay, [REPLAY.use]: earlier });
    const usedKeys = oneMoreKey(user, { nowMs, keysPerDay: key.keysPerDay });
    if (isRefusal(usedKeys)) return refused(read, usedKeys);
    const field = fieldOfGeneration(key.field, generation ?? undefined);
    return balanceChange(call, read, part, { usedKeys, use: { keyNo: 0, bucket: key.bucket, field, use: key.use } });
  };
  return (await changeUser(scripts, tenantNo, { userId, keys: [key], compute }, { span }))!;
}

function balanceChange(
  { userId, id, movement, texts = {}, expected, nowMs }: BalanceCall,
  read: ReadUser,
  part: TenantPart,
  keyed: { usedKeys: User['usedKeys']; use: KeyUse } | null = null,
): UserChange {
  if (read.packed === null) return unwritten(read, UNKNOWN_USER);
  if (expected !== undefined && !read.packed.equals(expected)) return refused(read, { refusal: 'outdated' });
  const user = decodeUser(read.packed);
  const outcome = moveBalance(user, movement, { nowMs, id });
  if (isRefusal(outcome)) return refused(read, outcome);
  if (keyed !== null) user.usedKeys = keyed.usedKeys;
  const record = balanceRecord(user, movement, outcome, { nowMs, id, userId, texts });
  return written(user, read, { part, record, uses: keyed === null ? [] : [keyed.use] });
}
