import { Type } from 'typebox';
import { Paging } from '../domain/administration/admin.ts';
import { JOB_KINDS, JOB_STATUSES, ShownJob, SpreadJob } from '../domain/administration/job.ts';
import { Verification, VerificationDetails } from '../domain/administration/verification.ts';
import { Uuid } from '../domain/schemas.ts';
import { AppError } from '../errors.ts';
import type { SeenJobs } from '../postgres/jobs.ts';
import { type Caller, operation, type Tenant } from './operation.ts';

/** A key of one tenant does not see jobs of the whole installation. */
const seenBy = ({ tenant, caller }: { tenant: Tenant; caller: Caller }): SeenJobs => ({
  tenantNo: tenant.no,
  ofAll: caller.tenantNo === null,
});

export const adminJobsList = operation('admin_jobs_list', 'GET /v1/jobs', {
  needsRedis: false,
  summary: 'Background jobs, newest first, with subject, status and progress',
  description: `A job that was requested again (an achievement that was edited once more) replaces the previous one. A key of all tenants
sees the jobs of the whole installation, too.`,
  query: Type.Object({
    ...Paging.properties,
    kind: Type.Optional(Type.Enum([...JOB_KINDS])),
    status: Type.Optional(Type.Enum([...JOB_STATUSES])),
  }),
  responses: { 200: Type.Array(ShownJob) },
  answer: ({ jobs }, call) => jobs.list({ ...seenBy(call), ...call.query }),
});

export const adminJobsGet = operation('admin_jobs_get', 'GET /v1/jobs/{id}', {
  needsRedis: false,
  summary: 'A job, with its progress',
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownJob },
  answer: ({ jobs }, call) => jobs.get(seenBy(call), call.params.id),
});

export const adminJobsCancel = operation('admin_jobs_cancel', 'POST /v1/jobs/{id}/cancel', {
  needsRedis: false,
  mayConflict: true,
  summary: 'Cancel a job that is not finished',
  description: `What it has done so far stays. 409 if it is finished, or must not be cancelled: reverting a recomputation, and dropping events
that are older than they are kept.`,
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownJob },
  answer: ({ jobs }, call) => jobs.cancel(seenBy(call), call.params.id, call.by),
});

export const adminJobsRetry = operation('admin_jobs_retry', 'POST /v1/jobs/{id}/retry', {
  needsRedis: false,
  mayConflict: true,
  summary: 'Run a job again that failed or was cancelled, or at once if it waits after an error',
  description: `After an error a job is tried again by itself, after 0.25 s at first and after 30 s at most. A resend goes on where it was; the
others start again from the beginning, which changes nothing that is done. 409 if it is done, if it runs without an error, or if it is a recomputation
that was cancelled: plan that again.`,
  params: Type.Object({ id: Uuid }),
  responses: { 200: ShownJob },
  answer: ({ jobs }, call) => jobs.retry(seenBy(call), call.params.id, call.by),
});

export const adminSpreadGet = operation('admin_spread_get', 'GET /v1/spread', {
  needsRedis: false,
  summary: 'Over how many shards of Redis the tenant’s users are spread',
  responses: { 200: Type.Object({ shards: Type.Integer(), converting: Type.Boolean() }) },
  answer: async ({ spreads }, { tenant }) => {
    const { spread, converting } = await spreads.get(tenant.no);
    return { shards: spread, converting };
  },
});

export const adminSpreadUpdate = operation('admin_spread_update', 'PUT /v1/spread', {
  mayConflict: true,
  summary: 'Spread the tenant’s users over another number of shards',
  description: `A tenant on one shard can use one core of Redis; spread over the shards of a cluster, it can use all of them. A job fills the new
shards from Postgres. Until it is done, requests about the tenant, except about jobs, get 503; other tenants are served. Only a key of all tenants may do this. 409
while such a job is not finished. Without a cluster of Redis the answer has a \`warning\`.`,
  body: Type.Object({ shards: Type.Integer({ minimum: 1, maximum: 256 }) }),
  responses: { 202: SpreadJob },
  answer: async ({ spreads, jobs }, { tenant, caller, body, by }) => {
    if (caller.tenantNo !== null)
      throw new AppError('forbidden', 'Only an admin key of all tenants may spread a tenant over shards.');
    const id = await spreads.put(tenant.no, body.shards, by);
    const warning = spreads.warning(body.shards);
    const job = await jobs.get({ tenantNo: tenant.no, ofAll: true }, id);
    return { ...job, ...(warning !== null && { warning }) };
  },
});

export const adminVerificationsList = operation('admin_verifications_list', 'GET /v1/verifications', {
  summary: 'The latest 100 verifications, newest first; finished ones are kept for 30 days',
  responses: { 200: Type.Array(Verification) },
  answer: ({ verifications }, { tenant }) => verifications.list(tenant.no),
});

export const adminVerificationsGet = operation('admin_verifications_get', 'GET /v1/verifications/{id}', {
  summary: 'A verification: its progress, and the differences that it found',
  params: Type.Object({ id: Uuid }),
  responses: { 200: VerificationDetails },
  answer: ({ verifications }, { tenant, params }) => verifications.get(tenant.no, params.id),
});

export const adminVerificationsCreate = operation('admin_verifications_create', 'POST /v1/verifications', {
  mayConflict: true,
  summary: 'Compare what Redis and Postgres hold of the tenant, key by key',
  description: `A job compares users, leaderboards, points, counters, used idempotency keys and quarantined events in both directions, while
events continue, and changes nothing. It ends when everything is compared, or when it has found 1,000 differences. \`POST /v1/jobs/{id}/cancel\`
cancels it. \`laurel rebuild --shard\` repairs a shard with differences. One verification of a tenant is unfinished at a time: otherwise the
answer is 409.`,
  responses: { 202: Verification },
  answer: ({ verifications }, { tenant, by }) => verifications.create(tenant.no, by),
});
