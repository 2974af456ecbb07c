import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { FailedPart } from '../../domain/administration/dead-letters.ts';
import type { Notification } from '../../domain/notifications/notification.ts';
import { OUTBOX } from '../../packed/call-fields.ts';
import { RECORD } from '../../packed/record-fields.ts';
import type { UncheckedRecord } from '../../packed/record.ts';
import { forgetValuesOf } from '../../postgres/analytics-segments.ts';
import { insertBalanceChanges } from '../../postgres/balance-changes.ts';
import { insertRankRewards } from '../../postgres/boards/rank-rewards.ts';
import { manySnapshots, replaceSnapshotParts, snapshotPartsWith } from '../../postgres/boards/snapshots.ts';
import {
  deleteLetters,
  lettersAbout,
  rewriteLetter,
  type WholeDeadLetter,
} from '../../postgres/corrections/dead-letters.ts';
import { countGuarded, insertQuarantined, settleQuarantined } from '../../postgres/corrections/quarantine.ts';
import { addDayCounts } from '../../postgres/history/activity.ts';
import { resetPlaces } from '../../postgres/notifications/places.ts';
import type { NamedUser } from '../../domain/user.ts';
import {
  insertAwards,
  insertCompletions,
  insertEvents,
  insertReversals,
  keepNewestCompletions,
  noteDatedAhead,
} from '../../postgres/persist/events.ts';
import { keepDaySums } from '../../postgres/persist/day-sums.ts';
import { insertImportedCompletions, insertImportedDays, splitImported } from '../../postgres/persist/imported.ts';
import { insertRecomputed } from '../../postgres/persist/recomputed.ts';
import {
  insertStreakCalls,
  insertStreakChanges,
  supersedeStreakChanges,
  writeStreakPauses,
} from '../../postgres/persist/streaks.ts';
import {
  deleteUser,
  noteZones,
  updatePoints,
  updateStates,
  updateStreaks,
  upsertUsers,
} from '../../postgres/persist/users.ts';
import { confirmClaims } from '../../postgres/rewards.ts';
import { lockCursor, moveCursor } from '../../postgres/shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import { insertUsedKeys, readEventIdSecret } from '../../postgres/used-keys.ts';
import { addMergeJob, deleteMergeJob, noteMoved } from '../../postgres/users/merge-jobs.ts';
import {
  dropSharedKeys,
  insertMerge,
  insertMergedKeys,
  keysToMove,
  mergesInto,
  type MovedKey,
  moveUser,
  usedKeysOf,
} from '../../postgres/users/merges.ts';
import { finishRowMoves } from '../../postgres/users/row-moves.ts';
import { addRemoval, finishRemovals } from '../../postgres/users/row-removals.ts';
import { beforeDeletion } from '../../postgres/users/stored-states.ts';
import { insertMessages } from '../../postgres/webhooks/messages.ts';
import { forgetAlias } from '../../redis/aliases.ts';
import { forgetUsedKeys } from '../../redis/idempotency.ts';
import {
  bytesAside,
  forgetEntry,
  keepEntry,
  packFields,
  readEntry,
  type ReadEntry,
  unpackFields,
} from '../../redis/outbox.ts';
import { supersededFact } from '../analytics/facts.ts';
import { insertTiers } from '../../postgres/boards/leagues.ts';
import { enterLeagues } from '../leaderboards/league-entries.ts';
import { KeyedIds, timeOf } from '../ids.ts';
import { entryHead, userHash, withoutEntry } from '../leaderboards/snapshot-parts.ts';
import { noteDue } from '../notifications/entry-notifications.ts';
import { isOf, type Report, type Reporter, type Reporting } from '../notifications/reporter.ts';
import { throttle } from '../notifications/throttles.ts';
import { isAboutData, reasonFor } from './about-data.ts';
import { type Batch, type Deletion, type Merge, usedKey } from './batch.ts';
import { knownPart } from '../../redis/parts.ts';

/** The report of a batch. `isFinal`: the report is stored even if the receivers changed meanwhile. */
export interface Reported {
  reporter: Reporter;
  report: Report;
  isFinal: boolean;
}

interface Write {
  redis: Redis;
  shard: number;
  /** The position after which the batch was read. */
  after: string;
  /** The storage epoch under which it was read; `undefined` skips the check. */
  storageEpoch: string | undefined;
  batch: Batch;
  /** `undefined` if nobody receives a report. */
  reported?: Reported | undefined;
  /** Called when everything is written but not committed. */
  beforeCommit?: (() => void | Promise<void>) | undefined;
}

