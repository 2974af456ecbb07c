import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { CompiledPlan } from '../../catalog/plan.ts';
import type { Decimal } from '../../domain/decimal.ts';
import { idempotencyKey, oldKeysKey, type TenantPart, userKey } from '../../redis/keys.ts';
import type { IdempotencyDigest, ScopedKey } from '../ids.ts';
import { partCall } from '../scripts.ts';
import type { SentUser } from '../users/sent-user.ts';
import { packedLookedUp, type PackedLookedUp } from '../../packed/packed-arrays.ts';

interface UsedByEvent extends IdempotencyDigest {
  key: string;
  use: string;
}

export interface ReadyEvent {
  /** The catalog that it was checked with. Its plan and answer come from this version. */
  compiled: CompiledCatalog;
  plan: CompiledPlan;
  /** 32 hex digits. */
  id: string;
  userId: string;
  value: Decimal;
  /** The value that guards allow, if the script reduced the value of a late event. */
  allowed?: Decimal;
  sent: SentUser | null;
  /** Event attributes as JSON text; '' if there are none. */
  attributes: string;
  /** Numbers of the plan's matching counters, separated by commas. */
  counted: string;
  idempotency: UsedByEvent | null;
  /** Postgres's answer about the key, if the script asked (`REFUSAL.unknownUse`). */
  lookedUp?: LookedUp;
}

/** The answer whether an old idempotency key was used. */
export interface LookedUp {
  /** The script's token. The answer is valid as long as the token is unchanged. */
  token: string;
  /** The use as Redis would store it (`packedUse`); `''` if the key is unused. */
  use: string;
}

/** The scoped idempotency key of an event that has one. */
export const scopedKey = ({ compiled, plan, userId, idempotency }: ReadyEvent): ScopedKey => ({
  tenantNo: compiled.catalog.tenantNo,
  userId,
  metricNo: plan.plan.metric,
  key: idempotency!.key,
});

/** KEYS and ARGV of `lua/record_events.lua`; see its header. All users are of one part. */
export function eventCall(
  part: TenantPart,
  events: readonly ReadyEvent[],
  {
    nowMs,
    retryPosition,
    idempotencyKeysPerDay,
  }: { nowMs: number; retryPosition: string; idempotencyKeysPerDay: number },
): { keys: string[]; args: (string | number)[] } {
  const planIndex = new Map<CompiledPlan, number>();
  const { keys, args } = partCall(part, { nowMs, retryPosition });
  let lookedUp: Record<number, PackedLookedUp> | null = null;
  for (const [at, event] of events.entries()) {
    if (!planIndex.has(event.plan)) planIndex.set(event.plan, planIndex.size + 1);
    if (event.lookedUp !== undefined) (lookedUp ??= {})[at + 1] = packedLookedUp(event.lookedUp);
  }
  // In the order of EVENTS_ARG.
  args.push(planIndex.size, lookedUp === null ? '' : JSON.stringify(lookedUp), oldKeysKey(part), idempotencyKeysPerDay);
  for (const plan of planIndex.keys()) args.push(plan.json);
  for (const event of events) {
    const key = userKey(part, event.userId);
    const { idempotency } = event;
    keys.push(key, idempotency === null ? key : idempotencyKey(part, idempotency.bucket));
    // In the order of EVENT.
    args.push(
      planIndex.get(event.plan)!,
      event.userId,
      event.id,
      event.value.whole,
      event.value.micros,
      idempotency === null ? '' : idempotency.field,
      idempotency === null ? '' : idempotency.key,
      idempotency === null ? '' : idempotency.use,
      event.sent === null ? '' : JSON.stringify(event.sent),
      event.counted,
      event.compiled.personalBoosts.get(event.userId) ?? '',
      event.attributes,
    );
  }
  return { keys, args };
}
