import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';

/** An idempotency key that a user may have used. */
export interface AskedKey {
  userId: string;
  metricNo: number;
  key: string;
  /** What the part of the event's ID that comes from the key may be: 16 hex digits each. */
  idParts: readonly string[];
}

const selectFrom = (table: 'events' | 'quarantine'): string => `
  SELECT replace(id::text, '-', '') AS id, user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key
    FROM ${table}
   WHERE substr(uuid_send(id), 7, 8) = ANY ($1::bytea[]) AND idempotency_key IS NOT NULL AND tenant_no = $2`;

const SELECT = `${selectFrom('events')} UNION ALL ${selectFrom('quarantine')}`;

interface Row {
  id: string;
  userId: string;
  metricNo: number;
  key: string;
}

/** For each key the ID (32 hex digits) of the event that used it; null: no event that is stored, be it in quarantine, did. */
export async function findUsedKeys(
  pool: Pool,
  tenantNo: number,
  asked: readonly AskedKey[],
): Promise<(string | null)[]> {
  const parts = asked.flatMap(({ idParts }) => idParts.map((part) => Buffer.from(part, 'hex')));
  const { rows } = await pool.query<Row>(SELECT, [parts, tenantNo]);
  return asked.map(({ userId, metricNo, key, idParts }) => {
    const used = rows.find(
      (row) =>
        idParts.includes(row.id.slice(12, 28)) &&
        row.metricNo === metricNo &&
        row.userId === storableText(userId) &&
        row.key === storableText(key),
    );
    return used?.id ?? null;
  });
}
