import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A user of a tenant. */
export interface NamedUser {
  tenantNo: number;
  userId: string;
}

/** An idempotency key that an event used. */
export interface EventKey {
  metricNo: number;
  key: string;
}

/** Events deleted by one statement: a user may have very many, and their keys are handed on. */
const EVENTS = 10_000;

/** The tables of events, with idempotency keys. */
const TABLES = ['events', 'quarantine'] as const;

/**
 * Deletes a user's events, those in quarantine included, and their used keys, in the client's transaction. `onKeys` is given
 * the idempotency keys, some at a time. Rows are named by their IDs: where they are (`ctid`) changes with an update that commits
 * meanwhile, and is not unique among the partitions of a table.
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
      // The bounds spare looking for each of them in every partition.
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

/** The used keys of events that were dropped: they have an index by user. */
const DELETE_LEFT = `
  DELETE FROM used_keys
   WHERE tenant_no = $1 AND user_id = $2
     AND id < (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1)
  RETURNING metric_no AS "metricNo", idempotency_key AS key`;
