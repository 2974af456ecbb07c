import type { Pool } from 'pg';
import { transaction } from '../transaction.ts';

export interface UsedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
  /** ID of the event that used it: 32 hex digits. */
  eventId: string;
}

/** A row of `USED_KEY_COLUMNS`. */
export interface UsedKeyRow extends Omit<UsedKey, 'eventId'> {
  /** The usual text of the ID. */
  id: string;
}

export const USED_KEY_COLUMNS =
  'tenant_no AS "tenantNo", user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key, id';

/** The used key of a row. */
export const usedKeyOf = ({ id, ...row }: UsedKeyRow): UsedKey => ({ ...row, eventId: id.replaceAll('-', '') });

const selectFrom = (table: 'used_keys' | 'quarantine', where: string): string =>
  `SELECT ${USED_KEY_COLUMNS} FROM ${table} WHERE ${where}`;

/** Selects all used keys for which a condition on `id` or `tenant_no` holds. */
export const usedKeysWhere = (where: string): string =>
  `${selectFrom('used_keys', where)} UNION ALL ${selectFrom('quarantine', `idempotency_key IS NOT NULL AND ${where}`)}`;

/**
 * Reads all used idempotency keys of one snapshot, in no order, and passes them to `take` page by page. `tenants`: only those of
 * these tenants; `null`: of all.
 */
export async function readIdempotencyKeys(
  pool: Pool,
  { pageSize, tenants }: { pageSize: number; tenants: readonly number[] | null },
  take: (keys: UsedKey[]) => Promise<void>,
): Promise<void> {
  const ofTenants = tenants === null ? 'true' : `tenant_no = ANY ('{${tenants.map(Math.trunc).join()}}')`;
  await transaction(pool, async (client) => {
    await client.query(`DECLARE used NO SCROLL CURSOR FOR ${usedKeysWhere(ofTenants)}`);
    const fetch = async (): Promise<UsedKeyRow[]> =>
      (await client.query<UsedKeyRow>(`FETCH ${Math.trunc(pageSize)} FROM used`)).rows;
    let page = await fetch();
    while (page.length > 0) {
      const next = fetch();
      next.catch(() => undefined);
      await take(page.map(usedKeyOf));
      page = await next;
    }
  });
}
