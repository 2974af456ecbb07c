import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { delayMs, WORK_BACKOFF } from '../../pacing/backoff.ts';
import type { JobKind } from '../../domain/administration/job.ts';
import {
  endLease,
  endLeasesOf,
  type Job,
  type LeasedJob,
  leaseJob,
  lockLeased,
  newLease,
  type Progress,
  recordProgress,
  renewLease,
  untilNextJobMs,
} from '../../postgres/jobs.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { transaction } from '../../postgres/transaction.ts';
import { inTime } from '../../pacing/time-limit.ts';
import { isUnavailable } from '../unavailable.ts';
import type { OnPieceFailed } from './pieces.ts';

/** Stores a slice's progress in the transaction of `work`, unless the lease ended. Resolves to whether it did. */
export type RecordSlice = (work: (client: PoolClient) => Promise<Progress>) => Promise<boolean>;

export interface JobWork<J extends Job = Job> {
  kinds: readonly JobKind[];
  /** What the log and the metrics call it. */
  title: string;
  /** Minimum age of a job before it starts, so that every process has the catalog that requested it (ms). */
  minAgeMs?: number;
  /** A slice that takes longer counts as failed; ms. */
  patienceMs?: number;
  /** Whether a job pauses after each slice for as long as the slice took, so that it uses at most half of the capacity. */
  rests?: boolean;
  /** Delay before the next slice if a slice recorded nothing because the job waits for something else; ms. */
  waitMs?: number;
  /** Called when the progress of a slice is recorded. */
  onRecorded?: (progress: Progress) => void;
  /**
   * Does a bounded part of the job, starting at its cursor, and records it. A crash may repeat the slice, so everything it does before
   * it records must be idempotent. A slice that records nothing waits for something else.
   */
  slice(job: J, record: RecordSlice): Promise<void>;
}

/** Moments of a slice: it has its lease, its progress is written but not committed, and it is committed. */
export type JobMoment = 'leased' | 'recording' | 'recorded';

export interface JobRunnerOptions {
  pool: Pool;
  works: readonly JobWork<never>[];
  /** Identifies the process (a UUID), and earlier ones that have exited: their jobs are taken over at once. */
  runs?: { run: string; ended: readonly string[] } | undefined;
  /** How long a worker that died keeps its jobs from the others; ms. */
  leaseMs?: number;
  onFailed?: OnPieceFailed | undefined;
  /** Called at each moment of a slice, so that tests can stop there. */
  onMoment?: ((moment: JobMoment, job: Job) => void | Promise<void>) | undefined;
}

const LEASE_MS = 15_000;
const PATIENCE_MS = 120_000;
const WAIT_MS = 200;
/** The longest rest after a slice. */
const MOST_REST_MS = 1_000;
/** Bytes of a failure's message that are stored. */
const MOST_ERROR = 500;

/**
 * Runs jobs slice by slice. The `jobs` table is the source of truth. A lease gives a job to one worker, which renews the lease during a
 * long slice and releases it after each slice, so jobs take turns. A worker that dies delays its job by one lease at
 * most; its supervisor's next worker knows that it has exited and takes over at once. If a lease
 * expires and the slice runs twice, only one run is recorded. A failed slice is retried with backoff until it succeeds or the job is
 * cancelled, because its cause is usually fixed outside the job.
 */
export class JobRunner {
  private readonly options: JobRunnerOptions;
  private readonly works: Map<JobKind, JobWork>;
  private readonly kinds: { kind: JobKind; minAgeMs: number }[];
  private readonly run: string;
  /** Processes whose leases have yet to be ended. */
  private ended: readonly string[];

  constructor(options: JobRunnerOptions) {
    this.options = options;
    this.run = options.runs?.run ?? randomUUID();
    this.ended = options.runs?.ended ?? [];
    const works = options.works as readonly unknown[] as readonly JobWork[];
    this.works = new Map(works.flatMap((work) => work.kinds.map((kind) => [kind, work])));
    this.kinds = [...this.works].map(([kind, { minAgeMs = 0 }]) => ({ kind, minAgeMs }));
  }

  /**
   * Runs a slice of the job that waited longest; false if none is due. `onLeased`: called when there is one. Rejects if Redis
   * or Postgres is unavailable.
   */
  async step(onLeased?: () => void): Promise<boolean> {
    const { pool, leaseMs = LEASE_MS, onMoment } = this.options;
    if (this.ended.length > 0) {
      await endLeasesOf(pool, this.ended);
      this.ended = [];
    }
    const job = await leaseJob(pool, newLease(this.run), leaseMs, this.kinds);
    if (job === null) return false;
    onLeased?.();
    await onMoment?.('leased', job);
    try {
      await this.withinLease(job, () => this.slice(job));
    } catch (error) {
      await this.failed(job, error);
    }
    return true;
  }

  /** Time until a job is due, in ms; 0 or less if one is due now, `null` if there is no open job. */
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

  /** Renews the lease while `call` runs. Abandons a call that exceeds its kind's `patienceMs`; it can then no longer record. */
  private async withinLease(job: LeasedJob, call: () => Promise<void>): Promise<void> {
    const { pool, leaseMs = LEASE_MS } = this.options;
    const { patienceMs = PATIENCE_MS } = this.works.get(job.kind)!;
    const renewing = setInterval(
      () => void renewLease(pool, job, leaseMs).catch(() => undefined),
      Math.ceil(leaseMs / 3),
    );
    try {
      if ((await inTime(call(), patienceMs, 'late')) === 'late') throw new Error(`no answer in ${patienceMs / 1000} s`);
    } finally {
      clearInterval(renewing);
    }
  }

  private async failed(job: LeasedJob, error: unknown): Promise<void> {
    const { pool, onFailed } = this.options;
    if (isUnavailable(error)) {
      await endLease(pool, job, { restMs: WAIT_MS }).catch(() => undefined);
      throw error;
    }
    const failure = storableText(String((error as Error | undefined)?.message ?? error).slice(0, MOST_ERROR));
    const { id, kind, tenantNo, subjectId } = job;
    const name = `${kind} ${id}${tenantNo === null ? '' : ` of tenant ${tenantNo}`}`;
    const detail = { job: id, jobKind: kind, tenantNo, subjectId, ...job.parameters };
    onFailed?.({ kind: this.works.get(kind)!.title, piece: { key: id, name, detail }, error });
    await endLease(pool, job, { restMs: delayMs(WORK_BACKOFF, job.attempts + 1), failure });
  }
}