/**
 * Writes the rows with their messages and moves the cursor, all in one transaction. After an error nothing is written,
 * unless the connection broke during COMMIT: read the cursor again. Also writes nothing
 * - `passed`: if another persister holds the cursor or has moved it, or Redis has another storage epoch;
 * - `outdated`: if the receivers may have changed since the report was made.
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

export async function writeRows(client: PoolClient, redis: Redis, batch: Batch): Promise<void> {
  const lateDays = await batch.lateDays.read(client);
  for (const deletion of batch.deletions) await deleteWhole(client, redis, deletion);
  if (batch.seal !== null) await addMergeJob(client, batch.seal);
  if (batch.merge !== null) await mergeWhole(client, redis, batch.merge);
  if (batch.unsealed !== null) await deleteMergeJob(client, batch.unsealed);
  await insertEvents(client, batch.events);
  await insertUsedKeys(client, batch.events);
  await insertQuarantined(client, batch.quarantined);
  await settleQuarantined(client, batch.settled);
  await countGuarded(client, batch.guarded);
  await insertAwards(client, batch.awards);
  await insertReversals(client, batch.reversals);
  await insertRecomputed(client, batch.recomputed);
  // Last: what was revoked may have been completed again. Revoked completions are stored before they are revoked.
  await insertCompletions(client, batch.completions);
  for (const change of await supersedeStreakChanges(client, batch.supersededChanges))
    if (change.frequency > 0) batch.analytics.addTo(change.tenantNo, change.userId, supersededFact(change));
  await insertStreakChanges(client, batch.streakChanges);
  await writeStreakPauses(client, batch.pauses);
  await insertStreakCalls(client, batch.streakCalls);
  await insertBalanceChanges(client, batch.balanceChanges);
  await confirmClaims(client, batch.balanceChanges);
  await insertRankRewards(client, batch.rankRewards);
  await insertTiers(client, batch.importedTiers);
  await enterLeagues(client, redis, batch.entries);
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
  // Imports are not announced, neither the imported users' places nor the users that they overtake.
  await resetPlaces(client, batch.importedZones);
  const { users, streakUsers, paidUsers, unchangedUsers } = batch.touched;
  await upsertUsers(client, users);
  await updateStreaks(client, streakUsers);
  await updatePoints(client, paidUsers);
  await updateStates(client, unchangedUsers);
  await keepNewestCompletions(client, batch.completions);
  await addDayCounts(client, batch.tally.rows(lateDays));
  await batch.analytics.store(client);
}

/** Deletes a user's rows and idempotency keys. The keys go before the commit, so that a crash leaves none. */
async function deleteWhole(client: PoolClient, redis: Redis, deletion: Deletion): Promise<void> {
  const { tenantNo, userId } = deletion;
  await beforeDeletion(client, tenantNo);
  await finishRowMoves(client, { tenantNo, userId });
  await forgetValuesOf(client, { tenantNo, holder: userHash(userId) });
  const lastSnapshots = await manySnapshots(client, tenantNo);
  if (lastSnapshots === null) await forgetPlaces(client, deletion);
  await forgetInLetters(client, redis, deletion);
  const merges = await mergesInto(client, deletion, { lock: true });
  // Some users have taken in thousands of others.
  await Promise.all(merges.map(({ oldId: from, intoId }) => forgetAlias(redis, tenantNo, { from, into: intoId })));
  const part = knownPart(redis, tenantNo, userId);
  await forgetUsedKeys(redis, part, deletion.usedKeys);
  await deleteUser(client, { ...deletion, lastSnapshots }, (keys) =>
    forgetUsedKeys(
      redis,
      part,
      keys.map((key) => usedKey(deletion, key)),
    ),
  );
}

/** Removes a user from the snapshots of leaderboards. */
async function forgetPlaces(client: PoolClient, { tenantNo, userId }: NamedUser): Promise<void> {
  const parts = await snapshotPartsWith(client, tenantNo, { hash: userHash(userId), bytes: entryHead(userId) });
  const without = parts.map((part) => ({ ...part, packed: withoutEntry(part.packed, userId) }));
  await replaceSnapshotParts(client, tenantNo, without);
}

/**
 * Moves a user's rows to the one into whom the user was merged. The used keys of the former user go from Redis before the commit; the
 * commit of the merge has added them as keys of the other. The keys of a sealed user, which are on another shard, go with the user.
 */
async function mergeWhole(client: PoolClient, redis: Redis, merge: Merge): Promise<void> {
  const { tenantNo, from, into, generation } = merge;
  await beforeDeletion(client, tenantNo);
  await finishRowMoves(client, { tenantNo, userId: from });
  const part = knownPart(redis, tenantNo, from);
  await finishRemovals(client, { tenantNo, userId: from }, (keys, of) =>
    forgetUsedKeys(
      redis,
      part,
      keys.map((key) => usedKey({ userId: from, generation: of }, key)),
    ),
  );
  await forgetValuesOf(client, { tenantNo, holder: userHash(from) });
  const lastSnapshots = await manySnapshots(client, tenantNo);
  if (lastSnapshots === null) await forgetPlaces(client, { tenantNo, userId: from });
  else await addRemoval(client, { tenantNo, userId: from, lastSnapshots }, { isLarge: false });
  const ids = new KeyedIds(await readEventIdSecret(client));
  const keys = (await keysToMove(client, merge)).map((own): MovedKey => {
    const scoped = { tenantNo, userId: into, metricNo: own.metricNo, key: own.key };
    return { ...own, id: ids.make(timeOf(own.usedBy), scoped) };
  });
  const former = (await usedKeysOf(client, tenantNo, from)).map((key) => usedKey({ userId: from, generation }, key));
  if (merge.seal === null) await forgetUsedKeys(redis, part, former);
  else await noteMoved(client, merge.seal, former);
  // First: a warehouse moves what it has before it learns that the user is gone.
  await insertMerge(client, merge, merge);
  await dropSharedKeys(client, merge, keys);
  await moveUser(client, merge, merge.streaks);
  await insertMergedKeys(client, merge, keys);
}

