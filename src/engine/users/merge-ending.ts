/** Ends merges across shards, from the seal of the old user on (decision 54), and moves the rows of large merges (decision 55). */
import { type CompiledCatalog, loadCompiled } from '../../catalog/compiled-catalog.ts';
import { AppError } from '../../errors.ts';
import { codeOf } from '../../network-errors.ts';
import { type MergeJob, readMergeJob } from '../../postgres/users/merge-jobs.ts';
import { type RowMoveJob, hasRowMove, isRowMove, moveNextRows } from '../../postgres/users/row-moves.ts';
import { isMergePermitted } from '../../redis/merge-permits.ts';
import { knownPart } from '../../redis/parts.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { isSealed } from '../changes/sealed.ts';
import { eventId } from '../ids.ts';
import { besideClearing } from '../leaderboards/beside-clearing.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { isUnavailable } from '../unavailable.ts';
import { blockOfInto } from './merge-blocks.ts';
import { type Merge, createMergeChanges, once, type MergeEndingOptions } from './merge-changes.ts';
import { boardsOfMerge, computeMerge, holdOf, isSameUser, requireQuiet } from './merge-computation.ts';
import { createUnsealing } from './merge-unsealing.ts';

/** Steps of a slice: a merge without conflicts takes two. */
const MOST_STEPS = 16;
/** After this many conflicts, events of the remaining user wait. */
const FREE_TRIES = 2;
/** A merge whose slices failed so often is given up. */
const MOST_FAILURES = 5;

/**
 * What Postgres and the permit say decides what comes next, so any number of workers may try, and any of them may stop at any time:
 *
 * 1. The merge is stored (`isMoved`): the old user is removed, and the ID stands for the other.
 * 2. There is a permit: the remaining user gets everything.
 * 3. No permit is left, and no transfer that used it is on its way to Postgres: the merge is given up, and the old user goes on.
 */
export function createMergeEnding(options: MergeEndingOptions): JobWork<MergeJob | RowMoveJob> {
  const { clock, pool, redis, onMergeStep } = options;
  const changes = createMergeChanges(options);
  const { isStored, read, changeOne } = changes;
  const { giveUp, removeFrom } = createUnsealing(options, changes);
  const kinds = ['user_merge'] as const;
  const title = 'merge of users';
  const waitMs = 100;

  async function slice(job: MergeJob | RowMoveJob, record: RecordSlice): Promise<void> {
    if (isRowMove(job)) return moveRows(job, record);
    return endMerge(job);
  }

  async function endMerge({ id, tenantNo, attempts, result: { from, into } }: MergeJob): Promise<void> {
    const merge = { tenantNo, from, into, seal: id.replaceAll('-', '') };
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      // First: a permit that was used up since is in Postgres once both are persisted.
      const isPermitted = await isMergePermitted(redis, merge);
      if (!(await isStored(tenantNo, from)) || !(await isStored(tenantNo, into))) return;
      const job = await readMergeJob(pool, merge.seal);
      if (job === null) return;
      if (job.isMoved) await removeFrom(merge, job.usedKeys);
      // Rows of an earlier merge are on their way.
      else if (await hasRowMove(pool, { tenantNo, userId: into })) return;
      else if (!isPermitted || attempts >= MOST_FAILURES) await giveUp(merge);
      else await transfer(merge, steps >= FREE_TRIES);
    }
  }

  /** Gives `into` everything. Does nothing if `into` has changed meanwhile; gives up what cannot be merged. `holds`: events of `into` wait. */
  async function transfer(merge: Merge, holds: boolean): Promise<void> {
    const { tenantNo, from, into, seal } = merge;
    const part = knownPart(redis, tenantNo, into);
    try {
      if (holds) await changeOne(tenantNo, holdOf(into, clock.now()));
      const [ofFrom, ofInto] = await Promise.all([read(tenantNo, from), read(tenantNo, into)]);
      if (!(await isStored(tenantNo, into))) return;
      await requireQuiet(pool, tenantNo, { from, into });
      const compiled = await catalogOf(tenantNo);
      const nowMs = clock.now();
      const computed = await computeMerge(pool, compiled, { from, into, dryRun: false, nowMs });
      if (!isSealed(computed.two.from.packed)) throw new Error('The user who is merged is not sealed.');
      const pair = { compiled, part, from, into };
      const ended = await besideClearing({ redis, pool }, tenantNo, (isCleared) => {
        const change = { ...computed, isCleared, boards: boardsOfMerge(compiled), id: eventId(nowMs), seal };
        return changeOne(tenantNo, {
          userId: into,
          keys: [],
          isGuarded: true,
          // Only once: after a conflict, the merge is computed again.
          compute: once((now: ReadUser) =>
            isSameUser(now, computed.two.into.packed, ofInto.quarantine.events)
              ? blockOfInto(pair, change, now, ofFrom.quarantine.events)
              : null,
          ),
        });
      });
      if (ended === 'held') return;
    } catch (error) {
      // The other user is gone, merged or sealed as well, or something has to come first.
      if (!(error instanceof AppError) || isUnavailable(error)) throw error;
      return giveUp(merge);
    }
    await onMergeStep?.('transferred');
  }

  async function catalogOf(tenantNo: number): Promise<CompiledCatalog> {
    const compiled = await loadCompiled(pool, tenantNo);
    if (compiled === null) throw new Error(`Tenant ${tenantNo} has no catalog.`);
    return compiled;
  }

  return { kinds, title, waitMs, slice };
}

/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

/** Moves some rows of a large merge. */
const moveRows = (job: RowMoveJob, record: RecordSlice): Promise<void> =>
  unlessLocked(() => record(async (client) => ({ done: await moveNextRows(client, job) })));

/** Records a slice. While rows are being stored that the slice needs, it waits: the persister comes first. */
export async function unlessLocked(slice: () => Promise<unknown>): Promise<void> {
  try {
    await slice();
  } catch (error) {
    if (!(error instanceof Error) || codeOf(error) !== LOCK_TIMEOUT) throw error;
  }
}
