import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

interface Owed {
  tenantNo: number;
  userIds: readonly string[];
  /** Position of the entry that holds the states. */
  position: string;
}

/**
 * Notes that states of users could not be stored: their next ones are written whole. A user who has no row needs none.
 */
export async function noteOwed(client: PoolClient, { tenantNo, userIds, position }: Owed): Promise<void> {
  if (userIds.length === 0) return;
  await client.query('UPDATE users SET owed_position = $3 WHERE tenant_no = $1 AND id = ANY ($2)', [
    tenantNo,
    userIds.map(storableText),
    position,
  ]);
}

/** Of some users those who have a state that is younger than an entry's: the entry's is of no use any more. */
export async function supersededUsers(
  client: PoolClient,
  { tenantNo, userIds, position }: Owed,
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM users WHERE tenant_no = $1 AND id = ANY ($2) AND owed_position IS DISTINCT FROM $3`,
    [tenantNo, userIds.map(storableText), position],
  );
  return new Set(rows.map(({ id }) => id));
}

/** The positions of the waiting entries that hold a state of a user. */
export async function positionsOwed(
  client: PoolClient,
  { tenantNo, userId }: { tenantNo: number; userId: string },
): Promise<string[]> {
  const id = storableText(userId);
  const { rows } = await client.query<{ position: string }>(
    `SELECT position FROM dead_letters
      WHERE status = 'waiting' AND tenant_no = $1 AND $2 = ANY (user_ids) AND parts @> $3::jsonb`,
    [tenantNo, id, JSON.stringify([{ part: 'state', user: id }])],
  );
  return rows.map(({ position }) => position);
}
