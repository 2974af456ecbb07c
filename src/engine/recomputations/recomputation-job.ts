import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type CompiledCatalog, loadCompiled } from '../../catalog/compiled-catalog.ts';
import { fittingCall } from '../../catalog/event-work.ts';
import { pointsLimits } from '../../catalog/compile/points.ts';
import type { Clock } from '../../clock.ts';
import { epochDay } from '../../domain/periods.ts';
import { type BoardFill, listFills } from '../../postgres/boards/progress.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import {
  beginPlanning,
  beginStep,
  insertPlanned,
  noteFigures,
  noteSkipped,
  openUsers,
  outcomeOf,
  readRecomputation,
  setStatus,
  skipOpen,
  type StoredRecomputation,
} from '../../postgres/corrections/recomputations.ts';
import { completionsOf } from '../../postgres/corrections/recomputation-history.ts';
import type { Job } from '../../postgres/jobs.ts';
import type { AppliedChanges } from '../../postgres/persist/recomputed.ts';
import { inSnapshot } from '../../postgres/transaction.ts';
import { storedStates } from '../../postgres/users/stored-states.ts';
import { outboxKey } from '../../redis/keys.ts';
import { type PlannedUser, type RecomputationStep, recompute, type ScoredBoard } from '../../rules/recomputation.ts';
import { recomputationRecord } from '../../rules/record.ts';
import { encodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { changeEach, type ChangeEachOptions, type EachChange } from '../changes/change-each.ts';
import { lackOfRoom } from '../changes/state-size.ts';
import { tenantParts } from '../../redis/parts.ts';
import { eventId } from '../ids.ts';
import { readState } from '../rebuild/derived-keys.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { sliceOfUsers } from '../backfills/user-slices.ts';
import { isTenantPersisted } from '../persist/cursor-wait.ts';
import { isUnavailable } from '../unavailable.ts';
import { openBoards, scoredBoards } from './open-boards.ts';
import { type CompletionsNow, toApply, toRevert, type UserPlan } from './planned-user.ts';
import { withSlice } from './recomputation-answer.ts';
import { planSlice } from './slice-proposal.ts';

/**
 * The outcome for a user. `done`: an earlier try of the step changed the user. `nothing`: nothing of the plan was left to do. `corrected`: an
 * event of the user has been reversed or restored since.
 */
type Recomputed = 'changed' | 'done' | 'nothing' | 'gone' | 'large' | 'corrected';

const SKIPPED: Partial<Record<Recomputed, string>> = {
  nothing: 'Nothing of the plan was left to do: the user has changed since.',
  gone: 'The user was deleted since.',
  large: 'The data of the user has reached its maximum size.',
  corrected: 'Events of the user were reversed since it was planned: plan it again.',
};

/** The outcomes for some users, in order. A repeated step changes nothing. */
async function recomputeUsers(
  to: ChangeEachOptions,
  compiled: CompiledCatalog,
  { id, status, jobNo }: Pick<StoredRecomputation, 'id' | 'status' | 'jobNo'>,
  work: {
    users: readonly { userId: string; planned: PlannedUser }[];
    scored: readonly ScoredBoard[] | null;
    nowMs: number;
  },
): Promise<Recomputed[]> {
  const { users, scored, nowMs } = work;
  const step: RecomputationStep = {
    plan: compiled.userPlan(epochDay(nowMs)).plan,
    nowMs,
    step: jobNo,
    reverts: status === 'reverting',
    limits: pointsLimits(compiled.catalog),
    scored,
  };
  const job = id.replaceAll('-', '');
  const changes = await changeEach(to, compiled.catalog.tenantNo, users, (user, { userId, planned }, packed) =>
    recomputed(user, planned, packed, { ...step, job, id: eventId(nowMs), userId }),
  );
  return changes.map((change) => change?.outcome ?? 'gone');
}

/** A user's part of a step. */
function recomputed(
  user: User,
  planned: PlannedUser,
  packed: Buffer,
  step: RecomputationStep & { job: string; id: string; userId: string },
): EachChange & { outcome: Recomputed } {
  const without = (outcome: Recomputed) => ({ outcome, records: [] });
  if (user.createdMs !== planned.created) return without('gone');
  if ((user.recomputed ?? 0) >= step.step) return without('done');
  if (planned.corrections !== undefined && planned.corrections !== user.corrections) return without('corrected');
  const effects = recompute(user, planned, step);
  if (effects === null) return without('nothing');
  if (lackOfRoom(user, encodeUser(user), packed) !== null) return without('large');
  return { outcome: 'changed', records: [{ record: recomputationRecord(user, effects, step), effects }] };
}

interface RecomputingOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  onWritten: (shard: number) => void;
}

