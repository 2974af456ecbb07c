import type { Pool } from 'pg';
import { storableText } from '../storable-json.ts';

/** An idempotency key that a user may have used. */
export interface AskedKey {
  userId: string;
  metricNo: number;
  key: string;
  /** The part of the event's ID that derives from the key, 16 hex digits. */
  idPart: string;
}

const COLUMNS = `replace(id::text, '-', '') AS id, user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key`;
/** Whether the part of an ID that derives from a key is among the requested ones. */
const HAS_PART = 'substr(uuid_send(id), 7, 8) = ANY ($1::bytea[])';
/** The first ID whose partition of used keys has no index yet (`indexUsedKeys`). */
const UNINDEXED = 'SELECT end_id AS id FROM event_partitions WHERE keys_indexed ORDER BY end_day DESC LIMIT 1';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Parameters: parts of IDs, tenant number; users and metrics, as pairs; the first ID without an index. The latter is a value so that partitions
 * without an index are not planned for; their estimated cost made Postgres compile the plan. Keys newer than the index are found through the
 * user's events of the metric, by an index that contains their IDs; only events found there are read.
 */
const SELECT = `
  SELECT ${COLUMNS} FROM used_keys
   WHERE tenant_no = $2 AND user_id = ANY ($3::text[]) AND ${HAS_PART} AND id < $5::uuid
  UNION ALL
  SELECT ${COLUMNS} FROM events
   WHERE id >= $5::uuid AND idempotency_key IS NOT NULL AND id = ANY (ARRAY(
      SELECT id FROM unnest($3::text[], $4::int[]) AS asked (user_id, metric_no)
        JOIN events USING (user_id, metric_no)
       WHERE tenant_no = $2 AND id >= $5::uuid AND ${HAS_PART}
   ))
  UNION ALL
  SELECT ${COLUMNS} FROM quarantine WHERE ${HAS_PART} AND idempotency_key IS NOT NULL AND tenant_no = $2`;

interface Row {
  id: string;
  userId: string;
  metricNo: number;
  key: string;
}

const firstUnindexed = async (pool: Pool): Promise<string> =>
  (await pool.query<{ id: string }>(UNINDEXED)).rows[0]?.id ?? FIRST_ID;

/** For each key, the ID (32 hex digits) of the event that used it; `null` if no stored event, quarantined ones included, did. */
export async function findUsedKeys(
  pool: Pool,
  tenantNo: number,
  asked: readonly AskedKey[],
): Promise<(string | null)[]> {
  const parts = asked.map(({ idPart }) => Buffer.from(idPart, 'hex'));
  const pairs = [...new Map(asked.map((each) => [`${each.metricNo} ${each.userId}`, each])).values()];
  const named = [pairs.map(({ userId }) => storableText(userId)), pairs.map(({ metricNo }) => metricNo)];
  const unindexed = await firstUnindexed(pool);
  const { rows } = await pool.query<Row>(SELECT, [parts, tenantNo, ...named, unindexed]);
  // Events between the two IDs may have been dropped meanwhile; the index now contains their keys.
  if ((await firstUnindexed(pool)) !== unindexed) return findUsedKeys(pool, tenantNo, asked);
  return asked.map(({ userId, metricNo, key, idPart }) => {
    const used = rows.find(
      (row) =>
        row.id.slice(12, 28) === idPart &&
        row.metricNo === metricNo &&
        row.userId === storableText(userId) &&
        row.key === storableText(key),
    );
    return used?.id ?? null;
  });
}
