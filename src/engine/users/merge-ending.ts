/** Ends merges across shards, from the seal of the old user on (decision 54), and moves the rows of large merges (decision 55). */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { type CompiledCatalog, loadCompiled } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { codeOf } from '../../network-errors.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { MergeRecord } from '../../packed/record.ts';
import { transaction } from '../../postgres/transaction.ts';
import { deleteMergeJob, type MergeJob, readMergeJob } from '../../postgres/users/merge-jobs.ts';
import { lockMergeOf } from '../../postgres/users/merges.ts';
import { hasRowMove, isRowMove, moveNextRows, type RowMoveJob } from '../../postgres/users/row-moves.ts';
import { forgetUsedKeys, type UsedKey } from '../../redis/idempotency.ts';
import { mergePermitsKey } from '../../redis/keys.ts';
import { isMergePermitted, PERMIT } from '../../redis/merge-permits.ts';
import { knownPart } from '../../redis/parts.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { type Block, mapPart } from '../changes/block.ts';
import { callsOnce } from '../changes/calls.ts';
import { changeUsers, type ReadUser, type Subject } from '../changes/change-users.ts';
import { isSealed } from '../changes/sealed.ts';
import { eventId } from '../ids.ts';
import { besideClearing } from '../leaderboards/beside-clearing.ts';
import { setsOfBoards } from '../leaderboards/stray-sets.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';
import { isUnavailable } from '../unavailable.ts';
import { blockOfFrom, blockOfInto, recordAbout } from './merge-blocks.ts';
import { boardsOfMerge, computeMerge, holdOf, isSameUser, requireQuiet } from './merge-computation.ts';

/** The remaining user has everything; the seal has ended, with or without a merge; the permit of a merge is taken back. */
export type MergeStep = 'transferred' | 'unsealed' | 'revoked';

interface MergeEndingOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  /** Called with the shard of a commit that wrote. */
  onWritten: (shard: number) => void;
  /** Called after each step, so that tests can stop there. */
  onMergeStep?: ((step: MergeStep) => void | Promise<void>) | undefined;
}

/** Steps of a slice: a merge without conflicts takes two. */
const MOST_STEPS = 16;
/** After this many conflicts, events of the remaining user wait. */
const FREE_TRIES = 2;
/** A merge whose slices failed so often is given up. */
const MOST_FAILURES = 5;

/** A merge under way. */
interface Merge {
  tenantNo: number;
  from: string;
  into: string;
  /** 32 hex digits. */
  seal: string;
}

/**
 * What Postgres and the permit say decides what comes next, so any number of workers may try, and any of them may stop at any time:
 *
 * 1. The merge is stored (`isMoved`): the old user is removed, and the ID stands for the other.
 * 2. There is a permit: the remaining user gets everything.
 * 3. No permit is left, and no transfer that used it is on its way to Postgres: the merge is given up, and the old user goes on.
 */
