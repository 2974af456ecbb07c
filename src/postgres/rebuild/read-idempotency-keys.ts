import type { Pool } from 'pg';
import { transaction } from '../transaction.ts';

export interface UsedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
  /** The time in the event's ID, epoch ms: that of the first check of the event, which may be before the event's. */
  idMs: number;
}

interface Row {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
  id: string;
}

/** All used idempotency keys of one moment, in no order, a page a call; one pass over the events. */
export async function readIdempotencyKeys(
  pool: Pool,
  pageSize: number,
  take: (keys: UsedKey[]) => Promise<void>,
): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query(
      `DECLARE used NO SCROLL CURSOR FOR
       SELECT tenant_no AS "tenantNo", user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key, id
         FROM events WHERE idempotency_key IS NOT NULL`,
    );
    const fetch = async (): Promise<Row[]> => (await client.query<Row>(`FETCH ${Math.trunc(pageSize)} FROM used`)).rows;
    let page = await fetch();
    while (page.length > 0) {
      const next = fetch();
      next.catch(() => undefined);
      await take(page.map(({ id, ...row }) => ({ ...row, idMs: parseInt(id.slice(0, 8) + id.slice(9, 13), 16) })));
      page = await next;
    }
  });
}
