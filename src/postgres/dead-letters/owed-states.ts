import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

interface Owed {
  tenantNo: number;
  userIds: readonly string[];
  /** Position of the entry with the states. */
  position: string;
}

/** Records that states of users could not be stored, so that their next ones are written completely. Users without a row need no record. */
export async function noteOwed(client: PoolClient, { tenantNo, userIds, position }: Owed): Promise<void> {
  if (userIds.length === 0) return;
  await client.query('UPDATE users SET owed_position = $3 WHERE tenant_no = $1 AND id = ANY ($2)', [
    tenantNo,
    userIds.map(storableText),
    position,
  ]);
}

/** Those users whose stored state is newer than an entry's, which makes the entry's obsolete. */
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

/** Positions of the waiting entries that contain a state of a user. */
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
