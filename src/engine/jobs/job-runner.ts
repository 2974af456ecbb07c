import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { JobKind } from '../../domain/job.ts';
import {
  endLease,
  leaseJob,
  lockLeased,
  recordProgress,
  renewLease,
  untilNextJobMs,
  type Job,
  type LeasedJob,
  type Progress,
} from '../../postgres/jobs.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { OnPieceFailed } from '../schedule/pieces.ts';
import { isUnavailable } from '../unavailable.ts';

/**
 * Records what a slice achieved: runs `work` and stores the progress that it returns in one transaction, unless the lease ended or the
 * job was cancelled meanwhile. `work` waits for nothing but Postgres. Resolves to whether it was recorded; a slice does it once.
 */
export type RecordSlice = (work: (client: PoolClient) => Promise<Progress>) => Promise<boolean>;

/** How jobs of some kinds are done. */
export interface JobWork<J extends Job = Job> {
  kinds: readonly JobKind[];
  /** What the log and the metrics call it. */
  title: string;
  /** How old a job must be before it begins, so that every process has the catalog that requested it; ms. */
  settleMs?: number;
  /** A slice that takes longer counts as failed; ms. */
  patienceMs?: number;
  /** Between two slices a job rests as long as a slice took, so that others have half of what it uses; it takes turns anyway. */
  rests?: boolean;
  /** A slice that recorded nothing waits for something else; the job is looked at again after so long; ms. */
  waitMs?: number;
  /** Called when the progress of a slice is recorded. */
  onRecorded?: (progress: Progress) => void;
  /**
   * Does a bounded part of the job, from its cursor on, and records it. It may be repeated after a crash, so what it does before it
   * records must be harmless to repeat. A slice that records nothing waits for something else.
   */
  slice(job: J, record: RecordSlice): Promise<void>;
}

/** Moments of a slice: it has its lease, its progress is written but not committed, and it is committed. */
export type JobMoment = 'leased' | 'recording' | 'recorded';

export interface JobRunnerOptions {
  pool: Pool;
  works: readonly JobWork<never>[];
  /** How long a worker that died keeps its jobs from the others; ms. */
  leaseMs?: number;
  /** Called when a slice fails, each time. */
  onFailed?: OnPieceFailed | undefined;
  /** Called at each moment of a slice: for tests, which stop the world there. */
  onMoment?: ((moment: JobMoment, job: Job) => void | Promise<void>) | undefined;
}

const LEASE_MS = 15_000;
const PATIENCE_MS = 120_000;
/** See `JobWork.waitMs`. */
const WAIT_MS = 200;
/** The longest rest after a slice. */
const MOST_REST_MS = 1_000;
/** After a failure a job waits for so long, and twice as long after each further one. */
const FIRST_BACKOFF_MS = 250;
const LAST_BACKOFF_MS = 30_000;
/** Bytes of a failure's message that are stored. */
const MOST_ERROR = 500;

/**
 * Runs jobs slice by slice. The `jobs` table is the truth: a lease of a few seconds gives a job to one worker, which renews the
 * lease while a slice takes long, and gives it up with every slice. So a worker that dies holds a job up for one lease at most; jobs
 * take turns; a slice that ran twice, because its lease ended, is recorded once. A failed slice is tried again with increasing pauses until it
 * succeeds or somebody cancels the job: what is broken is usually mended outside of it.
 */
export class JobRunner {
  private readonly options: JobRunnerOptions;
  private readonly works: Map<JobKind, JobWork>;
  private readonly kinds: { kind: JobKind; settleMs: number }[];

  constructor(options: JobRunnerOptions) {
    this.options = options;
    const works = options.works as readonly unknown[] as readonly JobWork[];
    this.works = new Map(works.flatMap((work) => work.kinds.map((kind) => [kind, work])));
    this.kinds = [...this.works].map(([kind, { settleMs = 0 }]) => ({ kind, settleMs }));
  }

  /**
   * Does a slice of the job that has waited for the longest time. False: none may be worked on now. Rejects where Redis or Postgres does not
   * answer, which is no fault of the job; a slice that fails is reported, and stored with the job.
   */
  async step(): Promise<boolean> {
    const { pool, leaseMs = LEASE_MS, onMoment } = this.options;
    const job = await leaseJob(pool, { lease: randomUUID(), leaseMs, kinds: this.kinds });
    if (job === null) return false;
    await onMoment?.('leased', job);
    try {
      await this.withinLease(job, () => this.slice(job));
    } catch (error) {
      await this.failed(job, error);
    }
    return true;
  }

  /** How long it is until a job may be worked on, ms; not above 0: one may be now. `null`: there is no job. */
  untilNextMs(): Promise<number | null> {
    return untilNextJobMs(this.options.pool, this.kinds);
  }

  private async slice(job: LeasedJob): Promise<void> {
    const { pool, onMoment } = this.options;
    const work = this.works.get(job.kind)!;
    const sinceMs = performance.now();
    let isRecorded: boolean | null = null;
    let progress: Progress = {};
    await work.slice(job, async (recording) => {
      isRecorded = await transaction(pool, async (client) => {
        if (!(await lockLeased(client, job))) return false;
        progress = await recording(client);
        const restMs = work.rests === true ? Math.min(MOST_REST_MS, performance.now() - sinceMs) : 0;
        await recordProgress(client, job, { ...progress, restMs });
        await onMoment?.('recording', job);
        return true;
      });
      return isRecorded;
    });
    if (isRecorded === null) return endLease(pool, job, { restMs: work.waitMs ?? WAIT_MS });
    if (!isRecorded) return;
    await onMoment?.('recorded', job);
    work.onRecorded?.(progress);
  }

  /** Renews the lease while `call` takes long. A call that takes longer than its kind may is given up: it can record nothing more. */
  private async withinLease(job: LeasedJob, call: () => Promise<void>): Promise<void> {
    const { pool, leaseMs = LEASE_MS } = this.options;
    const { patienceMs = PATIENCE_MS } = this.works.get(job.kind)!;
    const renewing = setInterval(
      () => void renewLease(pool, job, leaseMs).catch(() => undefined),
      Math.ceil(leaseMs / 3),
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${patienceMs / 1000} s`)), patienceMs);
    });
    try {
      await Promise.race([call(), late]);
    } finally {
      clearInterval(renewing);
      clearTimeout(timer);
    }
  }

  private async failed(job: LeasedJob, error: unknown): Promise<void> {
    const { pool, onFailed } = this.options;
    if (isUnavailable(error)) {
      await endLease(pool, job, { restMs: WAIT_MS }).catch(() => undefined);
      throw error;
    }
    const restMs = Math.min(FIRST_BACKOFF_MS * 2 ** job.attempts, LAST_BACKOFF_MS);
    const failure = storableText(String((error as Error | undefined)?.message ?? error).slice(0, MOST_ERROR));
    const { id, kind, tenantNo, subjectId } = job;
    const name = `${kind} ${id}${tenantNo === null ? '' : ` of tenant ${tenantNo}`}`;
    const detail = { job: id, jobKind: kind, tenantNo, subjectId, ...job.parameters };
    onFailed?.({ kind: this.works.get(kind)!.title, piece: { key: id, name, detail }, error });
    await endLease(pool, job, { restMs, failure });
  }
}
