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

/** All used idempotency keys of one moment, in no order, a page a call; one pass over the events. */
export async function readIdempotencyKeys(
  pool: Pool,
  pageSize: number,
  take: (keys: UsedKey[]) => Promise<void>,
): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      `DECLARE used NO SCROLL CURSOR FOR
       SELECT ${USED_KEY_COLUMNS} FROM events WHERE idempotency_key IS NOT NULL
       UNION ALL SELECT ${USED_KEY_COLUMNS} FROM quarantine WHERE idempotency_key IS NOT NULL`,
    );
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
