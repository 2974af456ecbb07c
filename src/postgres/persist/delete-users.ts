import type { PoolClient } from 'pg';
import { USER_TABLES } from '../users/user-tables.ts';
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

const deleteFrom = (table: 'events' | 'quarantine'): string => `
  DELETE FROM ${table}
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE tenant_no = $1 AND user_id = $2 LIMIT ${EVENTS}))
  RETURNING metric_no AS "metricNo", idempotency_key AS key`;

/** The tables of events, with idempotency keys. */
const WITH_KEYS = [deleteFrom('events'), deleteFrom('quarantine')];

/** Deletes what the tables hold of a user. `onKeys` is given the idempotency keys of the events, some at a time. */
export async function deleteUser(
  client: PoolClient,
  { tenantNo, userId }: NamedUser,
  onKeys: (keys: EventKey[]) => Promise<void>,
): Promise<void> {
  const values = [tenantNo, storableText(userId)];
  for (const statement of WITH_KEYS) {
    for (;;) {
      const { rows } = await client.query<{ metricNo: number; key: string | null }>(statement, values);
      const keys = rows.filter((row): row is EventKey => row.key !== null);
      if (keys.length > 0) await onKeys(keys);
      if (rows.length < EVENTS) break;
    }
  }
  for (const { table, user, persisted, anonymised, kept } of USER_TABLES) {
    if (persisted === false || kept) continue;
    const change = anonymised
      ? `UPDATE ${table} SET ${user} = 'deleted:' || gen_random_uuid()`
      : `DELETE FROM ${table}`;
    await client.query(`${change} WHERE tenant_no = $1 AND ${user} = $2`, values);
  }
}