/** A job that does a step of a recomputation, which is its subject. */
type RecomputationJob = Job & { tenantNo: number; subjectId: string };

/** Users in a planning slice; the pause after it is equally long. */
const USERS_A_PLAN = 400;
/** Users in a slice that applies or reverts, and in a script call, between which events come. */
const USERS_A_SLICE = 200;
const USERS_A_CALL = 10;
/** The next slice is not applied while more entries than this wait to be stored, since the outbox is meant for events. */
const MOST_AHEAD = 2_000;
/** How often users are tried again whose change was not stored. */
const PASSES = 3;
const NOT_STORED = 'It could not be stored (see the dead letters), or the user changed each time it was tried.';

/**
 * Plans, applies and reverts recomputations in slices of users. Planning writes a slice and the progress in one transaction.
 * Applying is idempotent in each user's state; at the end, users whose change Postgres lacks are tried again.
 */
export function createRecomputing(options: RecomputingOptions): JobWork<RecomputationJob> {
  const { pool, redis } = options;
  const kinds = ['recomputation_planning', 'recomputation_applying', 'recomputation_reverting'] as const;
  const title = 'recomputation';
  const rests = true;

  async function slice(running: RecomputationJob, record: RecordSlice): Promise<void> {
    const { tenantNo, subjectId } = running;
    const job = (await readRecomputation(pool, { tenantNo, id: subjectId }))!;
    const compiled = await loadCompiled(pool, tenantNo);
    if (compiled === null) return fail(options, job, 'The tenant was deleted.', record);
    const fills = job.request.what.includes('boards') ? await listFills(pool, tenantNo) : [];
    // A board that is being filled has only some of its scores.
    if (fills.some(({ status }) => status === 'waiting' || status === 'running')) return;
    if (job.status === 'planning') await planSome(options, running, job, compiled, record);
    else if ((await mostAhead(redis, tenantNo)) <= MOST_AHEAD)
      await applySome(options, { job, compiled, fills }, record);
  }

  return { kinds, title, rests, slice };
}

async function planSome(
  options: RecomputingOptions,
  running: RecomputationJob,
  job: StoredRecomputation,
  compiled: CompiledCatalog,
  record: RecordSlice,
): Promise<void> {
  const { pool, clock } = options;
  const { version } = compiled.catalog;
  await sliceOfUsers(options, running, record, {
    limit: USERS_A_PLAN,
    // A plan uses one version of the rules, and is made again if they change.
    begins: job.usersTotal === null || job.catalogVersion !== version,
    begin: async (client) => ({ cursor: '', done: -job.usersDone, total: await beginPlanning(client, job, version) }),
    next: async () => {
      const nowMs = clock.now();
      const slice = await planSlice(pool, { job, compiled, nowMs, limit: USERS_A_PLAN });
      if (typeof slice === 'string') {
        await fail(options, job, slice, record);
        return null;
      }
      return {
        last: slice.lastUser,
        users: slice.users,
        store: async (client, isLast) => {
          await insertPlanned(client, job, slice.rows);
          await noteFigures(client, job, withSlice(job.figures, slice));
          if (!isLast) return {};
          await setStatus(client, job, 'planned', nowMs);
          if (!job.request.dryRun) await beginStep(client, job, { ...job, step: 'applying', nowMs });
          return { nowMs };
        },
      };
    },
  });
}

async function applySome(
  options: RecomputingOptions,
  step: { job: StoredRecomputation; compiled: CompiledCatalog; fills: readonly BoardFill[] },
  record: RecordSlice,
): Promise<void> {
  const { pool, clock } = options;
  const { job, compiled } = step;
  const doing = job.status === 'reverting' ? 'reverting' : 'applying';
  const rows = await openUsers<UserPlan>(pool, job, doing, USERS_A_SLICE);
  if (rows.length === 0) return endPass(options, job, doing, record);
  const reverts = doing === 'reverting';
  const completions = reverts ? await readCompletions(options, job, rows) : new Map<string, CompletionsNow>();
  if (completions === null) return;
  const users = rows.map((row) => ({
    userId: row.userId,
    planned: reverts
      ? toRevert(compiled, row, completions.get(row.userId))
      : toApply(compiled, row.createdMs, row.plan!),
  }));
  const outcomes: (string | null)[] = [];
  const aCall = fittingCall(compiled.userPlan(epochDay(clock.now())).work, USERS_A_CALL);
  for (let from = 0; from < users.length; from += aCall)
    outcomes.push(...(await attempt(options, step, users.slice(from, from + aCall))));
  const skipped = users.flatMap(({ userId }, index) => {
    const reason = outcomes[index];
    return reason === null || reason === undefined ? [] : [{ userId, reason }];
  });
  await record(async (client) => {
    await noteSkipped(client, job, skipped);
    return { cursor: users.at(-1)!.userId, done: users.length };
  });
}

