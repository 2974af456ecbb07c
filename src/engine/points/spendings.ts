import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import type { BalanceChange, HoldRequest, SpendRequest } from '../../domain/points.ts';
import { AppError } from '../../errors.ts';
import { BALANCE, KIND, kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { REFUSAL, REPLAY } from '../../packed/refusal-fields.ts';
import type { AuditAction } from '../../domain/administration/audit.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import type { BalanceChangeRow } from '../../postgres/balance-changes.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { packedUse, timeOfUse, UNKNOWN_BODY } from '../../redis/idempotency.ts';
import { packedUser } from '../../redis/parts.ts';
import type { BalanceTexts } from '../../rules/record.ts';
import type { BalanceMovement } from '../../rules/spending.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { changeUserBalance, changeUserBalanceOnce } from '../changes/balance-change.ts';
import type { LookedUp } from '../events/ready-event.ts';
import { lookUpUses } from '../events/stored-replies.ts';
import { findSystem } from '../find-configured.ts';
import { eventId, idempotencyDigest, type KeyedIds, type ScopedKey, timeOf } from '../ids.ts';
import { unlessRefused } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { balanceChangeAnswer, balanceChangeOf, CLAIM_SCOPE, keyScope, REFUND_SCOPE } from './balances.ts';
import { closingOf, createSpendingReads, type SpendingReadsOptions } from './spending-reads.ts';

interface SpendingsOptions extends SpendingReadsOptions {
  scripts: Scripts;
  ids: KeyedIds;
  /** The most idempotency keys that a user may use per UTC day; 0: no limit. */
  idempotencyKeysPerDay: number;
  recordAudit: RecordAudit;
}

/** How often Postgres is asked about a key at most. An answer is outdated if the user was deleted or changed meanwhile. */
const MOST_LOOK_UPS = 10;

/** What a claim costs. `id`: made by `KeyedIds` for the key; the spending gets it if it is the first one of the key. */
export interface Payment {
  userId: string;
  rewardNo: number;
  systemNo: number;
  price: number;
  key: string;
  id: string;
}

/** The points of a user in a system. */
interface Purse {
  userId: string;
  /** Key of the points system. */
  key: string;
}

export interface Keyed {
  idempotencyKey: string | null;
  /** The administrator; `null` if an end user's key asks. */
  by: Author | null;
  span?: Span | undefined;
}

/** A change, and whether an earlier request made it. */
interface Made {
  row: BalanceChangeRow;
  isReplay: boolean;
}

/**
 * Spends points. A repeated request gets the first answer, however late it comes: Postgres keeps each change, and the used
 * keys (`src/redis/idempotency.ts`) say that it was made. The total of the points, which levels and leaderboards count,
 * never changes.
 */
export function createSpendings(options: SpendingsOptions) {
  const { redis, recordAudit, pool, scripts, clock, ids, idempotencyKeysPerDay } = options;
  const reads = createSpendingReads(options);

  /**
   * Spends points, or with `expiresIn` holds them, once for each idempotency key. Throws 400 without a key; 403 for a user's
   * key that may not spend; 404 for an unknown user or points system; 409 if the balance does not suffice, if the key was
   * used for another request, or beyond `HOLD.most` holds; 429; 503.
   */
  async function open(
    compiled: CompiledCatalog,
    { userId, key }: Purse,
    { expiresIn, ...request }: SpendRequest & Partial<HoldRequest>,
    keyed: Keyed,
  ): Promise<BalanceChange> {
    const system = findSystem(compiled, key);
    const { idempotencyKey, by, span } = keyed;
    if (by === null && !system.spendableByUsers)
      throw new AppError('forbidden', `Users' keys may not spend points of '${key}' (spendableByUsers).`);
    if (idempotencyKey === null)
      throw new AppError(
        'invalid',
        'The header Idempotency-Key is missing: spending needs one, so that it happens once.',
      );
    const scoped = { tenantNo: compiled.catalog.tenantNo, userId, metricNo: keyScope(system.no), key: idempotencyKey };
    const of = { system: system.no, amount: request.amount };
    const movement: BalanceMovement =
      expiresIn === undefined ? { kind: 'spend', ...of } : { kind: 'hold', ...of, expiresInMs: expiresIn * 1000 };
    const texts = {
      // In the form in which Postgres stores them, so that each repetition is the same.
      reason: storable(request.reason),
      reference: storable(request.reference),
      key: idempotencyKey,
    };
    const { row, isReplay } = await use(compiled, scoped, { movement, texts }, span);
    if (isReplay && !isSame(row, movement, texts))
      throw new AppError('conflict', 'The Idempotency-Key was used for another request: use a new key.');
    const answer = balanceChangeAnswer(compiled, row);
    if (!isReplay && by !== null) audit({ action: 'create', tenantNo: scoped.tenantNo, userId, by }, answer);
    return answer;
  }

  /**
   * Pays for a reserved claim, once for each idempotency key, however often it is called. Throws as `open` does; after any error but
   * 503, the key has paid for nothing of this reward.
   */
  async function pay(
    compiled: CompiledCatalog,
    { userId, rewardNo, systemNo, price, key, id }: Payment,
    span?: Span,
  ): Promise<void> {
    const scoped = { tenantNo: compiled.catalog.tenantNo, userId, metricNo: CLAIM_SCOPE, key };
    const movement: BalanceMovement = { kind: 'spend', system: systemNo, amount: price, reward: rewardNo };
    const { row } = await use(compiled, scoped, { movement, texts: { key }, id }, span);
    if (row.rewardNo !== rewardNo || row.amount !== price)
      throw new AppError('conflict', 'The Idempotency-Key was used for another claim: use a new key.');
  }

  /**
   * Spends what a hold holds (capture), or gives it back (release). Idempotent. Throws 404 for an unknown hold; 409 if it
   * was closed otherwise or has expired; 503.
   */
  async function close(
    compiled: CompiledCatalog,
    { userId, key }: Purse,
    { how, id: hold, by, span }: { how: 'capture' | 'release'; id: string; by: Author; span?: Span | undefined },
  ): Promise<BalanceChange> {
    const system = findSystem(compiled, key);
    const of = hold.replaceAll('-', '');
    const { tenantNo } = compiled.catalog;
    const nowMs = clock.now();
    const movement = { kind: how, system: system.no, of };
    const { reply } = await changeUserBalance(scripts, tenantNo, { userId, id: eventId(nowMs), movement, nowMs }, span);
    if (reply[kindField] !== REFUSAL.notHeld) {
      const answer = balanceChangeAnswer(compiled, changeIn(compiled, reply));
      audit({ action: 'update', tenantNo, userId, by }, answer);
      return answer;
    }
    const { closings } = await reads.find(tenantNo, userId, system, of);
    const closing = closingOf(closings);
    if (closing?.kind === BALANCE[how]) return balanceChangeAnswer(compiled, closing);
    throw new AppError('conflict', `The hold ${closing === undefined ? 'has expired' : CLOSED[closing.kind]}.`);
  }

  /**
   * Gives back the whole amount of a spending or captured hold, once. Idempotent: another refund is answered like the
   * first. Throws 404 for an unknown spending; 409 for a hold that was not captured; 503.
   */
  async function refund(
    compiled: CompiledCatalog,
    { userId, key }: Purse,
    { id, by, span }: { id: string; by: Author; span?: Span | undefined },
  ): Promise<BalanceChange> {
    const system = findSystem(compiled, key);
    const { answer, isReplay } = await giveBack(compiled, { userId, system, id }, span, (spending) => {
      if (spending.rewardNo !== null)
        throw new AppError('conflict', 'The spending paid for a reward: cancel the claim instead.');
    });
    if (!isReplay) audit({ action: 'reverse', tenantNo: compiled.catalog.tenantNo, userId, by }, answer);
    return answer;
  }

  /** Gives back the points of a cancelled claim, as `refund` does. */
  async function refundClaim(
    compiled: CompiledCatalog,
    userId: string,
    system: PointsSystem,
    id: string,
  ): Promise<void> {
    await giveBack(compiled, { userId, system, id }, undefined, () => undefined);
  }

  async function giveBack(
    compiled: CompiledCatalog,
    { userId, system, id }: { userId: string; system: PointsSystem; id: string },
    span: Span | undefined,
    check: (spending: BalanceChangeRow) => void,
  ): Promise<{ answer: BalanceChange; isReplay: boolean }> {
    const { tenantNo } = compiled.catalog;
    const of = id.replaceAll('-', '');
    // Read before the spending: a user who is deleted in between, and returns, must not be paid for it.
    const packed = await packedUser(redis, tenantNo, userId);
    const generation = packed === null ? null : decodeUser(packed).generation;
    const { spending, closings } = await reads.find(tenantNo, userId, system, of);
    if (spending.kind === BALANCE.hold && closingOf(closings)?.kind !== BALANCE.capture)
      throw new AppError('conflict', 'The hold was not captured, so that there is nothing to refund.');
    check(spending);
    const scoped = { tenantNo, userId, metricNo: REFUND_SCOPE, key: of };
    const movement: BalanceMovement = { kind: 'refund', system: system.no, amount: spending.amount, of, generation };
    const { row, isReplay } = await use(compiled, scoped, { movement }, span);
    return { answer: balanceChangeAnswer(compiled, row), isReplay };
  }

  /** Runs in the background; the caller does not wait for it. */
  function audit(
    { action, tenantNo, userId, by }: { action: AuditAction; tenantNo: number; userId: string; by: Author },
    { id, spendingId, type, pointsSystem, amount }: BalanceChange,
  ): void {
    const after = { type, pointsSystem, amount };
    const entry = { action, kind: 'spending' as const, id: spendingId ?? id, userId, after };
    void recordAudit({ tenantNo, by, entries: [entry] });
  }

  /** Makes a change that uses a key, unless the key was used before. Throws 404, 409, 429, 503. */
  async function use(
    compiled: CompiledCatalog,
    scoped: ScopedKey,
    { movement, texts, id: given }: { movement: BalanceMovement; texts?: BalanceTexts; id?: string },
    span: Span | undefined,
  ): Promise<Made> {
    const { tenantNo, userId } = scoped;
    const id = given ?? ids.make(clock.now(), scoped);
    const key = {
      ...idempotencyDigest(userId, scoped.metricNo, scoped.key),
      use: packedUse(timeOf(id), UNKNOWN_BODY),
      keysPerDay: scoped.metricNo === REFUND_SCOPE ? 0 : idempotencyKeysPerDay,
    };
    let lookedUp: LookedUp | null = null;
    for (let lookUps = 0; ; lookUps += 1) {
      const call = { userId, id, movement, key: { ...key, lookedUp }, nowMs: clock.now(), ...(texts && { texts }) };
      const { reply } = await changeUserBalanceOnce(scripts, tenantNo, call, span);
      if (reply[kindField] === REFUSAL.unknownUse) {
        if (lookUps === MOST_LOOK_UPS)
          throw new AppError('unavailable', 'The user keeps changing; try again in a moment.');
        lookedUp = (await lookUpUses({ redis, pool }, tenantNo, [{ scoped, id, asked: reply }]))[0]!;
        continue;
      }
      if (reply[kindField] !== REFUSAL.replay) return { row: changeIn(compiled, reply), isReplay: false };
      const first = ids.make(Number(timeOfUse(reply[REPLAY.use])), scoped);
      const row = await reads.changeOf(scoped, first);
      if (row === undefined)
        throw new AppError(
          'conflict',
          'The Idempotency-Key was used for a spending whose dead letter was dropped: its answer is lost.',
        );
      return { row, isReplay: true };
    }
  }

  return { open, pay, close, refund, refundClaim, list: reads.list };
}

export type Spendings = ReturnType<typeof createSpendings>;

const CLOSED: Readonly<Record<number, string>> = {
  [BALANCE.capture]: 'was captured',
  [BALANCE.release]: 'was released',
};

const storable = (text: string | undefined): string | undefined => (text === undefined ? text : storableText(text));

/** The change in the record of a reply. Throws the error for a refusal. */
function changeIn(compiled: CompiledCatalog, reply: ScriptReply): BalanceChangeRow {
  const record = unlessRefused(compiled, reply, [KIND.user]);
  return balanceChangeOf(compiled.catalog.tenantNo, record)!;
}

function isSame(row: BalanceChangeRow, movement: BalanceMovement, { reason, reference }: BalanceTexts): boolean {
  return (
    row.kind === BALANCE[movement.kind] &&
    'amount' in movement &&
    row.amount === movement.amount &&
    row.reason === (reason ?? null) &&
    row.reference === (reference ?? null) &&
    (movement.kind !== 'hold' || row.expiresMs! - row.atMs === movement.expiresInMs)
  );
}