export function createMergeEnding({
  clock,
  pool,
  redis,
  onMergeStep,
  onWritten,
}: MergeEndingOptions): JobWork<MergeJob | RowMoveJob> {
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

  function isStored(tenantNo: number, userId: string): Promise<boolean> {
    return isPersisted({ redis, pool }, knownPart(redis, tenantNo, userId).shard);
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

  /** A user as Redis has it. Throws RedisNotReady while the shard is rebuilt. */
  async function read(tenantNo: number, userId: string): Promise<ReadUser> {
    let user: ReadUser | undefined;
    const compute = (read: ReadUser): { block: null } => {
      user = read;
      return { block: null };
    };
    await changeOne(tenantNo, { userId, keys: [], isGuarded: true, compute });
    return user!;
  }

  /**
   * Ends the seal without a merge. First, the permit goes, so that no process that has computed the merge can commit it any more. Does
   * nothing if the permit was used up.
   */
  async function giveUp(merge: Merge): Promise<void> {
    const { tenantNo, from, into, seal } = merge;
    const key = mergePermitsKey(knownPart(redis, tenantNo, into));
    const nowMs = clock.now();
    const fields = (await isMergePermitted(redis, merge)) ? [{ key, field: seal, before: PERMIT, value: '' }] : [];
    const revoke = once(({ packed: expected, generation }) => ({
      userId: into,
      expected,
      generation,
      state: null,
      uses: [],
      counts: [],
      fields,
      records: [mapPart(recordAbout(into, eventId(nowMs), nowMs), null)],
    }));
    const subject = { userId: into, keys: [], isGuarded: false, compute: revoke };
    const ended = await changeOne(tenantNo, subject, { handlesSealed: true });
    await onMergeStep?.('revoked');
    // A master that takes over has what is persisted: with this record, also a transfer before it, and the permit does not come back.
    if (ended === 'held' || !(await isStored(tenantNo, into)) || (await isMergePermitted(redis, merge))) return;
    if ((await readMergeJob(pool, seal))?.isMoved !== false) return;
    await unseal(merge, ({ packed, generation }) => {
      const user = decodeUser(packed!);
      user.heldUntilMs = null;
      const records = [mapPart(endOf(merge), null)];
      const state = encodeUser(user);
      return { userId: from, expected: packed, generation, state, uses: [], counts: [], fields: [], records };
    });
  }

  /** Removes `from`, whose rows belong to `into`. */
  async function removeFrom(merge: Merge, usedKeys: readonly UsedKey[]): Promise<void> {
    const { tenantNo, from } = merge;
    const part = knownPart(redis, tenantNo, from);
    const sets = await setsOfBoards(redis, pool, clock, part);
    await forgetUsedKeys(redis, part, usedKeys);
    await besideClearing({ redis, pool }, tenantNo, (isCleared) =>
      transaction(pool, async (client) => {
        // A deletion of the other user waits, and forgets the alias then. `null`: the other user was deleted.
        const alias = await lockMergeOf(client, tenantNo, from);
        await unseal(merge, (read) => {
          const user = decodeUser(read.packed!);
          return blockOfFrom(part, read, { userId: from, user, alias, isCleared, sets, record: endOf(merge) });
        });
      }),
    );
  }

  /** Changes `from`, who is sealed. If Redis was rebuilt without the user meanwhile, only the job is left. */
  async function unseal(merge: Merge, blockOf: (read: ReadUser) => Block): Promise<void> {
    const { tenantNo, from, seal } = merge;
    const ended = await changeOne(
      tenantNo,
      {
        userId: from,
        keys: [],
        isGuarded: true,
        compute: (read) => ({ block: read.packed !== null && isSealed(read.packed) ? blockOf(read) : null }),
      },
      { handlesSealed: true },
    );
    await onMergeStep?.('unsealed');
    if (ended === 'held' && (await isStored(tenantNo, from))) await deleteMergeJob(pool, seal);
  }

  /** The record with which the persister deletes the job. */
  function endOf({ from, seal }: Merge): MergeRecord {
    const nowMs = clock.now();
    return { ...recordAbout(from, eventId(nowMs), nowMs), [RECORD.unsealed]: seal };
  }

  async function catalogOf(tenantNo: number): Promise<CompiledCatalog> {
    const compiled = await loadCompiled(pool, tenantNo);
    if (compiled === null) throw new Error(`Tenant ${tenantNo} has no catalog.`);
    return compiled;
  }

  /** 'held': nothing was written. */
  async function changeOne(
    tenantNo: number,
    subject: Subject<{ block: Block | null }>,
    { handlesSealed = false } = {},
  ): Promise<string> {
    const part = knownPart(redis, tenantNo, subject.userId);
    const calls = callsOnce(redis, { onWritten: () => onWritten(part.shard) });
    const { ended } = await changeUsers(calls, part, [subject], { together: true, handlesSealed });
    return ended;
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

/** A change that is computed once: a conflict ends it. */
function once(blockOf: (read: ReadUser) => Block | null): (read: ReadUser) => { block: Block | null } {
  let isFirst = true;
  return (read) => {
    const block = isFirst ? blockOf(read) : null;
    isFirst = false;
    return { block };
  };
}
