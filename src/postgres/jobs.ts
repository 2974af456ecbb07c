import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { JobKind, JobStatus } from '../domain/administration/job.ts';

export interface Job<Parameters = object, Result = object> {
  no: number;
  /** A UUID. */
  id: string;
  kind: JobKind;
  /** `null` if the job concerns the whole installation. */
  tenantNo: number | null;
  /** ID of the achievement, leaderboard, webhook or recomputation concerned. */
  subjectId: string | null;
  parameters: Parameters;
  /** `running` from the first slice on. */
  status: JobStatus;
  /** Where the next slice begins; `''` initially. For passes over users, the ID of the last processed one. */
  cursor: string;
  /** Units of work (users, messages): processed, and in total (`null` if not counted yet). */
  done: number;
  total: number | null;
  result: Result;
  attempts: number;
  error: string | null;
  requestedBy: string | null;
  requested: Date;
  started: Date | null;
  finished: Date | null;
}

/** A job with a lease, which lets a worker process it. */
export interface LeasedJob extends Job {
  /** Identifies this lease. Each lease has a new ID. */
  lease: string;
}

const COLUMNS = `job.no::float8, job.id::text, job.kind, job.tenant_no AS "tenantNo", job.subject_id::text AS "subjectId",
  job.parameters, job.status, job.cursor, job.done::float8, job.total::float8, job.result, job.attempts, job.error,
  job.requested_by AS "requestedBy", job.requested, job.started, job.finished`;

/** A job to add. `nowMs`: time of the request by Laurel's clock; Postgres's clock is the default. */
export interface NewJob {
  kind: JobKind;
  tenantNo: number | null;
  subjectId?: string;
  parameters?: object;
  id?: string;
  total?: number | null;
  result?: object;
  requestedBy?: string;
  nowMs?: number;
}

export async function addJob(client: Pool | PoolClient, job: NewJob): Promise<Job> {
  const { rows } = await client.query<Job>(
    `INSERT INTO jobs AS job (id, kind, tenant_no, subject_id, parameters, total, result, requested_by, requested)
     VALUES (coalesce($1, gen_random_uuid()), $2, $3, $4, $5, $6, $7, $8,
             coalesce(to_timestamp($9::float8 / 1000), clock_timestamp())) RETURNING ${COLUMNS}`,
    [
      job.id ?? null,
      job.kind,
      job.tenantNo,
      job.subjectId ?? null,
      JSON.stringify(job.parameters ?? {}),
      job.total ?? null,
      JSON.stringify(job.result ?? {}),
      job.requestedBy ?? null,
      job.nowMs ?? null,
    ],
  );
  return rows[0]!;
}

/** Adds jobs of a kind about a tenant's subjects. Replaces existing jobs of that kind about them, so that their work is repeated. */
export async function replaceJobs(
  client: PoolClient,
  kind: JobKind,
  tenantNo: number,
  jobs: readonly { subjectId: string; parameters: object }[],
): Promise<void> {
  if (jobs.length === 0) return;
  const ids = jobs.map(({ subjectId }) => subjectId);
  await client.query('DELETE FROM jobs WHERE kind = $1 AND tenant_no = $2 AND subject_id = ANY ($3)', [
    kind,
    tenantNo,
    ids,
  ]);
  for (const job of jobs) await addJob(client, { kind, tenantNo, ...job });
}

