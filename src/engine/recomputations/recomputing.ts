import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { compileCatalog, type CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import type { Clock } from '../../clock.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { loadCatalog } from '../../postgres/load-catalog.ts';
import { beginStep, type RecomputationJob } from '../../postgres/recomputations/jobs.ts';
import {
  insertPlanned,
  noteSkipped,
  openUsers,
  outcomeOf,
  skipOpen,
} from '../../postgres/recomputations/planned-users.ts';
import {
  beginPlanning,
  endStep,
  isAsSeen,
  isJobWaiting,
  leaseJob,
  noteSlice,
} from '../../postgres/recomputations/work.ts';
import { transaction } from '../../postgres/transaction.ts';
import { outboxKey, shardOf } from '../../redis/keys.ts';
import { listFills, type BoardFill } from '../../postgres/boards/fills.ts';
import { isPersisted } from '../persisted/persisted.ts';
import { isUnavailable } from '../unavailable.ts';
import { Pieces, type OnPieceFailed, type Piece } from '../schedule/pieces.ts';
import { withSlice } from './figures.ts';
import { openBoards, scoredBoards } from './open-boards.ts';
import { planSlice } from './plan-slice.ts';
import { toApply, toRevert, type PlannedUser, type UserPlan } from './planned-user.ts';
import { recomputeUsers, SKIPPED } from './recompute-call.ts';

export interface RecomputingOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Called when entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** How long a worker that says nothing keeps a job; ms. */
  leaseMs?: number;
  /** Called when a step fails. */
  onFailed?: OnPieceFailed;
  /** Called when a slice is done and not noted: for tests, which stop the world there. */
  onSlice?: (status: RecomputationJob['status']) => void | Promise<void>;
}

/** Longer than any slice takes. */
const LEASE_MS = 30_000;
/** Users a slice, which is followed by as long a pause. */
const USERS_A_PLAN = 400;
/**
 * Users a slice that is applied or reverted, and of them a script call, for which events wait: they come between the calls. What a
 * slice costs beside its calls (two commits, the catalog) is shared by so many.
 */
const USERS_A_SLICE = 200;
export const USERS_A_CALL = 10;
/** So many entries may wait to be stored before the next slice is applied: the outbox is there for events. */
const MOST_AHEAD = 2_000;
/** A slice that took long rests as long, so that others have half of what it uses; at most so long. */
const MOST_REST_MS = 1_000;
/** A job that waits for something else is looked at again after this. */
const WAIT_MS = 200;
/** How often users are looked at again of whom nothing was stored. */
const PASSES = 3;
const PATIENCE_MS = 120_000;
const KIND = 'recomputation';
const NEVER = new AbortController().signal;
const NOT_STORED = 'It was done, but could not be stored: see the dead letters.';
const NOT_PERSISTED = 'What was written before is not stored yet.';

const pieceOf = ({ id, tenantNo }: RecomputationJob): Piece => ({
  key: id,
  name: `recomputation ${id} of tenant ${tenantNo}`,
  detail: { tenantNo, recomputation: id },
});

/**
 * Plans, applies and reverts recomputations, slice by slice of users. The job and its position are rows of Postgres, one worker
 * at a time holds it. Planning writes a slice and the position in one transaction; applying is idempotent in each user's state, and
 * looks again at the end for users of whom Postgres does not know that it was done. So a crash anywhere repeats work and
 * changes nothing.
 */
export class Recomputing {
  private readonly options: RecomputingOptions;
  private readonly worker = randomUUID();
  private readonly pieces: Pieces;

  constructor(options: RecomputingOptions) {
    this.options = options;
    this.pieces = new Pieces({ kind: KIND, onFailed: options.onFailed, patienceMs: PATIENCE_MS });
  }

  /** Does a slice of the oldest job that nobody else holds. False: there is none. */
  async step(): Promise<boolean> {
    const { pool, leaseMs = LEASE_MS } = this.options;
    const except = this.pieces.aside.map(({ key }) => key);
    const job = await leaseJob(pool, { worker: this.worker, leaseMs, except });
    if (job === null) return false;
    const sinceMs = performance.now();
    const worked = await this.pieces.attempt(pieceOf(job), NEVER, () => this.slice(job));
    await sleep(worked?.value === false ? WAIT_MS : Math.min(MOST_REST_MS, performance.now() - sinceMs));
    return true;
  }

  /** Whether any job is unfinished, also one that another worker holds. */
  waits(): Promise<boolean> {
    return isJobWaiting(this.options.pool);
  }

  /** False: it waits for something else. */
  private async slice(job: RecomputationJob): Promise<boolean> {
    const { redis, pool } = this.options;
    const catalog = await loadCatalog(pool, job.tenantNo);
    if (catalog === null) {
      await this.fail(job, 'The tenant was deleted.');
      return true;
    }
    const compiled = compileCatalog(catalog);
    const fills = job.request.what.includes('boards') ? await listFills(pool, job.tenantNo) : [];
    // A board that is being filled has only part of its scores.
    if (fills.some(({ status }) => status !== 'done')) return false;
    if (job.status === 'planning') await this.planSome(job, compiled);
    else if ((await redis.xlen(outboxKey(shardOf(job.tenantNo)))) > MOST_AHEAD) return false;
    else await this.applySome(job, compiled, fills);
    return true;
  }

