import type { Pool, PoolClient } from 'pg';
import { storableJson, storableText } from '../storable-json.ts';
import type { AppliedChanges } from '../persist/insert-recomputed.ts';
import type { StoredRecomputation } from './recomputations.ts';

/** A user's row in a plan. */
export interface PlannedRow<Plan> {
  userId: string;
  /** When the user was created (epoch ms). */
  createdMs: number;
  /** `null` if the user could not be planned; `skipped` has the reason. */
  plan: Plan | null;
  gains: boolean;
  loses: boolean;
  skipped: string | null;
}

/** Includes what was done. */
export interface RecomputedUserRow<Plan> extends PlannedRow<Plan> {
  applied: AppliedChanges | null;
  isReverted: boolean;
}

export async function insertPlanned(
  client: PoolClient,
  { no, tenantNo }: Pick<StoredRecomputation, 'no' | 'tenantNo'>,
  rows: readonly PlannedRow<object>[],
): Promise<void> {
  if (rows.length === 0) return;
  await client.query(
    `INSERT INTO recomputed_users (recomputation_no, tenant_no, user_id, created_ms, plan, gains, loses, skipped)
     SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[], $5::jsonb[], $6::boolean[], $7::boolean[], $8::text[])`,
    [
      no,
      tenantNo,
      rows.map(({ userId }) => storableText(userId)),
      rows.map(({ createdMs }) => createdMs),
      rows.map(({ plan }) => (plan === null ? null : storableJson(JSON.stringify(plan)))),
      rows.map(({ gains }) => gains),
      rows.map(({ loses }) => loses),
      rows.map(({ skipped }) => skipped),
    ],
  );
}

const COLUMNS = `user_id AS "userId", created_ms::float8 AS "createdMs", plan, gains, loses, skipped, applied,
  reverted_id IS NOT NULL AS "isReverted"`;

/** SQL: rows with work left, when applying and when reverting. */
const OPEN = {
  applying: 'plan IS NOT NULL AND applied_id IS NULL AND skipped IS NULL',
  reverting: 'applied_id IS NOT NULL AND reverted_id IS NULL AND skipped IS NULL',
} as const;

/** The next users of a plan, in the order of IDs, for whom a step is not known to be done. */
export async function openUsers<Plan>(
  pool: Pool,
  { no, lastUser }: Pick<StoredRecomputation, 'no' | 'lastUser'>,
  { step, limit }: { step: keyof typeof OPEN; limit: number },
): Promise<RecomputedUserRow<Plan>[]> {
  const { rows } = await pool.query<RecomputedUserRow<Plan>>(
    `SELECT ${COLUMNS} FROM recomputed_users
      WHERE recomputation_no = $1 AND user_id > $2 AND ${OPEN[step]} ORDER BY user_id LIMIT $3`,
    [no, lastUser, limit],
  );
  return rows;
}

/** Records why nothing was done for some users. */
export async function noteSkipped(
  client: PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
  skipped: readonly { userId: string; reason: string }[],
): Promise<void> {
  if (skipped.length === 0) return;
  await client.query(
    `UPDATE recomputed_users SET skipped = left_out.reason
       FROM unnest($2::text[], $3::text[]) AS left_out (user_id, reason)
      WHERE recomputation_no = $1 AND recomputed_users.user_id = left_out.user_id`,
    [no, skipped.map(({ userId }) => storableText(userId)), skipped.map(({ reason }) => reason)],
  );
}

/** Records why the remaining users are skipped. */
export async function skipOpen(
  client: PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
  { step, reason }: { step: keyof typeof OPEN; reason: string },
): Promise<void> {
  await client.query(`UPDATE recomputed_users SET skipped = $2 WHERE recomputation_no = $1 AND ${OPEN[step]}`, [
    no,
    reason,
  ]);
}

/** Number of users whose changes were applied, reverted and skipped. */
export async function outcomeOf(
  client: Pool | PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
): Promise<{ applied: number; reverted: number; skipped: number }> {
  const { rows } = await client.query<{ applied: number; reverted: number; skipped: number }>(
    `SELECT count(applied_id)::float8 AS applied, count(reverted_id)::float8 AS reverted,
            count(*) FILTER (WHERE plan IS NOT NULL AND skipped IS NOT NULL)::float8 AS skipped
       FROM recomputed_users WHERE recomputation_no = $1`,
    [no],
  );
  return rows[0]!;
}

/**
 * Sample users of a plan: those who gain, who lose, and whose changes were not all made. While the step is running, the last group contains only
 * users without any change made, because finding the others reads all users.
 */
export async function samplesOf<Plan>(
  pool: Pool,
  { no, status }: Pick<StoredRecomputation, 'no' | 'status'>,
  most: number,
): Promise<Record<'gaining' | 'losing' | 'left', RecomputedUserRow<Plan>[]>> {
  const some = async (condition: string): Promise<RecomputedUserRow<Plan>[]> => {
    const { rows } = await pool.query<RecomputedUserRow<Plan>>(
      `SELECT ${COLUMNS} FROM recomputed_users WHERE recomputation_no = $1 AND ${condition} ORDER BY user_id LIMIT $2`,
      [no, most],
    );
    return rows;
  };
  const [gaining, losing, left] = await Promise.all([
    some('gains'),
    some('loses'),
    some(`(skipped IS NOT NULL ${status.endsWith('ing') ? '' : `OR applied -> 'skipped' <> '[]'`})`),
  ]);
  return { gaining, losing, left };
}
