import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { PointsSystem } from '../../domain/catalog.ts';
import type { Spending, Spendings, SpendingsQuery } from '../../domain/points.ts';
import { uuidText } from '../../domain/schemas.ts';
import { AppError } from '../../errors.ts';
import { BALANCE, RECORD } from '../../packed/record-fields.ts';
import { type BalanceChangeRow, listSpendings, readBalanceChanges } from '../../postgres/balance-changes.ts';
import { usedByMerged } from '../../postgres/users/merges.ts';
import { findSystem } from '../find-configured.ts';
import { pageOf } from '../page.ts';
import { recordsAside } from '../persist/dead-letters.ts';
import { NO_SPENDING } from '../refusals.ts';
import { balanceChangeAnswer, balanceChangeOf } from './balances.ts';
import type { NamedUser } from '../../domain/user.ts';

export interface SpendingReadsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Resolves when Postgres holds the writes about a user so far; rejects with 503 if that takes too long. */
  persisted: (tenantNo: number, userId: string) => Promise<void>;
}

/** Spendings and holds as Postgres and the outbox entries that it refused have them. */
export function createSpendingReads({ redis, pool, clock, persisted }: SpendingReadsOptions) {
  /** A page of a user's spendings, holds and expiries, newest first. Includes everything answered before. Throws 404 for a system. */
  async function list(
    compiled: CompiledCatalog,
    userId: string,
    { limit, cursor, pointsSystem }: SpendingsQuery,
  ): Promise<Spendings> {
    const { tenantNo } = compiled.catalog;
    const systemNo = pointsSystem === undefined ? null : findSystem(compiled, pointsSystem).no;
    await persisted(tenantNo, userId);
    const rows = await listSpendings(pool, { tenantNo, userId, systemNo, before: cursor ?? null, limit: limit + 1 });
    const { rows: page, nextCursor } = pageOf(rows, limit, ({ id }) => uuidText(id));
    const changes = await readBalanceChanges(
      pool,
      { tenantNo, userId },
      page.map(({ id }) => id),
    );
    const nowMs = clock.now();
    const spendings = page.map((row): Spending => {
      const closings = changes.filter(({ closes }) => closes === row.id);
      return {
        ...balanceChangeAnswer(compiled, row),
        status: statusOf(row, closings, nowMs),
        idempotencyKey: row.idempotencyKey,
        closedBy: closings.map((closing) => balanceChangeAnswer(compiled, closing)),
      };
    });
    return { spendings, nextCursor };
  }

  /** A user's change, or that of a user who was merged into this one, by the ID that its key has now. */
  async function changeOf(of: NamedUser, id: string): Promise<BalanceChangeRow | undefined> {
    const own = await changeWith(of, id);
    if (own !== undefined) return own;
    const usedBy = await usedByMerged(pool, id);
    return usedBy === null ? undefined : changeWith(of, usedBy);
  }

  async function changeWith(of: NamedUser, id: string): Promise<BalanceChangeRow | undefined> {
    return (await read(of, id)).find((each) => each.id === id);
  }

  /** A spending or hold, and what closed it. Throws 404. */
  async function find(
    tenantNo: number,
    userId: string,
    system: PointsSystem,
    id: string,
  ): Promise<{ spending: BalanceChangeRow; closings: BalanceChangeRow[] }> {
    const rows = await read({ tenantNo, userId }, id);
    const spending = rows.find((row) => row.id === id);
    const isOther = spending?.closes !== null || spending.kind === BALANCE.expire || spending.systemNo !== system.no;
    if (spending === undefined || isOther) throw new AppError('not_found', NO_SPENDING);
    return { spending, closings: rows.filter(({ closes }) => closes === id) };
  }

  /** A change, and those that close it. Waits until Postgres holds what was written before. */
  async function read(of: NamedUser, id: string): Promise<BalanceChangeRow[]> {
    await persisted(of.tenantNo, of.userId);
    // Read first: a retry may store them in the meantime.
    const aside = await setAside(of);
    const stored = await readBalanceChanges(pool, of, [id]);
    const isStored = (row: BalanceChangeRow): boolean => stored.some((each) => each.id === row.id);
    return [...stored, ...aside.filter((row) => (row.id === id || row.closes === id) && !isStored(row))];
  }

  /** A user's changes in outbox entries that Postgres refused. */
  async function setAside(of: NamedUser): Promise<BalanceChangeRow[]> {
    const records = await recordsAside({ redis, pool }, of);
    return records
      .filter((record) => Array.isArray(record[RECORD.balance]))
      .map((record) => balanceChangeOf(of.tenantNo, record)!);
  }

  return { list, changeOf, find };
}

/** A hold's capture or release. */
export const closingOf = (closings: readonly BalanceChangeRow[]): BalanceChangeRow | undefined =>
  closings.find(({ kind }) => kind !== BALANCE.refund);

function statusOf(
  { kind, expiresMs }: BalanceChangeRow,
  closings: readonly BalanceChangeRow[],
  nowMs: number,
): Spending['status'] {
  const kinds = new Set(closings.map((closing) => closing.kind));
  if (kinds.has(BALANCE.refund)) return 'refunded';
  if (kind === BALANCE.spend) return 'spent';
  if (kind === BALANCE.expire) return 'expired';
  if (kinds.has(BALANCE.capture)) return 'captured';
  if (kinds.has(BALANCE.release)) return 'released';
  return (expiresMs ?? 0) > nowMs ? 'held' : 'expired';
}
