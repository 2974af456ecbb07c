import type { PoolClient } from 'pg';
import { USER_TABLES } from '../users/user-tables.ts';
import { storableText } from '../storable-json.ts';
import { deleteEvents, type EventKey, type NamedUser } from './delete-events.ts';

/** Deletes a user's rows from all tables. Passes the idempotency keys of the events to `onKeys`, some at a time. */
export async function deleteUser(
  client: PoolClient,
  user: NamedUser,
  onKeys: (keys: EventKey[]) => Promise<void>,
): Promise<void> {
  await deleteEvents(client, user, onKeys);
  const values = [user.tenantNo, storableText(user.userId)];
  for (const { table, user: column, persisted, withEvents, anonymised, kept } of USER_TABLES) {
    if (persisted === false || withEvents || kept) continue;
    const change = anonymised
      ? `UPDATE ${table} SET ${column} = 'deleted:' || gen_random_uuid()`
      : `DELETE FROM ${table}`;
    await client.query(`${change} WHERE tenant_no = $1 AND ${column} = $2`, values);
  }
}