export interface Reports {
  reporter: Reporter;
  reporting: Reporting;
}

/** Makes messages to send now and stores the others, in the client's transaction. Skips what Postgres refuses. */
export async function storeReport(
  client: PoolClient,
  reporter: Reporter,
  { notifications, completions, messagesFor }: Report,
): Promise<void> {
  const nowMs = reporter.now();
  const onFailed = (_item: unknown, reason: string): void => reporter.leaveOut(new Error(reason));
  const store = async (some: readonly Notification[]): Promise<void> => {
    const going = await throttle(client, some, nowMs);
    await insertMessages(client, going.flatMap(messagesFor), nowMs);
  };
  await byHalves(client, notifications, { store, onFailed });
  await byHalves(client, completions, { store: (some) => noteDue(client, some), onFailed });
}

/** Processes the items in order, in the client's transaction, and skips those that fail. */
export async function byHalves<T>(
  client: PoolClient,
  items: readonly T[],
  on: { store: (items: readonly T[]) => Promise<void>; onFailed: (item: T, reason: string) => void },
): Promise<void> {
  if (items.length === 0) return;
  const reason = await attempt(client, () => on.store(items));
  if (reason === null) return;
  if (items.length === 1) return on.onFailed(items[0]!, reason);
  const half = items.length >> 1;
  await byHalves(client, items.slice(0, half), on);
  await byHalves(client, items.slice(half), on);
}

/** Does a part of a transaction. Returns why it was rolled back, or `null`. Throws errors that are not about data. */
export async function attempt(client: PoolClient, work: () => Promise<unknown>): Promise<string | null> {
  await client.query('SAVEPOINT part');
  try {
    await work();
  } catch (error) {
    if (!isAboutData(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part');
    return reasonFor(error);
  }
  await client.query('RELEASE SAVEPOINT part');
  return null;
}

/** Replaces a record so that the others keep their indexes: MessagePack's nil. */
const NOTHING = Buffer.from([0xc0]);

/**
 * Removes a deleted user from the dead letters, in the transaction of the deletion. A letter about nobody else is
 * deleted. In the others, the user's records and state become nil, and so does everything unreadable, since it may be
 * the user's. A letter that names no readable user cannot be found.
 */
async function forgetInLetters(client: PoolClient, redis: Redis, user: NamedUser): Promise<void> {
  for (const letter of await lettersAbout(client, user)) await forgetIn(client, redis, { letter, user });
}

async function forgetIn(
  client: PoolClient,
  redis: Redis,
  { letter, user: { userId } }: { letter: WholeDeadLetter; user: NamedUser },
): Promise<void> {
  const { id, shard, position, inRedis } = letter;
  const fields = await bytesAside(redis, letter);
  const entry = fields && readEntry(unpackFields(fields));
  if (entry === null || !usersOf(entry).includes(userId)) return;
  const parts = letter.parts.filter((part) => part.part !== 'rest' && userOfPart(entry, part) !== userId);
  if (parts.length === 0) {
    await deleteLetters(client, [id]);
    if (inRedis) await forgetEntry(redis, shard, position);
    return;
  }
  const rewritten = without(entry, userId);
  if (inRedis) await keepEntry(redis, shard, position, rewritten);
  await rewriteLetter(client, { id, entry: inRedis ? null : rewritten, parts, userId });
}

const userOfPart = ({ records, states }: ReadEntry, { part, at }: FailedPart): string | undefined =>
  part === 'state' ? states[at]?.userId : userOf(records[at]?.value);

function without({ tenantNo, records, states }: ReadEntry, userId: string): Buffer {
  const remaining = records.map(({ value, bytes }) => (userOf(value) === userId ? NOTHING : bytes));
  const fields: Buffer[] = [OUTBOX.tenant, String(tenantNo), OUTBOX.records].map((text) => Buffer.from(text));
  fields.push(Buffer.concat(remaining));
  for (const state of states) {
    const own = state.userId === userId;
    fields.push(Buffer.from(OUTBOX.user), Buffer.from(own ? '' : state.userId));
    fields.push(Buffer.from(OUTBOX.state), own ? Buffer.alloc(0) : state.packed);
  }
  return packFields(fields);
}

/** The user of a record; `undefined` if it names none. */
export function userOf(record: unknown): string | undefined {
  const user = (record as UncheckedRecord | null)?.[RECORD.userId];
  return typeof user === 'string' ? user : undefined;
}

export const usersOf = ({ records, states }: ReadEntry): string[] => [
  ...new Set([
    ...states.map(({ userId }) => userId),
    ...records.flatMap(({ value }) => {
      const user = userOf(value);
      return user === undefined ? [] : [user];
    }),
  ]),
];
