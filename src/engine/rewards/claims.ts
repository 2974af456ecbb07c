import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { Reward } from '../../domain/catalog.ts';
import type { Claim } from '../../domain/reward.ts';
import { AppError } from '../../errors.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import {
  cancelClaim,
  CLAIM_STATE,
  claimCounts,
  claimOfKey,
  type ClaimRow,
  fulfilClaim,
  noteRefund,
  releaseClaim,
  reserveClaim,
  type ReserveOutcome,
} from '../../postgres/rewards.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import { findReward } from '../find-configured.ts';
import type { KeyedIds } from '../ids.ts';
import { balanceOf } from '../../rules/points.ts';
import { CLAIM_SCOPE } from '../points/balances.ts';
import type { Spendings, Keyed } from '../points/spendings.ts';
import { claimAnswer, findClaim, shownClaim, stateOf } from './claim-reads.ts';

export interface ClaimsOptions {
  redis: Redis;
  pool: Pool;
  spendings: Spendings;
  ids: KeyedIds;
  clock: Clock;
  recordAudit: RecordAudit;
  /** Resolves when Postgres holds the writes about a user so far; rejects with 503 if that takes too long. */
  persisted: (tenantNo: number, userId: string) => Promise<void>;
  /** Called at each moment of a claim, so that tests can stop there. */
  onMoment?: ((moment: ClaimMoment) => void | Promise<void>) | undefined;
}

/** The claim is reserved in Postgres; its points are spent in Redis; Postgres holds the spending. */
export type ClaimMoment = 'reserved' | 'spent' | 'stored';

/**
 * Claims of rewards. A claim is reserved in Postgres, paid in Redis, and confirmed with the spending (decision 45): each step is
 * idempotent, so a repeated request continues where an earlier one stopped.
 */
