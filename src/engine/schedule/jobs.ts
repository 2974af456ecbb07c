import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { JobKind, JobStatus, ShownJob } from '../../domain/administration/job.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { deletePastScores } from '../../postgres/boards/progress.ts';
import { cancelRecomputation, readRecomputation, setStatus } from '../../postgres/corrections/recomputations.ts';
import {
  cancelJob,
  type Job,
  listJobs,
  type NamedJob,
  readJob,
  restartJob,
  type SeenJobs,
} from '../../postgres/jobs.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';

interface KindRules {
  subject: NonNullable<ShownJob['subject']>['kind'] | null;
  /** Further changes on cancellation, in its transaction; `null` if it cannot be cancelled, for the reason in `stays`. */
  cancel: ((client: PoolClient, job: Job) => Promise<void>) | null;
  stays?: string;
  /** How a cancelled job may run again: from the beginning (`restart`) or from its cursor (`resume`); `null` if it may not. */
  again: 'restart' | 'resume' | null;
}

const recomputation = (step: 'planning' | 'applying' | 'reverting'): KindRules => ({
  subject: 'recomputation',
  cancel:
    step === 'reverting'
      ? null
      : async (client, { tenantNo, subjectId }) => {
          const id = subjectId!;
          await cancelRecomputation(client, (await readRecomputation(client, { tenantNo: tenantNo!, id }))!);
        },
  stays: 'A recomputation must not stay half reverted.',
  again: null,
});

const RULES: Readonly<Record<JobKind, KindRules>> = {
  backdating: { subject: 'achievement', cancel: async () => undefined, again: 'restart' },
  leaderboard_filling: {
    subject: 'leaderboard',
    cancel: (client, { tenantNo, parameters }) =>
      deletePastScores(client, tenantNo!, [(parameters as { boardNo: number }).boardNo]),
    again: 'restart',
  },
  recomputation_planning: recomputation('planning'),
  recomputation_applying: recomputation('applying'),
  recomputation_reverting: recomputation('reverting'),
  webhook_resend: { subject: 'webhook', cancel: async () => undefined, again: 'resume' },
  verification: { subject: null, cancel: async () => undefined, again: null },
  event_retention: {
    subject: null,
    cancel: null,
    stays: 'Events older than EVENT_RETENTION_DAYS are dropped in any case.',
    again: null,
  },
  user_deletion: { subject: null, cancel: null, stays: 'Rows of the deleted user would stay.', again: null },
  user_merge: { subject: null, cancel: null, stays: 'The merge would stay incomplete.', again: null },
  tenant_spreading: { subject: null, cancel: null, stays: 'The tenant would stay closed.', again: null },
};

const isOpen = ({ status }: Pick<Job, 'status'>): boolean => status === 'waiting' || status === 'running';
const mayCancel = (job: Job): boolean => isOpen(job) && RULES[job.kind].cancel !== null;

/** How a job may run again; `null` if it may not. An unfinished job that failed is retried at once. */
function retryOf(job: Job): 'restart' | 'resume' | null {
  if (isOpen(job)) return job.attempts > 0 ? 'resume' : null;
  if (job.status === 'failed') return 'restart';
  return job.status === 'cancelled' ? RULES[job.kind].again : null;
}

/** Jobs as administrators see them; `JobRunner` runs them. */
export function createJobs(pool: Pool, clock: Clock, wake: () => Promise<void>) {
  async function list(
    query: SeenJobs & { kind?: JobKind; status?: JobStatus; limit: number; skip: number },
  ): Promise<ShownJob[]> {
    return (await listJobs(pool, query)).map(shown);
  }

  /** One job. Throws 404. */
  async function get(seen: SeenJobs, id: string): Promise<ShownJob> {
    return shown(found(await readJob(pool, { ...seen, id }), id));
  }

  /** Cancels a job; its results so far stay. Throws 404; 409 if it is finished or cannot be cancelled. */
  function cancel(seen: SeenJobs, id: string, by: Author): Promise<ShownJob> {
    return change({ seen, id, by, action: 'cancel' }, async (client, job) => {
      const { cancel, stays } = RULES[job.kind];
      if (!isOpen(job)) throw conflict(`The job is ${job.status}: it cannot be cancelled.`);
      if (cancel === null) throw conflict(`The job cannot be cancelled. ${stays ?? ''}`.trimEnd());
      await cancelJob(client, job);
      await cancel(client, job);
    });
  }

  /** Runs a cancelled or failed job again, or a waiting one at once. Throws 404; 409 if it may not. */
  async function retry(seen: SeenJobs, id: string, by: Author): Promise<ShownJob> {
    const job = await change({ seen, id, by, action: 'retry' }, async (client, one, nowMs) => {
      const retry = retryOf(one);
      if (retry === null) throw conflict(`The job is ${one.status}: it cannot be retried.`);
      await restartJob(client, one, retry === 'restart');
      if (one.kind === 'recomputation_planning' && !isOpen(one)) {
        const planned = await readRecomputation(client, { tenantNo: one.tenantNo!, id: one.subjectId! });
        await setStatus(client, planned!, 'planning', nowMs);
      }
    }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error;
      throw conflict('Another recomputation of the tenant is under way.');
    });
    await wake();
    return job;
  }

  function change(
    { seen, id, by, action }: { seen: SeenJobs; id: string; by: Author; action: 'cancel' | 'retry' },
    work: (client: PoolClient, job: NamedJob, nowMs: number) => Promise<void>,
  ): Promise<ShownJob> {
    return transaction(pool, async (client) => {
      const nowMs = clock.now();
      const job = found(await readJob(client, { ...seen, id, lock: true }), id);
      await work(client, job, nowMs);
      const { kind, tenantNo, subjectName: name } = job;
      const entry = { action, kind: 'job' as const, id, name, after: { kind } };
      await writeAudit(client, { tenantNo, nowMs, by, entries: [entry] });
      return shown((await readJob(client, { ...seen, id }))!);
    });
  }

  return { list, get, cancel, retry };
}

function shown(job: NamedJob): ShownJob {
  const { id, kind, subjectId, subjectName, status, done, total, attempts, error, requestedBy } = job;
  const { subject } = RULES[kind];
  return {
    id,
    kind,
    subject: subject === null || subjectId === null ? null : { kind: subject, id: subjectId, name: subjectName },
    status,
    progress: { done, total },
    attempts,
    error,
    mayCancel: mayCancel(job),
    mayRetry: retryOf(job) !== null,
    requestedBy,
    requested: job.requested.toISOString(),
    started: job.started?.toISOString() ?? null,
    finished: job.finished?.toISOString() ?? null,
  };
}

function found(job: NamedJob | null, id: string): NamedJob {
  if (job === null) throw new AppError('not_found', `There is no job with the ID '${id}'.`);
  return job;
}

const conflict = (message: string): AppError => new AppError('conflict', message);
