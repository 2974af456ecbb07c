import type { Pool } from 'pg';
import { storableText } from '../persist/storable-json.ts';

/** An idempotency key that somebody may have used. */
export interface AskedKey {
  userId: string;
  metricNo: number;
  key: string;
  /** The part of an event's ID that comes from the key: 16 hex digits. */
  idPart: string;
}

const SELECT = `
  SELECT encode(substr(uuid_send(id), 1, 6), 'hex') AS "idTime", encode(substr(uuid_send(id), 7, 8), 'hex') AS "idPart",
         user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key
    FROM events
   WHERE substr(uuid_send(id), 7, 8) = ANY ($1::bytea[]) AND idempotency_key IS NOT NULL AND tenant_no = $2`;

interface Row {
  idTime: string;
  idPart: string;
  userId: string;
  metricNo: number;
  key: string;
}

/** For each key the time in the ID of the event that used it, epoch ms; 0: no event that is stored did. */
export async function findUsedKeys(pool: Pool, tenantNo: number, asked: readonly AskedKey[]): Promise<number[]> {
  const parts = asked.map(({ idPart }) => Buffer.from(idPart, 'hex'));
  const { rows } = await pool.query<Row>(SELECT, [parts, tenantNo]);
  return asked.map(({ userId, metricNo, key, idPart }) => {
    const used = rows.find(
      (row) =>
        row.idPart === idPart &&
        row.metricNo === metricNo &&
        row.userId === storableText(userId) &&
        row.key === storableText(key),
    );
    return used === undefined ? 0 : parseInt(used.idTime, 16);
  });
}