export function createClaims({ pool, persisted, redis, recordAudit, spendings, onMoment, clock, ids }: ClaimsOptions) {
  /** The last reservation of each reward, by tenant and reward. */
  const reserving = new Map<string, Promise<unknown>>();

  /**
   * Claims a reward, once for each idempotency key of the user. Returns the claim in its present state. Throws 400 without a key; 403
   * for a user's key that may not claim it; 404 for an unknown user or reward; 409 if the balance does not suffice, nothing is
   * left, the user's limit is reached or the key was used for another reward; 429; 503, after which the request should be repeated.
   */
  async function claim(
    compiled: CompiledCatalog,
    userId: string,
    rewardKey: string,
    { idempotencyKey: key, by, span }: Keyed,
  ): Promise<Claim> {
    const reward = findReward(compiled, rewardKey);
    const { tenantNo } = compiled.catalog;
    if (by === null && !reward.claimableByUsers)
      throw new AppError('forbidden', `Users' keys may not claim '${rewardKey}' (claimableByUsers).`);
    if (key === null)
      throw new AppError(
        'invalid',
        'The header Idempotency-Key is missing: a claim needs one, so that it happens once.',
      );
    const known = await claimOfKey(pool, { tenantNo, userId, key });
    const reserved = known ?? (await reserve(compiled, reward, userId, key));
    if (reserved.rewardNo !== reward.no)
      throw new AppError('conflict', 'The Idempotency-Key was used for another claim: use a new key.');
    const claim = reserved.state === CLAIM_STATE.reserved ? await pay(compiled, reserved, span) : reserved;
    const answer = claimAnswer(compiled, claim);
    if (known === null && by !== null) audit(tenantNo, by, 'create', answer);
    return answer;
  }

  /**
   * Pays for a reserved claim and returns the paid one. If the spending is refused, the reservation is released and the refusal
   * thrown. Idempotent. Throws 503 if the outcome is unknown.
   */
  async function pay(compiled: CompiledCatalog, claim: ClaimRow, span?: Span): Promise<ClaimRow> {
    const { tenantNo, userId } = claim;
    const key = claim.idempotencyKey!;
    await onMoment?.('reserved');
    try {
      await spendings.pay(compiled, { ...claim, key }, span);
    } catch (error) {
      if (error instanceof AppError && error.status < 500) await releaseClaim(pool, claim);
      throw error;
    }
    await onMoment?.('spent');
    await persisted(tenantNo, userId);
    await onMoment?.('stored');
    const paid = await claimOfKey(pool, { tenantNo, userId, key });
    if (paid === null || paid.state === CLAIM_STATE.reserved)
      throw new AppError('unavailable', 'The claim is being stored; repeat the request with the same Idempotency-Key.');
    return paid;
  }

  /** Notes that the user has got the reward. Idempotent. Throws 404; 409 for a cancelled claim. */
  async function fulfil(compiled: CompiledCatalog, id: string, by: Author): Promise<Claim> {
    const before = await findClaim(pool, compiled, id);
    const fulfilled = await fulfilClaim(pool, before.tenantNo, before.id, clock.now());
    const claim = fulfilled ?? (await findClaim(pool, compiled, id));
    if (claim.state === CLAIM_STATE.cancelled) throw new AppError('conflict', 'The claim was cancelled.');
    const answer = await shownClaim(pool, compiled, claim);
    if (fulfilled !== null) audit(before.tenantNo, by, 'update', answer);
    return answer;
  }

  /**
   * Cancels a claim and gives back its points, once. The count goes back, so that others can claim it. Idempotent. Throws 404; 409 for a
   * fulfilled claim. If it throws 503, the claim is cancelled, and its points follow.
   */
  async function cancel(
    compiled: CompiledCatalog,
    id: string,
    { reason, by }: { reason: string | null; by: Author },
  ): Promise<Claim> {
    const before = await findClaim(pool, compiled, id);
    const cancelled = await cancelClaim(pool, before, clock.now(), reason);
    const claim = cancelled ?? (await findClaim(pool, compiled, id));
    if (claim.state === CLAIM_STATE.fulfilled)
      throw new AppError('conflict', 'The claim was fulfilled: only a claimed one can be cancelled.');
    const answer = await shownClaim(pool, compiled, claim);
    if (cancelled !== null) audit(before.tenantNo, by, 'update', answer);
    if (claim.refundDue) await refund(compiled, claim);
    return answer;
  }

  /** Gives back the points of a cancelled claim. Idempotent. Without the user or the points system there is nothing to give back. */
  async function refund(compiled: CompiledCatalog, claim: ClaimRow): Promise<void> {
    const system = compiled.pointsSystemsByNo.get(claim.systemNo);
    if (system !== undefined) {
      const refunded = spendings.refundClaim(compiled, claim.userId, system, claim.id);
      await refunded.catch((error: unknown) => {
        if (!(error instanceof AppError) || error.status !== 404) throw error;
      });
    }
    await noteRefund(pool, claim);
  }

  /** Throws 404 and 409. A user without enough points reserves nothing, because that would keep others from the last item. */
  async function reserve(compiled: CompiledCatalog, reward: Reward, userId: string, key: string): Promise<ClaimRow> {
    const { tenantNo } = compiled.catalog;
    const system = compiled.pointsSystemsById.get(reward.pointsSystemId!)!;
    const nowMs = clock.now();
    const balance = balanceOf(await stateOf(redis, tenantNo, userId), system.no, nowMs);
    // A claim of this key may have been paid since; then its row answers.
    if (balance < reward.price) {
      const paid = await claimOfKey(pool, { tenantNo, userId, key });
      if (paid !== null) return paid;
      throw new AppError('insufficient_balance', `The balance is ${balance}: it does not cover the price.`, {
        fields: { balance },
      });
    }
    const id = ids.make(nowMs, { tenantNo, userId, metricNo: CLAIM_SCOPE, key });
    const reservation = { id, tenantNo, userId, rewardNo: reward.no, systemNo: system.no, key, atMs: nowMs };
    const outcome = await inTurn(`${tenantNo}:${reward.no}`, async () =>
      (await isSoldOut(tenantNo, reward))
        ? ((await claimOfKey(pool, reservation)) ?? 'sold out')
        : reserveClaim(pool, reservation),
    );
    if (typeof outcome === 'string') throw refusalOf(reward, outcome);
    return outcome;
  }

  /** Without a lock, so that refusing the crowd that comes too late is cheap. */
  async function isSoldOut(tenantNo: number, { no, stock }: Reward): Promise<boolean> {
    if (stock === null) return false;
    const counts = await claimCounts(pool, tenantNo, [no], null);
    return (counts.get(no)?.claimed ?? 0) >= stock;
  }

  /** A process reserves one claim of a reward at a time. Otherwise those who wait for its lock would take every connection. */
  function inTurn<T>(reward: string, work: () => Promise<T>): Promise<T> {
    const run = inOwnTurn(reserving.get(reward) ?? Promise.resolve()).then(work);
    const end = (): void => {
      if (reserving.get(reward) === last) reserving.delete(reward);
    };
    const last: Promise<void> = run.then(end, end);
    reserving.set(reward, last);
    return run;
  }

  /** Runs in the background; the caller does not wait for it. */
  function audit(tenantNo: number, by: Author, action: 'create' | 'update', claim: Claim): void {
    const { id, userId, reward, price, state } = claim;
    const entry = { action, kind: 'claim', id, name: reward.key, userId, after: { price, state } } as const;
    void recordAudit({ tenantNo, by, entries: [entry] });
  }

  return { claim, pay, fulfil, cancel, refund };
}

export type Claims = ReturnType<typeof createClaims>;

function refusalOf({ key, limitPerUser }: Reward, outcome: Exclude<ReserveOutcome, ClaimRow>): AppError {
  if (outcome === 'inactive') return new AppError('not_found', `The reward '${key}' is not active.`);
  if (outcome === 'sold out') return new AppError('sold_out', `The reward '${key}' is sold out.`);
  return new AppError('claim_limit', `The user has as many claims of '${key}' as allowed: ${limitPerUser}.`);
}
