import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

export interface NamedUser {
  tenantNo: number;
  userId: string;
}

export interface EventKey {
  metricNo: number;
  key: string;
}

/** Events per statement: a user may have very many, and their keys are passed on. */
const EVENTS = 10_000;

/** Tables of events with idempotency keys. */
const TABLES = ['events', 'quarantine'] as const;

/**
 * Deletes a user's events, including quarantined ones, and their used keys, in the client's transaction. Passes the idempotency keys to `onKeys`, some at
 * a time. Identifies rows by ID, because their location (`ctid`) changes with concurrent updates and is not unique across partitions.
 */
export async function deleteEvents(
  client: PoolClient,
  { tenantNo, userId }: NamedUser,
  onKeys: (keys: EventKey[]) => Promise<void>,
): Promise<void> {
  for (const table of TABLES) {
    for (;;) {
      const found = await client.query<{ id: string }>(
        `SELECT id FROM ${table} WHERE tenant_no = $1 AND user_id = $2 LIMIT ${EVENTS}`,
        [tenantNo, storableText(userId)],
      );
      const ids = found.rows.map(({ id }) => id).toSorted();
      if (ids.length === 0) break;
      // The bounds avoid searching every partition for each ID.
      const range = [ids, ids[0], ids.at(-1)];
      const deleted = await client.query<{ metricNo: number; key: string | null }>(
        `DELETE FROM ${table} WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3
         RETURNING metric_no AS "metricNo", idempotency_key AS key`,
        range,
      );
      const keys = deleted.rows.filter((row): row is EventKey => row.key !== null);
      if (table === 'events')
        await client.query('DELETE FROM used_keys WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3', range);
      if (keys.length > 0) await onKeys(keys);
      if (ids.length < EVENTS) break;
    }
  }
  const left = await client.query<EventKey>(DELETE_LEFT, [tenantNo, storableText(userId)]);
  if (left.rows.length > 0) await onKeys(left.rows);
}

/** Used keys of dropped events. They have an index by user. */
const DELETE_LEFT = `
  DELETE FROM used_keys
   WHERE tenant_no = $1 AND user_id = $2
     AND id < (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1)
  RETURNING metric_no AS "metricNo", idempotency_key AS key`;
