import type { Pool, PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** A completion for which an email is due. */
export interface DueCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  /** Epoch ms. */
  dueMs: number;
}

/** Stores completions until their emails are due, in the client's transaction. Idempotent. */
export async function noteCompletions(client: PoolClient, completions: readonly DueCompletion[]): Promise<void> {
  if (completions.length === 0) return;
  await client.query(
    `INSERT INTO notification_completions (tenant_no, user_id, achievement_no, due_ms)
     SELECT * FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) ON CONFLICT DO NOTHING`,
    [
      completions.map(({ tenantNo }) => tenantNo),
      completions.map(({ userId }) => storableText(userId)),
      completions.map(({ achievementNo }) => achievementNo),
      completions.map(({ dueMs }) => dueMs),
    ],
  );
}

/** When the first email about a completion is due (at most a given time, epoch ms), except for some tenants. */
export async function firstDueCompletion(
  pool: Pool,
  upToMs: number,
  except: readonly number[],
): Promise<number | null> {
  const { rows } = await pool.query<{ dueMs: number }>(
    `SELECT due_ms AS "dueMs" FROM notification_completions
      WHERE due_ms <= $1 AND tenant_no <> ALL ($2::int[]) ORDER BY due_ms LIMIT 1`,
    [upToMs, except],
  );
  return rows[0]?.dueMs ?? null;
}

/** Tenants of the first completions due by a time. */
export async function tenantsWithDueCompletions(pool: Pool, upToMs: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT DISTINCT tenant_no AS "tenantNo"
       FROM (SELECT tenant_no FROM notification_completions WHERE due_ms <= $1 ORDER BY due_ms LIMIT $2) AS due`,
    [upToMs, limit],
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/** Takes some of a tenant's completions due by a time, in the client's transaction. */
export async function takeDueCompletions(
  client: PoolClient,
  { tenantNo, upToMs, limit }: { tenantNo: number; upToMs: number; limit: number },
): Promise<DueCompletion[]> {
  const { rows } = await client.query<DueCompletion>(
    `DELETE FROM notification_completions
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM notification_completions
                               WHERE due_ms <= $2 AND tenant_no + 0 = $1 ORDER BY due_ms LIMIT $3 FOR UPDATE SKIP LOCKED))
     RETURNING tenant_no AS "tenantNo", user_id AS "userId", achievement_no AS "achievementNo", due_ms AS "dueMs"`,
    [tenantNo, upToMs, limit],
  );
  return rows.toSorted((a, b) => a.dueMs - b.dueMs);
}
