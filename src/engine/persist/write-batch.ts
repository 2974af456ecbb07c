import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import { addDayCounts } from '../../postgres/history/activity.ts';
import { insertCompletions, keepNewestCompletions } from '../../postgres/persist/completions.ts';
import { lockCursor, moveCursor } from '../../postgres/shards.ts';
import { keepDaySums } from '../../postgres/persist/day-sums.ts';
import { countGuarded, insertQuarantined, settleQuarantined } from '../../postgres/corrections/quarantine.ts';
import {
  deleteUser,
  noteZones,
  updatePoints,
  updateStates,
  updateStreaks,
  upsertUsers,
} from '../../postgres/persist/users.ts';
import { replaceSnapshotParts, snapshotPartsWith } from '../../postgres/boards/snapshots.ts';
import { insertAwards } from '../../postgres/persist/awards.ts';
import { insertRecomputed } from '../../postgres/persist/recomputed.ts';
import { insertEvents, insertReversals, noteDatedAhead } from '../../postgres/persist/events.ts';
import { resetPlaces } from '../../postgres/notifications/places.ts';
import { insertImportedCompletions, insertImportedDays, splitImported } from '../../postgres/persist/imported.ts';
import {
  insertStreakCalls,
  insertStreakChanges,
  supersedeStreakChanges,
  writeStreakPauses,
} from '../../postgres/persist/streaks.ts';
import { insertUsedKeys } from '../../postgres/used-keys.ts';
import { transaction } from '../../postgres/transaction.ts';
import { beforeDeletion } from '../../postgres/users/stored-states.ts';
import { forgetUsedKeys } from '../../redis/idempotency.ts';
import { entryHead, userHash, withoutEntry } from '../snapshots/snapshot-parts.ts';
import { forgetInLetters } from './forget-in-letters.ts';
import { isOf, type Report, type Reporter } from '../notifications/reporter.ts';
import { usedKey, type Batch, type Deletion } from './batch.ts';
import { storeReport } from './store-report.ts';

/** What a batch reports. `isFinal`: whoever listens by now, it stays so. */
export interface Reported {
  reporter: Reporter;
  report: Report;
  isFinal: boolean;
}

interface Write {
  redis: Redis;
  shard: number;
  /** The position that the batch was read after. */
  after: string;
  /** What it was read under; undefined: no matter. */
  storageEpoch: string | undefined;
  batch: Batch;
  /** What it reports; undefined: nobody hears of it. */
  reported?: Reported | undefined;
  /** Called when everything is written and nothing is committed. */
  beforeCommit?: (() => void | Promise<void>) | undefined;
}

/**
 * Writes the rows, with the messages that report them, and moves the cursor in one transaction: all or none. After an error
 * nothing is written, or, if the connection broke during COMMIT, everything may be: read the cursor again. Else nothing is
 * written
 * - `passed`: if another persister holds the cursor or has moved it since, or Redis is another one since;
 * - `outdated`: if who listens may have changed since the report was made.
 */
export function writeBatch(
  pool: Pool,
  { redis, shard, after, storageEpoch, batch, reported, beforeCommit }: Write,
): Promise<'stored' | 'passed' | 'outdated'> {
  return transaction(pool, async (client) => {
    const cursor = await lockCursor(client, shard);
    if (cursor?.position !== after || (storageEpoch !== undefined && cursor.storageEpoch !== storageEpoch))
      return 'passed';
    if (reported?.isFinal === false && !isOf(reported.report, cursor.revisions)) return 'outdated';
    await writeRows(client, redis, batch);
    if (reported !== undefined) await storeReport(client, reported.reporter, reported.report);
    await moveCursor(client, shard, batch);
    await beforeCommit?.();
    return 'stored';
  });
}

/** Writes the rows in the client's transaction. */
export async function writeRows(client: PoolClient, redis: Redis, batch: Batch): Promise<void> {
  for (const deletion of batch.deletions) await deleteWhole(client, redis, deletion);
  await insertEvents(client, batch.events);
  await insertUsedKeys(client, batch.events);
  await insertQuarantined(client, batch.quarantined);
  await settleQuarantined(client, batch.settled);
  await countGuarded(client, batch.guarded);
  await insertAwards(client, batch.awards);
  await insertCompletions(client, batch.completions);
  await insertReversals(client, batch.reversals);
  await insertRecomputed(client, batch.recomputed);
  await supersedeStreakChanges(client, batch.supersededChanges);
  await insertStreakChanges(client, batch.streakChanges);
  await writeStreakPauses(client, batch.pauses);
  await insertStreakCalls(client, batch.streakCalls);
  const imported = await splitImported(client, { days: batch.importedDays, awards: batch.importedAwards });
  await insertImportedDays(client, imported.kept.days);
  await insertImportedCompletions(client, batch.importedCompletions);
  await insertAwards(client, imported.kept.awards);
  const events = [batch.events, batch.reversals.map(({ event }) => event), imported.kept.days];
  const awards = [batch.awards, imported.kept.awards];
  await noteDatedAhead(client, [...events, ...awards]);
  await keepDaySums(
    client,
    { events: events.flat(), awards: awards.flat() },
    { events: imported.gone.days, awards: imported.gone.awards },
  );
  if (batch.importedZones.length > 0) await noteZones(client, batch.importedZones);
  // Nothing is announced of an import: neither the places of those imported nor that others were overtaken by them.
  await resetPlaces(client, batch.importedZones);
  const { users, streakUsers, paidUsers, unchangedUsers } = batch.touched;
  await upsertUsers(client, users);
  await updateStreaks(client, streakUsers);
  await updatePoints(client, paidUsers);
  await updateStates(client, unchangedUsers);
  await keepNewestCompletions(client, batch.completions);
  await addDayCounts(client, batch.tally.rows);
}

/**
 * Deletes a user's rows, and the idempotency keys in Redis that only the rows hold: before the commit, so that a crash
 * leaves none behind. Nothing reads those any more, whether the commit follows or not.
 */
async function deleteWhole(client: PoolClient, redis: Redis, deletion: Deletion): Promise<void> {
  const { tenantNo, userId } = deletion;
  await beforeDeletion(client, tenantNo);
  const parts = await snapshotPartsWith(client, tenantNo, { hash: userHash(userId), bytes: entryHead(userId) });
  const without = parts.map((part) => ({ ...part, packed: withoutEntry(part.packed, userId) }));
  await replaceSnapshotParts(client, tenantNo, without);
  await forgetInLetters(client, redis, deletion);
  await forgetUsedKeys(redis, deletion.tenantNo, deletion.usedKeys);
  await deleteUser(client, deletion, (keys) =>
    forgetUsedKeys(
      redis,
      deletion.tenantNo,
      keys.map((key) => usedKey(deletion, key)),
    ),
  );
}
