/** Verifications: jobs that compare Redis with Postgres, and what they found. */
import type { Pool, PoolClient } from 'pg';
import { MOST_DIFFERENCES, type VerificationDifference } from '../domain/administration/verification.ts';
import { columns } from './columns.ts';
import { addJob, deleteOldJobs, type Job, latestJobs, readJob } from './jobs.ts';

const KIND = 'verification';
/** How long finished verifications are shown. */
const SHOWN_DAYS = 30;

/** Its cursor says which step continues where. */
export type VerificationJob = Job & { tenantNo: number };

/** A verification with the number of differences that it found. */
export type CountedVerification = Job & { differences: number };

/** Adds a verification. Throws a unique violation while one of the tenant is unfinished. `nowMs`: Laurel's time. */
export async function addVerification(
  client: PoolClient,
  tenantNo: number,
  requestedBy: string,
  nowMs: number,
): Promise<Job> {
  await deleteOldJobs(client, { kind: KIND, days: SHOWN_DAYS, nowMs });
  return addJob(client, { kind: KIND, tenantNo, requestedBy, nowMs });
}

/** A tenant's latest verifications, newest first. */
export async function listVerifications(pool: Pool, tenantNo: number): Promise<CountedVerification[]> {
  return withCounts(pool, await latestJobs(pool, { kind: KIND, tenantNo }));
}

/** `null` if the tenant has no verification with this ID. */
export async function readVerification(
  client: Pool | PoolClient,
  tenantNo: number,
  id: string,
): Promise<CountedVerification | null> {
  const job = await readJob(client, { tenantNo, ofAll: false, id });
  return job?.kind === KIND ? (await withCounts(client, [job]))[0]! : null;
}

async function withCounts(client: Pool | PoolClient, jobs: readonly Job[]): Promise<CountedVerification[]> {
  const { rows } = await client.query<{ no: number; differences: number }>(
    `SELECT job_no::float8 AS no, count(*)::int AS differences FROM verification_differences
      WHERE job_no = ANY ($1) GROUP BY job_no`,
    [jobs.map(({ no }) => no)],
  );
  const counts = new Map(rows.map(({ no, differences }) => [no, differences]));
  return jobs.map((job) => ({ ...job, differences: counts.get(job.no) ?? 0 }));
}

/** What a verification found, ordered by key. */
export async function readDifferences(pool: Pool, { no }: Pick<Job, 'no'>): Promise<VerificationDifference[]> {
  const { rows } = await pool.query<VerificationDifference>(
    `SELECT kind, key, part, user_id AS "userId", redis, postgres FROM verification_differences
      WHERE job_no = $1 ORDER BY key, part`,
    [no],
  );
  return rows;
}

const DIFFERENCE = columns<VerificationDifference>({
  userId: 'text',
  kind: 'text',
  key: 'text',
  part: 'text',
  redis: 'text',
  postgres: 'text',
});

/** Stores differences in the transaction of a slice, each once, and returns how many the verification has now. */
export async function noteDifferences(
  client: PoolClient,
  { no, tenantNo }: Pick<VerificationJob, 'no' | 'tenantNo'>,
  found: readonly VerificationDifference[],
): Promise<number> {
  if (found.length > 0) {
    await client.query(
      `${DIFFERENCE.insertInto('verification_differences', ['job_no', 'tenant_no'])}
        LIMIT greatest(0, ${MOST_DIFFERENCES} - (SELECT count(*) FROM verification_differences WHERE job_no = $1))
       ON CONFLICT DO NOTHING`,
      [no, tenantNo, ...DIFFERENCE.arrays(found)],
    );
  }
  const { rows } = await client.query<{ differences: number }>(
    'SELECT count(*)::int AS differences FROM verification_differences WHERE job_no = $1',
    [no],
  );
  return rows[0]!.differences;
}