/** Whether a tenant has an unfinished job of a kind. */
export async function hasOpenJob(client: Pool | PoolClient, kind: JobKind, tenantNo: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM jobs WHERE kind = $1 AND tenant_no = $2 AND status IN ('waiting', 'running') LIMIT 1`,
    [kind, tenantNo],
  );
  return rowCount === 1;
}

/** A kind that a runner can process, and the minimum age of a job before it starts. */
export interface LeasableKind {
  kind: JobKind;
  minAgeMs: number;
}

/** SQL: when a job may be leased. `known` is its kind. */
const DUE = `job.due + make_interval(secs => CASE job.status WHEN 'waiting' THEN known.settle ELSE 0 END)`;
const OPEN = `FROM jobs AS job JOIN unnest($1::text[], $2::float8[]) AS known (kind, settle) USING (kind)
      WHERE job.status IN ('waiting', 'running')`;
const knownKinds = (kinds: readonly LeasableKind[]): [string[], number[]] => [
  kinds.map(({ kind }) => kind),
  kinds.map(({ minAgeMs }) => minAgeMs / 1000),
];

/** Leases the job that has been due longest; `null` if none. Leases use the clock of Postgres. */
export async function leaseJob(
  pool: Pool,
  lease: string,
  leaseMs: number,
  kinds: readonly LeasableKind[],
): Promise<LeasedJob | null> {
  const { rows } = await pool.query<Job>({
    name: 'lease_job',
    text: `UPDATE jobs AS job
        SET lease = $3, due = clock_timestamp() + make_interval(secs => $4), started = coalesce(started, clock_timestamp())
      WHERE no = (SELECT job.no ${OPEN} AND ${DUE} <= clock_timestamp() ORDER BY job.due LIMIT 1 FOR UPDATE OF job SKIP LOCKED)
      RETURNING ${COLUMNS}`,
    values: [...knownKinds(kinds), lease, leaseMs / 1000],
  });
  return rows[0] === undefined ? null : { ...rows[0], lease };
}

/** A new lease of a process, which is identified by its run (a UUID): the lease begins with the random bits of the run. */
export const newLease = (run: string): string => run.slice(0, RUN_LENGTH) + randomUUID().slice(RUN_LENGTH);
const RUN_LENGTH = 18;

/** Ends the leases of processes that have exited, so that their jobs are due at once. Waits for their open transactions. */
export async function endLeasesOf(pool: Pool, runs: readonly string[]): Promise<void> {
  await pool.query(
    `UPDATE jobs SET lease = NULL, due = clock_timestamp()
      WHERE status IN ('waiting', 'running') AND left(lease::text, ${RUN_LENGTH}) = ANY ($1)`,
    [runs.map((run) => run.slice(0, RUN_LENGTH))],
  );
}

/** Time until a job may be leased, in ms; negative if one is overdue, `null` if there is none. */
export async function untilNextJobMs(pool: Pool, kinds: readonly LeasableKind[]): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>({
    name: 'until_next_job',
    text: `SELECT extract(epoch FROM min(${DUE}) - clock_timestamp())::float8 * 1000 AS ms ${OPEN}`,
    values: knownKinds(kinds),
  });
  return rows[0]!.ms;
}

type Held = Pick<LeasedJob, 'no' | 'lease'>;

export async function renewLease(pool: Pool, { no, lease }: Held, leaseMs: number): Promise<void> {
  await pool.query('UPDATE jobs SET due = clock_timestamp() + make_interval(secs => $3) WHERE no = $1 AND lease = $2', [
    no,
    lease,
    leaseMs / 1000,
  ]);
}

/** Gives up a lease. The job may be leased again after `restMs`. `failure`: why the slice failed. */
export async function endLease(
  pool: Pool,
  { no, lease }: Held,
  { restMs, failure = null }: { restMs: number; failure?: string | null },
): Promise<void> {
  await pool.query(
    `UPDATE jobs SET lease = NULL, due = clock_timestamp() + make_interval(secs => $3),
            attempts = CASE WHEN $4::text IS NULL THEN attempts ELSE attempts + 1 END, error = coalesce($4, error)
      WHERE no = $1 AND lease = $2`,
    [no, lease, restMs / 1000, failure],
  );
}

/** Locks a leased job for the transaction. False if the lease expired, or the job was cancelled or replaced. */
export async function lockLeased(client: PoolClient, { no, lease }: Held): Promise<boolean> {
  const { rowCount } = await client.query('SELECT FROM jobs WHERE no = $1 AND lease = $2 FOR UPDATE', [no, lease]);
  return rowCount === 1;
}

/** Result of a slice. Absent fields leave the job's values unchanged. */
export interface Progress {
  cursor?: string;
  done?: number;
  total?: number | null;
  /** Replaces the previous result. */
  result?: object;
  /** Ends the job: it is done, or cannot be done for the given reason. */
  end?: 'done' | { failed: string };
  /** Time of the end by Laurel's clock; Postgres's clock is the default. */
  nowMs?: number;
}

/** Records a slice's progress and gives up the lease, in the slice's transaction. */
export async function recordProgress(
  client: PoolClient,
  { no }: Pick<Job, 'no'>,
  { restMs, ...progress }: Progress & { restMs: number },
): Promise<void> {
  const { cursor, done = 0, total, result, end, nowMs } = progress;
  const failure = typeof end === 'object' ? end.failed : null;
  await client.query(
    `UPDATE jobs SET status = $2, cursor = coalesce($3, cursor), done = done + $4,
            total = CASE WHEN $5 THEN $6::bigint ELSE total END, result = coalesce($7, result), attempts = 0, error = $8,
            lease = NULL, due = clock_timestamp() + make_interval(secs => $9),
            finished = CASE WHEN $10 THEN coalesce(to_timestamp($11::float8 / 1000), clock_timestamp()) END
      WHERE no = $1`,
    [
      no,
      end === undefined ? 'running' : failure === null ? 'done' : 'failed',
      cursor ?? null,
      done,
      total !== undefined,
      total ?? null,
      result === undefined ? null : JSON.stringify(result),
      failure,
      restMs / 1000,
      end !== undefined,
      nowMs ?? null,
    ],
  );
}

export async function cancelJob(client: PoolClient, { no }: Pick<Job, 'no'>): Promise<void> {
  await client.query(`UPDATE jobs SET status = 'cancelled', lease = NULL, finished = clock_timestamp() WHERE no = $1`, [
    no,
  ]);
}

/** Restarts a job immediately, from its cursor or from the beginning. */
export async function restartJob(client: PoolClient, { no }: Pick<Job, 'no'>, fromStart: boolean): Promise<void> {
  await client.query(
    `UPDATE jobs SET status = CASE WHEN $2 THEN 'waiting' ELSE 'running' END, lease = NULL, due = clock_timestamp(),
            attempts = 0, error = NULL, finished = NULL
            ${fromStart ? ", cursor = '', done = 0, total = NULL, result = '{}', started = NULL" : ''}
      WHERE no = $1`,
    [no, fromStart],
  );
}

/** Number of unfinished jobs of a kind, about one subject or in total. */
export async function openJobs(
  client: Pool | PoolClient,
  { kind, subjectId = null }: { kind: JobKind; subjectId?: string | null },
): Promise<number> {
  const { rows } = await client.query<{ open: number }>(
    `SELECT count(*)::int AS open FROM jobs
      WHERE kind = $1 AND ($2::uuid IS NULL OR subject_id = $2) AND status IN ('waiting', 'running')`,
    [kind, subjectId],
  );
  return rows[0]!.open;
}

/** Deletes finished jobs of a kind that ended more than `days` before `nowMs`. */
export async function deleteOldJobs(
  client: Pool | PoolClient,
  { kind, days, nowMs }: { kind: JobKind; days: number; nowMs: number },
): Promise<void> {
  await client.query(
    'DELETE FROM jobs WHERE kind = $1 AND finished < to_timestamp($2::float8 / 1000) - make_interval(days => $3)',
    [kind, nowMs, days],
  );
}

/** The latest jobs of a kind, of a tenant or about a subject: at most a hundred, newest first. */
export async function latestJobs<J extends Job>(
  client: Pool | PoolClient,
  { kind, tenantNo, subjectId = null }: { kind: JobKind; tenantNo: number; subjectId?: string | null },
): Promise<J[]> {
  const { rows } = await client.query<J>(
    `SELECT ${COLUMNS} FROM jobs AS job
      WHERE kind = $1 AND tenant_no = $2 AND ($3::uuid IS NULL OR subject_id = $3) ORDER BY requested DESC, no DESC LIMIT 100`,
    [kind, tenantNo, subjectId],
  );
  return rows;
}

export interface NamedJob extends Job {
  /** Current name of the achievement, leaderboard or webhook. */
  subjectName: string | null;
}

/** Which jobs a caller may see: a tenant's and, if `ofAll`, those of the whole installation. */
export interface SeenJobs {
  tenantNo: number;
  ofAll: boolean;
}

const SEEN = `(job.tenant_no = $1 OR ($2 AND job.tenant_no IS NULL))`;
const NAMED = `SELECT ${COLUMNS},
         (SELECT doc ->> 'name' FROM catalog_resources AS about WHERE about.id = job.subject_id) AS "subjectName"
    FROM jobs AS job`;

export async function listJobs(
  pool: Pool,
  filter: SeenJobs & { kind?: JobKind; status?: JobStatus; limit: number; skip: number },
): Promise<NamedJob[]> {
  const { tenantNo, ofAll, kind, status, limit, skip } = filter;
  const { rows } = await pool.query<NamedJob>(
    `${NAMED} WHERE ${SEEN} AND ($3::text IS NULL OR kind = $3) AND ($4::text IS NULL OR status = $4)
      ORDER BY no DESC LIMIT $5 OFFSET $6`,
    [tenantNo, ofAll, kind ?? null, status ?? null, limit, skip],
  );
  return rows;
}

/**
 * The number of jobs that failed at or after `sinceMs` (epoch ms), or are retried after at least `attempts` failures in a row.
 * A failed job that was requested again with the same parameters does not count: the later job speaks for both.
 */
export async function countFailingJobs(
  pool: Pool,
  { tenantNo, ofAll, attempts, sinceMs }: SeenJobs & { attempts: number; sinceMs: number },
): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM jobs AS job
      WHERE ${SEEN} AND (status = 'failed' AND finished >= to_timestamp($4::float8 / 1000) AND NOT EXISTS (
             SELECT FROM jobs AS later
              WHERE later.no > job.no AND later.kind = job.kind AND later.parameters = job.parameters
                AND later.tenant_no IS NOT DISTINCT FROM job.tenant_no
                AND later.subject_id IS NOT DISTINCT FROM job.subject_id)
         OR status IN ('waiting', 'running') AND attempts >= $3)`,
    [tenantNo, ofAll, attempts, sinceMs],
  );
  return rows[0]!.count;
}

/** A job by ID, or `null`. `lock`: locks it for the transaction. */
export async function readJob(
  client: Pool | PoolClient,
  { tenantNo, ofAll, id, lock = false }: SeenJobs & { id: string; lock?: boolean },
): Promise<NamedJob | null> {
  const { rows } = await client.query<NamedJob>(`${NAMED} WHERE ${SEEN} AND id = $3 ${lock ? 'FOR UPDATE' : ''}`, [
    tenantNo,
    ofAll,
    id,
  ]);
  return rows[0] ?? null;
}
