import type { Pool, PoolClient } from 'pg';
import type { RecomputationAsked, RecomputationStatus } from '../../domain/recomputation.ts';

/** A recomputation as it is stored. */
export interface RecomputationJob {
  no: number;
  /** A UUID. */
  id: string;
  tenantNo: number;
  request: RecomputationAsked;
  /** User attribute number → value. */
  cohort: Record<number, string>;
  status: RecomputationStatus;
  error: string | null;
  catalogVersion: number;
  /** Grows with each step that any was planned, applied or reverted in; null: it is not planned. */
  stepNo: number | null;
  /** All users with an ID up to this one were looked at in this step. */
  lastUser: string;
  usersDone: number;
  usersTotal: number | null;
  figures: StoredFigures;
  requestedBy: string;
  requested: Date;
  planned: Date | null;
  applied: Date | null;
  reverted: Date | null;
}

/** Counts of a plan: by number of the achievement or points system; and what became of it. */
export interface StoredFigures {
  users?: number;
  gaining?: number;
  losing?: number;
  failed?: number;
  /** Of whom something is to be done. */
  changed?: number;
  /** Gaining, losing. */
  achievements?: Record<number, [number, number]>;
  /** Gaining, losing, given, taken. */
  points?: Record<number, [number, number, number, number]>;
  /** By number of the leaderboard: gaining, losing, moving to another group. */
  boards?: Record<number, [number, number, number]>;
  applied?: number;
  reverted?: number;
  skipped?: number;
  /** How often all users of the step were gone through. */
  passes?: number;
  /** When planning and applying began, by the clock of Postgres, epoch ms: a board that is filled after that has other scores. */
  plannedFromMs?: number;
  appliedFromMs?: number;
}

const COLUMNS = `no::float8, id::text, tenant_no AS "tenantNo", request, cohort, status, error,
  catalog_version::float8 AS "catalogVersion", step_no::float8 AS "stepNo", last_user AS "lastUser",
  users_done::float8 AS "usersDone", users_total::float8 AS "usersTotal", figures, requested_by AS "requestedBy",
  requested, planned, applied, reverted`;

const MOST_LISTED = 100;

/** Begins one, planning; in a transaction that has found that the tenant has none under way. */
export async function insertJob(
  client: PoolClient,
  job: Pick<RecomputationJob, 'id' | 'tenantNo' | 'request' | 'cohort' | 'catalogVersion' | 'requestedBy'> & {
    nowMs: number;
  },
): Promise<RecomputationJob> {
  const { rows } = await client.query<RecomputationJob>(
    `INSERT INTO recomputations (id, tenant_no, request, cohort, status, catalog_version, requested_by, requested)
     VALUES ($1, $2, $3, $4, 'planning', $5, $6, to_timestamp($7 / 1000.0)) RETURNING ${COLUMNS}`,
    [
      job.id,
      job.tenantNo,
      JSON.stringify(job.request),
      JSON.stringify(job.cohort),
      job.catalogVersion,
      job.requestedBy,
      job.nowMs,
    ],
  );
  return rows[0]!;
}

/** The ID of the tenant's recomputation that is being planned, applied or reverted; null: none is. */
export async function activeJob(client: Pool | PoolClient, tenantNo: number): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM recomputations
      WHERE tenant_no = $1 AND status IN ('planning', 'applying', 'reverting')`,
    [tenantNo],
  );
  return rows[0]?.id ?? null;
}

/** The ID of a recomputation of the tenant that was applied or reverted after another was planned; null: none was. */
export async function laterStep(
  client: PoolClient,
  { tenantNo, no, stepNo }: RecomputationJob,
): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM recomputations AS later
      WHERE tenant_no = $1 AND no <> $2 AND step_no > $3 AND status IN ('applied', 'reverted', 'cancelled')
        AND EXISTS (SELECT FROM recomputed_users WHERE recomputation_no = later.no AND applied_id IS NOT NULL)
      ORDER BY step_no DESC LIMIT 1`,
    [tenantNo, no, stepNo],
  );
  return rows[0]?.id ?? null;
}

/** A tenant's recomputations, newest first, a hundred at most. */
export async function listJobs(pool: Pool, tenantNo: number): Promise<RecomputationJob[]> {
  const { rows } = await pool.query<RecomputationJob>(
    `SELECT ${COLUMNS} FROM recomputations WHERE tenant_no = $1 ORDER BY no DESC LIMIT ${MOST_LISTED}`,
    [tenantNo],
  );
  return rows;
}

/** One of a tenant; null: there is none of this ID. `lock`: for the transaction. */
export async function readJob(
  client: Pool | PoolClient,
  { tenantNo, id, lock = false }: { tenantNo: number; id: string; lock?: boolean },
): Promise<RecomputationJob | null> {
  const { rows } = await client.query<RecomputationJob>(
    `SELECT ${COLUMNS} FROM recomputations WHERE tenant_no = $1 AND id = $2 ${lock ? 'FOR UPDATE' : ''}`,
    [tenantNo, id],
  );
  return rows[0] ?? null;
}

/** Begins applying or reverting one: a step with a number of its own, above all before it. */
export async function beginStep(
  client: PoolClient,
  { no }: Pick<RecomputationJob, 'no'>,
  status: 'applying' | 'reverting',
): Promise<void> {
  await client.query(
    `UPDATE recomputations
        SET status = $2, step_no = nextval('recomputation_steps'), last_user = '', users_done = 0, worker = NULL,
            leased_until = NULL, error = NULL,
            figures = (figures - 'passes') || CASE WHEN $2 = 'applying'
              THEN jsonb_build_object('appliedFromMs', epoch_ms(clock_timestamp())) ELSE '{}' END,
            users_total = (SELECT count(*) FROM recomputed_users WHERE recomputation_no = $1 AND plan IS NOT NULL
                              AND ($2 = 'applying' OR applied_id IS NOT NULL))
      WHERE no = $1`,
    [no, status],
  );
}

/** Ends one that is planned, or is being planned or applied. */
export async function cancelJob(client: PoolClient, { no }: Pick<RecomputationJob, 'no'>): Promise<void> {
  await client.query(
    `UPDATE recomputations SET status = 'cancelled', worker = NULL, leased_until = NULL WHERE no = $1`,
    [no],
  );
}
