/**
 * Merges across shards that have begun (decision 54). A job is one of them, from the seal until the end of the seal is stored. The row says
 * what comes next, and has the IDs of the users only as long.
 */
import type { Pool, PoolClient } from 'pg';
import type { UsedKey } from '../../redis/idempotency.ts';
import { addJob, type Job } from '../jobs.ts';
import type { Merged } from './merges.ts';

/** The users are in `result`, because logs have the parameters of jobs. The job's ID is that of the seal. */
export type MergeJob = Job<object, { from: string; into: string; usedKeys?: UsedKey[] }> & { tenantNo: number };

/** `cursor` of a job whose merge is stored: the rows of `from` belong to `into`. */
const MOVED = 'moved';

export async function addMergeJob(
  client: PoolClient,
  { id, tenantNo, from, into }: Merged & { id: string },
): Promise<void> {
  await addJob(client, { kind: 'user_merge', id, tenantNo, result: { from, into } });
}

/** In the transaction that moves the rows. `usedKeys`: those of `from`, which Redis forgets with the user. */
export async function noteMoved(client: PoolClient, id: string, usedKeys: readonly UsedKey[]): Promise<void> {
  await client.query(
    `UPDATE jobs SET cursor = '${MOVED}', result = result || jsonb_build_object('usedKeys', $2::jsonb)
      WHERE id = $1 AND kind = 'user_merge'`,
    [id, JSON.stringify(usedKeys)],
  );
}

export async function deleteMergeJob(client: Pool | PoolClient, id: string): Promise<void> {
  await client.query(`DELETE FROM jobs WHERE id = $1 AND kind = 'user_merge'`, [id]);
}

/** Whether the merge is stored, then with the used keys of `from`; `null` if it has ended. */
export async function readMergeJob(pool: Pool, id: string): Promise<{ isMoved: boolean; usedKeys: UsedKey[] } | null> {
  const { rows } = await pool.query<{ isMoved: boolean; usedKeys: UsedKey[] }>(
    `SELECT cursor = '${MOVED}' AS "isMoved", coalesce(result -> 'usedKeys', '[]') AS "usedKeys" FROM jobs WHERE id = $1 AND kind = 'user_merge'`,
    [id],
  );
  return rows[0] ?? null;
}

export async function hasMergeJob(pool: Pool, id: string): Promise<boolean> {
  return (await pool.query(`SELECT FROM jobs WHERE id = $1 AND kind = 'user_merge'`, [id])).rowCount === 1;
}

/** Whether a merge of a tenant is between its seal and its end, so that both users may be on leaderboards. Moves of rows do not count. */
export async function hasOpenMerge(client: Pool | PoolClient, tenantNo: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM jobs WHERE tenant_no = $1 AND kind = 'user_merge' AND NOT parameters ? 'rows' LIMIT 1`,
    [tenantNo],
  );
  return rowCount === 1;
}
