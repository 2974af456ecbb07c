import type { PoolClient } from 'pg';

const INSERT = 'INSERT INTO streak_calls (id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING';

/** Skips rows that another shard's persister is deleting. */
const DELETE_OLD = `
  DELETE FROM streak_calls WHERE id IN (
    SELECT id FROM streak_calls WHERE stored < now() - interval '1 hour' FOR UPDATE SKIP LOCKED)`;

/** Records IDs (32 hex digits) of administrators' calls that changed a streak, and deletes those older than an hour. */
export async function insertStreakCalls(client: PoolClient, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await client.query(INSERT, [ids]);
  await client.query(DELETE_OLD);
}
