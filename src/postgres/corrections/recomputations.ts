import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { RecomputationAsked, RecomputationStatus } from '../../domain/administration/recomputation.ts';
import { addJob, cancelJob } from '../jobs.ts';
import type { AppliedChanges } from '../persist/recomputed.ts';
import { storableText } from '../storable-json.ts';

/** A stored recomputation. Each step (planning, applying, reverting) is a job of its own. */
export interface StoredRecomputation {
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
  /** Number of the last step's job. Later steps, of any recomputation, have higher numbers. */
  jobNo: number;
  /** Progress of the last step: the ID of the last user processed, the number processed, and the total. */
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

/** Figures of a plan and its outcome, by number of the achievement or points system. */
export interface StoredFigures {
  users?: number;
  gaining?: number;
  losing?: number;
  failed?: number;
  changed?: number;
  /** Users who gain and lose. */
  achievements?: Record<number, [number, number]>;
  /** Users who gain and lose; points given and taken. */
  points?: Record<number, [number, number, number, number]>;
  /** By leaderboard number: users whose score rises, falls, moves to another group. */
  boards?: Record<number, [number, number, number]>;
  applied?: number;
  reverted?: number;
  skipped?: number;
  /** Number of passes over all users in this step. */
  passes?: number;
  /** When planning and applying began (epoch ms, clock of Postgres). A leaderboard filled after that has other scores. */
  plannedFromMs?: number;
  appliedFromMs?: number;
}

const SELECT = `
  SELECT recomputation.no::float8, recomputation.id::text, recomputation.tenant_no AS "tenantNo", request, cohort, recomputation.status,
         CASE recomputation.status WHEN 'failed' THEN job.error END AS error, catalog_version::float8 AS "catalogVersion",
         job.no::float8 AS "jobNo", job.cursor AS "lastUser", job.done::float8 AS "usersDone", job.total::float8 AS "usersTotal",
         figures, recomputation.requested_by AS "requestedBy", recomputation.requested, planned, applied, reverted
    FROM recomputations AS recomputation JOIN jobs AS job ON job.no = recomputation.job_no`;

const MOST_LISTED = 100;

export async function insertRecomputation(
  client: PoolClient,
  one: Pick<StoredRecomputation, 'id' | 'tenantNo' | 'request' | 'cohort' | 'catalogVersion' | 'requestedBy'> & {
    nowMs: number;
  },
): Promise<void> {
  const { id, tenantNo, requestedBy, nowMs } = one;
  const job = await addJob(client, { kind: 'recomputation_planning', tenantNo, subjectId: id, requestedBy, nowMs });
  await client.query(
    `INSERT INTO recomputations (id, tenant_no, request, cohort, status, catalog_version, requested_by, requested, job_no)
     VALUES ($1, $2, $3, $4, 'planning', $5, $6, to_timestamp($7 / 1000.0), $8)`,
    [
      id,
      tenantNo,
      JSON.stringify(one.request),
      JSON.stringify(one.cohort),
      one.catalogVersion,
      requestedBy,
      nowMs,
      job.no,
    ],
  );
}

/** ID of the tenant's recomputation in progress (planning, applying or reverting), or `null`. */
export async function activeRecomputation(client: Pool | PoolClient, tenantNo: number): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM recomputations
      WHERE tenant_no = $1 AND status IN ('planning', 'applying', 'reverting')`,
    [tenantNo],
  );
  return rows[0]?.id ?? null;
}

/** ID of a recomputation of the tenant that was applied or reverted after another one was planned, or `null`. */
export async function laterStep(
  client: PoolClient,
  { tenantNo, no, jobNo }: Pick<StoredRecomputation, 'tenantNo' | 'no' | 'jobNo'>,
): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id::text FROM recomputations AS later
      WHERE tenant_no = $1 AND no <> $2 AND job_no > $3 AND status IN ('applied', 'reverted', 'cancelled')
        AND EXISTS (SELECT FROM recomputed_users WHERE recomputation_no = later.no AND applied_id IS NOT NULL)
      ORDER BY job_no DESC LIMIT 1`,
    [tenantNo, no, jobNo],
  );
  return rows[0]?.id ?? null;
}

export async function listRecomputations(pool: Pool, tenantNo: number): Promise<StoredRecomputation[]> {
  const { rows } = await pool.query<StoredRecomputation>(
    `${SELECT} WHERE recomputation.tenant_no = $1 ORDER BY recomputation.no DESC LIMIT ${MOST_LISTED}`,
    [tenantNo],
  );
  return rows;
}

/** A tenant's recomputation, or `null`. `lock`: locks its jobs, then the row, as its job does. */
export async function readRecomputation(
  client: Pool | PoolClient,
  { tenantNo, id, lock = false }: { tenantNo: number; id: string; lock?: boolean },
): Promise<StoredRecomputation | null> {
  if (lock) await client.query('SELECT FROM jobs WHERE subject_id = $1 ORDER BY no FOR UPDATE', [id]);
  const { rows } = await client.query<StoredRecomputation>(
    `${SELECT} WHERE recomputation.tenant_no = $1 AND recomputation.id = $2 ${lock ? 'FOR UPDATE OF recomputation' : ''}`,
    [tenantNo, id],
  );
  return rows[0] ?? null;
}

