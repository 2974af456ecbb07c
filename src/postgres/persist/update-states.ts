import type { PoolClient } from 'pg';
import { inOrder, packedUsers, upsertUsers, type PackedUser } from './upsert-users.ts';
import { NOT_OWED } from './not-owed.ts';

/** Same technique as `UPDATE_POINTS`. */
export const UPDATE_STATES = `
  UPDATE users SET state = touched.state
  FROM unnest($1::int[], $2::text[], $3::bytea[]) AS touched (tenant_no, id, state)
  WHERE users.tenant_no = touched.tenant_no AND users.id = touched.id AND ${NOT_OWED}`;

/**
 * Writes the state of users whose derived columns did not change. Saves unpacking and two JSON columns. Missing users, and those whose last state could
 * not be stored, are written completely.
 */
export async function updateStates(client: PoolClient, users: readonly PackedUser[]): Promise<void> {
  if (users.length === 0) return;
  const values = packedUsers(inOrder(users));
  const { rowCount } = await client.query({ name: 'persist_states', text: UPDATE_STATES, values });
  if (rowCount !== users.length) await upsertUsers(client, users);
}
