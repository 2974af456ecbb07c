import type { Pool } from 'pg';
import { transaction } from '../transaction.ts';

export interface UsedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
  /** ID of the event that used it, 32 hex digits. */
  eventId: string;
}

interface UsedKeyRow extends Omit<UsedKey, 'eventId'> {
  /** The ID in UUID format. */
  id: string;
}

const usedKeyOf = ({ id, ...row }: UsedKeyRow): UsedKey => ({ ...row, eventId: id.replaceAll('-', '') });

const COLUMNS = 'tenant_no AS "tenantNo", user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key, id';

/** Selects used keys by a condition on `id` or `tenant_no`. */
const usedKeysWhere = (where: string): string =>
  `SELECT ${COLUMNS} FROM used_keys WHERE ${where}
   UNION ALL SELECT ${COLUMNS} FROM quarantine WHERE idempotency_key IS NOT NULL AND ${where}`;

/** Passes the used idempotency keys of some tenants (`null` for all) to `take`, page by page, unordered, from one snapshot. */
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

const SELECT = `
  SELECT used.* FROM unnest($1::uuid[], $2::uuid[]) AS span (first, last)
   CROSS JOIN LATERAL (${usedKeysWhere('id BETWEEN span.first AND span.last')}) AS used`;

/** Used keys of events whose IDs contain one of some times (epoch ms, each once). A key may be returned twice. */
export async function usedKeysAt(pool: Pool, idTimesMs: readonly number[]): Promise<UsedKey[]> {
  if (idTimesMs.length === 0) return [];
  const heads = idTimesMs.map((ms) => ms.toString(16).padStart(12, '0'));
  const spans = ['0', 'f'].map((digit) => heads.map((head) => head.padEnd(32, digit)));
  const { rows } = await pool.query<UsedKeyRow>(SELECT, spans);
  return rows.map(usedKeyOf);
}
