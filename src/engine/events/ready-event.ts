import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Decimal } from '../../domain/decimal.ts';
import type { Occurred } from '../../rules/event.ts';
import type { CompiledPlan } from '../../rules/plan.ts';
import type { SentProfile } from '../../rules/profile.ts';
import type { StreakRepairs } from '../../rules/event-record.ts';
import type { IdempotencyDigest, ScopedKey } from '../ids.ts';

/** The time of an event, and what it repaired in the history of the user's streaks. */
export interface OccurredEvent extends Occurred, StreakRepairs {
  /** SHA-1 of the user's state that the replay is based on; '' for a new user. If omitted, the state is not checked. */
  digest?: string;
  /** The late event (32 hex digits) that the replay assumes to be applied directly before this one, in the same call. */
  after?: string;
}

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
  /** The value that guards allow, if the guards reduced the value of a late event. */
  allowed?: Decimal;
  sent: SentProfile | null;
  /** When it happened, if it has a time of its own. */
  occurred?: OccurredEvent;
  /** Metadata for the user's entries on leaderboards, as JSON; absent for none. */
  metadata?: string;
  /** Event attributes as JSON text; '' if there are none. */
  attributes: string;
  /** Numbers of the plan's matching counters, separated by commas. */
  counted: string;
  idempotency: UsedByEvent | null;
  /** Postgres's answer about the key, if it was asked (`REFUSAL.unknownUse`). */
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
