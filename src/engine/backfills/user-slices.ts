/** The skeleton of jobs that go through the users of a tenant, in the order of their IDs, a slice at a time. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { Job, Progress } from '../../postgres/jobs.ts';
import { countUsers } from '../../postgres/users/selections.ts';
import { isTenantPersisted } from '../persist/cursor-wait.ts';
import type { RecordSlice } from '../schedule/job-runner.ts';

interface Servers {
  redis: Redis;
  pool: Pool;
}

/** The users of a slice, and what to store in the transaction that records its progress. */
interface SliceOfUsers {
  /** The last user; `null` if none was left. */
  last: string | null;
  users: number;
  /** `isLast`: no users are left. */
  store: (client: PoolClient, isLast: boolean) => Promise<Progress>;
}

interface UserSlices {
  /** Users in a slice. Fewer mean that none are left. */
  limit: number;
  /** Whether the job begins, or begins again. Default: its number of users is unknown. */
  begins?: boolean;
  /** Runs once earlier writes are stored. What it returns is recorded; by default the number of users. */
  begin?: (client: PoolClient) => Promise<Progress>;
  /** Does the next users after a user (`''`: the first ones). `null`: it has recorded the end of the job itself. */
  next: (after: string) => Promise<SliceOfUsers | null>;
}

/**
 * Does and records the next slice of a job. The job ends with the slice after which no users are left. Records nothing, so that the job
 * waits, if it begins and earlier writes are not stored yet.
 */
export async function sliceOfUsers(
  servers: Servers,
  job: Job & { tenantNo: number },
  record: RecordSlice,
  { limit, begins = job.total === null, begin, next }: UserSlices,
): Promise<void> {
  const { tenantNo, cursor } = job;
  if (begins) {
    if (!(await isTenantPersisted(servers, tenantNo))) return;
    await record(begin ?? (async (client) => ({ total: await countUsers(client, tenantNo) })));
    return;
  }
  const slice = await next(cursor);
  if (slice === null) return;
  const { last, users, store } = slice;
  const isLast = users < limit;
  await record(async (client) => ({
    cursor: last ?? cursor,
    done: users,
    ...(isLast && { end: 'done' }),
    ...(await store(client, isLast)),
  }));
}

/** How often a user who keeps changing is tried, before being left out. */
const TRIES = 50;
const PAUSE_MS = 100;

/**
 * Does work on users of whom some may have changed since their history was read. `work` returns those, which are tried again when their
 * changes are stored. Returns the users who kept changing.
 */
export async function untilCurrent<U>(
  users: readonly U[],
  work: (users: readonly U[], tries: number) => Promise<readonly U[]>,
): Promise<readonly U[]> {
  let waiting = users;
  for (let tries = 0; waiting.length > 0 && tries < TRIES; tries += 1) {
    if (tries > 0) await sleep(PAUSE_MS);
    waiting = await work(waiting, tries);
  }
  return waiting;
}