/** Starts applying or reverting, with a new job that runs after all earlier ones. */
export async function beginStep(
  client: PoolClient,
  { no, id, tenantNo }: Pick<StoredRecomputation, 'no' | 'id' | 'tenantNo'>,
  { step, requestedBy, nowMs }: { step: 'applying' | 'reverting'; requestedBy: string; nowMs: number },
): Promise<void> {
  const { rows } = await client.query<{ users: number }>(
    `SELECT count(*)::float8 AS users FROM recomputed_users
      WHERE recomputation_no = $1 AND plan IS NOT NULL AND ($2 = 'applying' OR applied_id IS NOT NULL)`,
    [no, step],
  );
  const total = rows[0]!.users;
  const job = await addJob(client, {
    kind: `recomputation_${step}`,
    tenantNo,
    subjectId: id,
    total,
    requestedBy,
    nowMs,
  });
  await client.query(
    `UPDATE recomputations
        SET status = $2, job_no = $3, figures = (figures - 'passes') || CASE WHEN $2 = 'applying'
              THEN jsonb_build_object('appliedFromMs', epoch_ms(clock_timestamp())) ELSE '{}' END
      WHERE no = $1`,
    [no, step, job.no],
  );
}

/** Cancels a recomputation that is planned, or that is being planned or applied, and its job. */
export async function cancelRecomputation(
  client: PoolClient,
  { no, jobNo, status }: Pick<StoredRecomputation, 'no' | 'jobNo' | 'status'>,
): Promise<void> {
  await client.query(`UPDATE recomputations SET status = 'cancelled' WHERE no = $1`, [no]);
  if (status !== 'planned') await cancelJob(client, { no: jobNo });
}

/** Restarts planning from the beginning with a version of the catalog. Returns the current number of users in the cohort. */
export async function beginPlanning(
  client: PoolClient,
  { no, tenantNo, cohort }: Pick<StoredRecomputation, 'no' | 'tenantNo' | 'cohort'>,
  catalogVersion: number,
): Promise<number> {
  await client.query('DELETE FROM recomputed_users WHERE recomputation_no = $1', [no]);
  const { rows } = await client.query<{ users: number }>(
    `UPDATE recomputations SET status = 'planning', catalog_version = $3,
            figures = jsonb_build_object('plannedFromMs', epoch_ms(clock_timestamp()))
      WHERE no = $1
      RETURNING (SELECT count(*) FROM users WHERE tenant_no = $2 AND attributes @> $4)::float8 AS users`,
    [no, tenantNo, catalogVersion, JSON.stringify(cohort)],
  );
  return rows[0]!.users;
}

export async function noteFigures(
  client: PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
  figures: StoredFigures,
): Promise<void> {
  await client.query('UPDATE recomputations SET figures = $2 WHERE no = $1', [no, JSON.stringify(figures)]);
}

/** Column for the end time of a step, by status. */
const ENDED: Partial<Record<RecomputationStatus, string>> = {
  planned: 'planned',
  applied: 'applied',
  reverted: 'reverted',
};

export async function setStatus(
  client: PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
  status: RecomputationStatus,
  nowMs: number,
): Promise<void> {
  const column = ENDED[status];
  await client.query(
    `UPDATE recomputations SET status = $2
            ${column === undefined ? '' : `, ${column} = to_timestamp(${Math.round(nowMs)} / 1000.0)`}
      WHERE no = $1`,
    [no, status],
  );
}

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

const PLANNED = columns<Omit<PlannedRow<object>, 'plan'> & { plan: string | null }>({
  userId: 'text',
  createdMs: 'bigint',
  plan: 'jsonb',
  gains: 'boolean',
  loses: 'boolean',
  skipped: 'text',
});
const INSERT_PLANNED = PLANNED.insertInto('recomputed_users', ['recomputation_no', 'tenant_no']);

export async function insertPlanned(
  client: PoolClient,
  { no, tenantNo }: Pick<StoredRecomputation, 'no' | 'tenantNo'>,
  rows: readonly PlannedRow<object>[],
): Promise<void> {
  const planned = rows.map((row) => ({ ...row, plan: row.plan && JSON.stringify(row.plan) }));
  if (rows.length > 0) await client.query(INSERT_PLANNED, [no, tenantNo, ...PLANNED.arrays(planned)]);
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
  step: keyof typeof OPEN,
  limit: number,
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

export async function skipOpen(
  client: PoolClient,
  { no }: Pick<StoredRecomputation, 'no'>,
  step: keyof typeof OPEN,
  reason: string,
): Promise<void> {
  await client.query(`UPDATE recomputed_users SET skipped = $2 WHERE recomputation_no = $1 AND ${OPEN[step]}`, [
    no,
    reason,
  ]);
}

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
 * Sample users of a plan: those who gain, who lose, and whose changes were not all made. While the step is running, the last
 * group contains only users without any change made, because finding the others reads all users.
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
