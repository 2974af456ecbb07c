import type { Pool, PoolClient } from 'pg';
import type { RecomputationStatus } from '../../domain/recomputation.ts';
import { readJob, type RecomputationJob, type StoredFigures } from './jobs.ts';

/**
 * Takes the oldest recomputation that is to be worked on, and that no other worker holds, for `leaseMs`; null: there is none.
 * `except`: IDs of those that are set aside.
 */
export async function leaseJob(
  pool: Pool,
  { worker, leaseMs, except }: { worker: string; leaseMs: number; except: readonly string[] },
): Promise<RecomputationJob | null> {
  const { rows } = await pool.query<{ id: string; tenantNo: number }>(
    `UPDATE recomputations SET worker = $1, leased_until = clock_timestamp() + make_interval(secs => $2)
      WHERE no = (SELECT no FROM recomputations
                   WHERE status IN ('planning', 'applying', 'reverting') AND id::text <> ALL ($3)
                     AND (worker = $1 OR leased_until IS NULL OR leased_until < clock_timestamp())
                   ORDER BY no LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id::text, tenant_no AS "tenantNo"`,
    [worker, leaseMs / 1000, except],
  );
  return rows[0] === undefined ? null : readJob(pool, rows[0]);
}

/** Whether any recomputation is to be worked on. */
export async function isJobWaiting(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM recomputations WHERE status IN ('planning', 'applying', 'reverting')) AS waits`,
  );
  return rows[0]!.waits;
}

/** Locks one for the transaction. False: it is not where it was seen, for it was cancelled, or another worker has moved it. */
export async function isAsSeen(
  client: PoolClient,
  { no, status, lastUser, stepNo, catalogVersion, usersDone }: RecomputationJob,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM recomputations
      WHERE no = $1 AND status = $2 AND last_user = $3 AND step_no IS NOT DISTINCT FROM $4 AND catalog_version = $5
        AND users_done = $6 FOR UPDATE`,
    [no, status, lastUser, stepNo, catalogVersion, usersDone],
  );
  return rowCount === 1;
}

/** Has it planned from the beginning, by a version of the catalog, for all users of the cohort that there are now. */
export async function beginPlanning(
  client: PoolClient,
  { no, tenantNo, cohort }: RecomputationJob,
  catalogVersion: number,
): Promise<void> {
  await client.query('DELETE FROM recomputed_users WHERE recomputation_no = $1', [no]);
  await client.query(
    `UPDATE recomputations SET last_user = '', users_done = 0, catalog_version = $3,
            figures = jsonb_build_object('plannedFromMs', epoch_ms(clock_timestamp())),
            users_total = (SELECT count(*) FROM users WHERE tenant_no = $2 AND attributes @> $4)
      WHERE no = $1`,
    [no, tenantNo, catalogVersion, JSON.stringify(cohort)],
  );
}

/** Notes how far a step is. */
export async function noteSlice(
  client: PoolClient,
  { no }: Pick<RecomputationJob, 'no'>,
  { lastUser, users, figures }: { lastUser: string; users: number; figures: StoredFigures },
): Promise<void> {
  await client.query(
    'UPDATE recomputations SET last_user = $2, users_done = users_done + $3, figures = $4 WHERE no = $1',
    [no, lastUser, users, JSON.stringify(figures)],
  );
}

/** When a step ended, by its status then. */
const ENDED: Partial<Record<RecomputationStatus, string>> = {
  planned: 'planned',
  applied: 'applied',
  reverted: 'reverted',
};

/** Ends a step. `error`: why it failed. */
export async function endStep(
  client: Pool | PoolClient,
  { no }: Pick<RecomputationJob, 'no'>,
  { status, nowMs, error = null }: { status: RecomputationStatus; nowMs: number; error?: string | null },
): Promise<void> {
  const column = ENDED[status];
  await client.query(
    `UPDATE recomputations SET status = $2, error = $3, worker = NULL, leased_until = NULL
            ${status === 'planned' ? ", step_no = nextval('recomputation_steps')" : ''}
            ${column === undefined ? '' : `, ${column} = to_timestamp(${Math.round(nowMs)} / 1000.0)`}
      WHERE no = $1`,
    [no, status, error],
  );
}
