import type { Pool, PoolClient } from 'pg';
import { v7 as uuid } from 'uuid';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { isDate } from '../../domain/periods.ts';
import type { AuditAction } from '../../domain/administration/audit.ts';
import type {
  Recomputation,
  RecomputationAsked,
  RecomputationDetails,
  RecomputationRequest,
  RecomputationStatus,
} from '../../domain/administration/recomputation.ts';
import { AppError } from '../../errors.ts';
import { writeAudit } from '../../postgres/access/audit.ts';
import { detailsFromDay } from '../../postgres/partitions.ts';
import { isUniqueViolation, transaction } from '../../postgres/transaction.ts';
import {
  activeRecomputation,
  beginStep,
  cancelRecomputation,
  insertRecomputation,
  laterStep,
  listRecomputations,
  readRecomputation,
  samplesOf,
  type StoredRecomputation,
} from '../../postgres/corrections/recomputations.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import { missingDetails } from './slice-proposal.ts';
import type { UserPlan } from './planned-user.ts';
import { recomputationAnswer, samplesAnswer } from './recomputation-answer.ts';

/** Maximum number of users of each sort in an answer. */
const MOST_SAMPLES = 20;

const MAY = {
  apply: ['planned'],
  revert: ['applied', 'cancelled'],
  cancel: ['planning', 'planned', 'applying'],
} as const satisfies Record<string, readonly RecomputationStatus[]>;

/** Recomputations as administrators manage them; `createRecomputing` does the work. */
export function createRecomputations(pool: Pool, clock: Clock, wake: () => Promise<void>) {
  /** Creates one. Throws 422 for an unknown day or cohort, or dropped events; 409 while another is in progress. */
  async function create(compiled: CompiledCatalog, request: RecomputationRequest, by: Author): Promise<Recomputation> {
    const { tenantNo, version } = compiled.catalog;
    const complete = askedOf(request);
    const cohort = parseAttributeFilter(complete.cohort.userAttributes ?? undefined, compiled.userAttributes);
    if (complete.since !== null && !isDate(complete.since))
      throw new AppError('unprocessable', `since: '${complete.since}' is not a day.`);
    const missing = missingDetails(compiled, complete, await detailsFromDay(pool));
    if (missing !== null) throw new AppError('unprocessable', missing);
    const job = await unlessActive(tenantNo, () =>
      transaction(pool, async (client) => {
        const id = uuid();
        await insertRecomputation(client, {
          id,
          tenantNo,
          request: complete,
          cohort: Object.fromEntries(cohort.map(({ attribute, value }) => [attribute.no, value])),
          catalogVersion: version,
          requestedBy: by.who,
          nowMs: clock.now(),
        });
        const inserted = (await readRecomputation(client, { tenantNo, id }))!;
        await audit(client, inserted, 'create', by);
        return inserted;
      }),
    );
    await wake();
    return recomputationAnswer(compiled, job);
  }

  /** The tenant's recomputations, newest first, at most a hundred. */
  async function list(compiled: CompiledCatalog): Promise<Recomputation[]> {
    const jobs = await listRecomputations(pool, compiled.catalog.tenantNo);
    return jobs.map((job) => recomputationAnswer(compiled, job));
  }

  /** One of them, with some of its users. Throws 404. */
  async function get(compiled: CompiledCatalog, id: string): Promise<RecomputationDetails> {
    const job = await readRecomputation(pool, { tenantNo: compiled.catalog.tenantNo, id });
    if (job === null) throw unknown(id);
    const samples = await samplesOf<UserPlan>(pool, job, MOST_SAMPLES);
    return { ...recomputationAnswer(compiled, job), samples: samplesAnswer(compiled, samples) };
  }

  /** Starts to apply a plan. Throws 404; 409 if it is not planned, or outdated by another one. */
  async function apply(compiled: CompiledCatalog, id: string, by: Author): Promise<Recomputation> {
    return change(compiled, id, { action: 'apply', by }, async (client, job, requested) => {
      const later = await laterStep(client, job);
      if (later !== null)
        throw conflict(
          `The recomputation '${later}' was applied or reverted after this one was planned: plan it again.`,
        );
      await beginStep(client, job, { step: 'applying', ...requested });
    });
  }

  /** Starts to revert everything that it changed. Throws 404; 409 if nothing was applied. */
  async function revert(compiled: CompiledCatalog, id: string, by: Author): Promise<Recomputation> {
    return change(compiled, id, { action: 'revert', by }, (client, job, requested) =>
      beginStep(client, job, { step: 'reverting', ...requested }),
    );
  }

  /** Cancels one. What it has applied so far stays, and can be reverted. Throws 404; 409 if it is not in progress. */
  async function cancel(compiled: CompiledCatalog, id: string, by: Author): Promise<Recomputation> {
    return change(compiled, id, { action: 'cancel', by }, cancelRecomputation);
  }

  async function change(
    compiled: CompiledCatalog,
    id: string,
    { action, by }: { action: keyof typeof MAY; by: Author },
    work: (
      client: PoolClient,
      job: StoredRecomputation,
      requested: { requestedBy: string; nowMs: number },
    ) => Promise<void>,
  ): Promise<Recomputation> {
    const { tenantNo } = compiled.catalog;
    const changed = await unlessActive(tenantNo, () =>
      transaction(pool, async (client) => {
        const job = await readRecomputation(client, { tenantNo, id, lock: true });
        if (job === null) throw unknown(id);
        if (!(MAY[action] as readonly string[]).includes(job.status))
          throw conflict(`The recomputation is ${job.status}: it cannot be ${DONE[action]}.`);
        await work(client, job, { requestedBy: by.who, nowMs: clock.now() });
        await audit(client, job, AUDITED[action], by);
        return (await readRecomputation(client, { tenantNo, id }))!;
      }),
    );
    await wake();
    return recomputationAnswer(compiled, changed);
  }

  /** At most one of a tenant is in progress at a time. */
  async function unlessActive<T>(tenantNo: number, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const active = await activeRecomputation(pool, tenantNo);
      throw conflict(`Another recomputation is under way${active === null ? '' : `: '${active}'`}.`);
    }
  }

  function audit(client: PoolClient, job: StoredRecomputation, action: AuditAction, by: Author): Promise<void> {
    const { tenantNo, id, request } = job;
    const entry = { action, kind: 'recomputation' as const, id, after: request };
    return writeAudit(client, { tenantNo, nowMs: clock.now(), by, entries: [entry] });
  }

  return { create, list, get, apply, revert, cancel };
}

const DONE = { apply: 'applied', revert: 'reverted', cancel: 'cancelled' } as const;
const AUDITED = { apply: 'apply', revert: 'reverse', cancel: 'cancel' } as const satisfies Record<string, AuditAction>;

const askedOf = ({ what, since, cohort, mayRevoke, dryRun }: RecomputationRequest): RecomputationAsked => ({
  what,
  since: since ?? null,
  cohort: { userAttributes: cohort?.userAttributes ?? null },
  mayRevoke: mayRevoke ?? false,
  dryRun: dryRun ?? true,
});

const unknown = (id: string): AppError => new AppError('not_found', `There is no recomputation with the ID '${id}'.`);
const conflict = (message: string): AppError => new AppError('conflict', message);
