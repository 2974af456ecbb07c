import { RECORD } from '../../packed/record-fields.ts';
import type { MergeRecord } from '../../packed/record.ts';
import { transaction } from '../../postgres/transaction.ts';
import { deleteMergeJob, readMergeJob } from '../../postgres/users/merge-jobs.ts';
import { lockMergeOf } from '../../postgres/users/merges.ts';
import { type UsedKey, forgetUsedKeys } from '../../redis/idempotency.ts';
import { mergePermitsKey } from '../../redis/keys.ts';
import { PERMIT, isMergePermitted } from '../../redis/merge-permits.ts';
import { knownPart } from '../../redis/parts.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { type Block, mapPart } from '../changes/block.ts';
import type { ReadUser } from '../changes/change-users.ts';
import { isSealed } from '../changes/sealed.ts';
import { eventId } from '../ids.ts';
import { besideClearing } from '../leaderboards/beside-clearing.ts';
import { setsOfBoards } from '../leaderboards/stray-sets.ts';
import { blockOfFrom, recordAbout } from './merge-blocks.ts';
import { type Merge, type MergeChanges, type MergeEndingOptions, once } from './merge-changes.ts';

/** Ends the seal of a merge's old user: with the merge, or without it. */
export function createUnsealing(
  { redis, pool, clock, onMergeStep }: MergeEndingOptions,
  { isStored, changeOne }: MergeChanges,
) {
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

  return { giveUp, removeFrom };
}