/**
 * All completions of the users of whom the job changed repeating achievements; `null` if earlier writes are not stored yet. The number of
 * corrections shows whether they are outdated.
 */
async function readCompletions(
  options: RecomputingOptions,
  job: StoredRecomputation,
  rows: readonly { userId: string; applied: AppliedChanges | null }[],
): Promise<Map<string, CompletionsNow> | null> {
  const repeated = rows.filter(({ applied }) =>
    [...(applied?.completed ?? []), ...(applied?.revoked ?? [])].some((each) => each[COMPLETED.period]),
  );
  if (repeated.length === 0) return new Map();
  // Late events of a moment ago count, too.
  const { tenantNo } = job;
  if (!(await isTenantPersisted(options, tenantNo))) return null;
  const ids = repeated.map(({ userId }) => userId);
  return inSnapshot(options.pool, async (client) => {
    const states = await storedStates(client, tenantNo, ids);
    const stored = await completionsOf(client, { tenantNo, ids });
    return new Map(
      Array.from(states, ([userId, state]) => [
        userId,
        {
          completions: stored.filter((each) => each.userId === userId).map(({ completion }) => completion),
          corrections: readState({ state })?.corrections ?? 0,
        },
      ]),
    );
  });
}

/** Why each user was not changed; `null` if the user was. If a joint call fails, each user is tried alone. */
async function attempt(
  options: RecomputingOptions,
  step: { job: StoredRecomputation; compiled: CompiledCatalog; fills: readonly BoardFill[] },
  users: readonly { userId: string; planned: PlannedUser }[],
): Promise<(string | null)[]> {
  const nowMs = options.clock.now();
  const { job, compiled, fills } = step;
  try {
    const scored = scoredBoards(job, openBoards(compiled, nowMs), fills);
    const replies = await recomputeUsers(options, compiled, job, { users, scored, nowMs });
    // Reverting reads what it needs again in the next pass.
    const isTriedAgain = (reply: Recomputed): boolean => job.status === 'reverting' && reply === 'corrected';
    return replies.map((reply) => (isTriedAgain(reply) ? null : (SKIPPED[reply] ?? null)));
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (users.length === 1) return [`It failed: ${(error as Error).message}`];
    const reasons: (string | null)[] = [];
    for (const user of users) reasons.push(...(await attempt(options, step, [user])));
    return reasons;
  }
}

/**
 * Ends a pass over all users: starts another one for users whose change could not be stored, or ends the step. Records nothing, so that the
 * job waits, if earlier writes are not stored yet.
 */
async function endPass(
  options: RecomputingOptions,
  job: StoredRecomputation,
  step: 'applying' | 'reverting',
  record: RecordSlice,
): Promise<void> {
  const { pool, clock } = options;
  if (!(await isTenantPersisted(options, job.tenantNo))) return;
  const [left] = await openUsers(pool, { ...job, lastUser: '' }, step, 1);
  await record(async (client) => {
    const { passes = 1 } = job.figures;
    if (left !== undefined && passes < PASSES) {
      await noteFigures(client, job, { ...job.figures, passes: passes + 1 });
      return { cursor: '' };
    }
    await skipOpen(client, job, step, NOT_STORED);
    await noteFigures(client, job, { ...job.figures, ...(await outcomeOf(client, job)) });
    const nowMs = clock.now();
    await setStatus(client, job, step === 'applying' ? 'applied' : 'reverted', nowMs);
    return { end: 'done', nowMs };
  });
}

/** Entries in the longest outbox of the tenant's parts. */
async function mostAhead(redis: Redis, tenantNo: number): Promise<number> {
  return Math.max(
    ...(await Promise.all(tenantParts(redis, tenantNo).map(({ shard }) => redis.xlen(outboxKey(shard))))),
  );
}

async function fail(
  { clock }: RecomputingOptions,
  job: StoredRecomputation,
  failed: string,
  record: RecordSlice,
): Promise<void> {
  const nowMs = clock.now();
  await record(async (client) => {
    await setStatus(client, job, 'failed', nowMs);
    return { end: { failed }, nowMs };
  });
}