  private async planSome(job: RecomputationJob, compiled: CompiledCatalog): Promise<void> {
    const { pool, clock, onSlice } = this.options;
    const { version } = compiled.catalog;
    if (job.usersTotal === null || job.catalogVersion !== version) {
      // A plan goes by one version of the rules: where they change it is made again. What came before is to be in it.
      await this.persisted(job);
      await this.ifAsSeen(job, (client) => beginPlanning(client, job, version));
      return;
    }
    const nowMs = clock.now();
    const slice = await planSlice(pool, { job, compiled, nowMs, limit: USERS_A_PLAN });
    if (typeof slice === 'string') return this.fail(job, slice);
    const isLast = slice.users < USERS_A_PLAN;
    await this.ifAsSeen(job, async (client) => {
      await insertPlanned(client, job, slice.rows);
      const { users } = slice;
      const lastUser = users === 0 ? job.lastUser : slice.lastUser;
      await noteSlice(client, job, { lastUser, users, figures: withSlice(job.figures, slice) });
      if (isLast) {
        await endStep(client, job, { status: 'planned', nowMs });
        if (!job.request.dryRun) await beginStep(client, job, 'applying');
      }
      await onSlice?.(job.status);
    });
  }

  private async applySome(
    job: RecomputationJob,
    compiled: CompiledCatalog,
    fills: readonly BoardFill[],
  ): Promise<void> {
    const { pool, onSlice } = this.options;
    const step = job.status === 'reverting' ? 'reverting' : 'applying';
    const rows = await openUsers<UserPlan>(pool, job, { step, limit: USERS_A_SLICE });
    if (rows.length === 0) return this.endPass(job, step);
    const users = rows.map((row) => ({
      userId: row.userId,
      planned:
        step === 'reverting' ? toRevert(row.createdMs, row.applied!) : toApply(compiled, row.createdMs, row.plan!),
    }));
    const outcomes: (string | null)[] = [];
    const aCall = fittingCall(compiled.userPlan(Math.floor(this.options.clock.now() / DAY_MS)).work, USERS_A_CALL);
    for (let from = 0; from < users.length; from += aCall)
      outcomes.push(...(await this.attempt({ job, compiled, fills }, users.slice(from, from + aCall))));
    await onSlice?.(job.status);
    const skipped = users.flatMap(({ userId }, index) => {
      const reason = outcomes[index];
      return reason === null || reason === undefined ? [] : [{ userId, reason }];
    });
    await this.ifAsSeen(job, async (client) => {
      await noteSkipped(client, job, skipped);
      const progress = { lastUser: users.at(-1)!.userId, users: users.length, figures: job.figures };
      await noteSlice(client, job, progress);
    });
  }

  /** Why nothing was done of each user; null: it was. Where a call of several fails, each is tried by itself. */
  private async attempt(
    step: { job: RecomputationJob; compiled: CompiledCatalog; fills: readonly BoardFill[] },
    users: readonly { userId: string; planned: PlannedUser }[],
  ): Promise<(string | null)[]> {
    const nowMs = this.options.clock.now();
    const { job, compiled, fills } = step;
    try {
      const scored = scoredBoards(job, openBoards(compiled, nowMs), fills);
      const replies = await recomputeUsers(this.options, compiled, job, { users, scored, nowMs });
      return replies.map((reply) => SKIPPED[reply] ?? null);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      if (users.length === 1) return [`It failed: ${(error as Error).message}`];
      const reasons: (string | null)[] = [];
      for (const user of users) reasons.push(...(await this.attempt(step, [user])));
      return reasons;
    }
  }

  /** All were looked at: those of whom nothing is stored are looked at again; else the step is over. */
  private async endPass(job: RecomputationJob, step: 'applying' | 'reverting'): Promise<void> {
    const { pool, clock } = this.options;
    await this.persisted(job);
    const [left] = await openUsers(pool, { ...job, lastUser: '' }, { step, limit: 1 });
    await this.ifAsSeen(job, async (client) => {
      const { passes = 1 } = job.figures;
      if (left !== undefined && passes < PASSES)
        return noteSlice(client, job, { lastUser: '', users: 0, figures: { ...job.figures, passes: passes + 1 } });
      await skipOpen(client, job, { step, reason: NOT_STORED });
      const figures = { ...job.figures, ...(await outcomeOf(client, job)) };
      await noteSlice(client, job, { lastUser: job.lastUser, users: 0, figures });
      return endStep(client, job, { status: step === 'applying' ? 'applied' : 'reverted', nowMs: clock.now() });
    });
  }

  private async persisted({ tenantNo }: RecomputationJob): Promise<void> {
    if (!(await isPersisted(this.options, shardOf(tenantNo)))) throw new Error(NOT_PERSISTED);
  }

  private fail(job: RecomputationJob, error: string): Promise<void> {
    return this.ifAsSeen(job, (client) =>
      endStep(client, job, { status: 'failed', nowMs: this.options.clock.now(), error }),
    );
  }

  /** Runs `work` in a transaction with the job locked; not if it has moved. */
  private async ifAsSeen(job: RecomputationJob, work: (client: PoolClient) => Promise<void>): Promise<void> {
    await transaction(this.options.pool, async (client) => {
      if (await isAsSeen(client, job)) await work(client);
    });
  }
}
