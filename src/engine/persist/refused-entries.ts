/** Handles entries that Postgres refuses: stores the valid parts, and sets the rest aside as dead letters. */
import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { FailedPart } from '../../domain/administration/dead-letters.ts';
import type { Log } from '../../telemetry/log.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import type { HappenedRecord, UncheckedRecord } from '../../packed/record.ts';
import { insertLetter, type NewDeadLetter, noteOwed } from '../../postgres/corrections/dead-letters.ts';
import { upsertUsers } from '../../postgres/persist/users.ts';
import { lockCursor, moveCursor } from '../../postgres/shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import { isProgress } from '../../redis/batches.ts';
import {
  keepEntry,
  packFields,
  type RawEntry,
  readEntry,
  type ReadEntry,
  type ReadRecord,
} from '../../redis/outbox.ts';
import type { HappenedEntry } from '../notifications/entry-notifications.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { attempt, byHalves, type Reports, storeReport, userOf, usersOf, writeRows } from './batch-transaction.ts';
import { recordsBatch } from './batch.ts';

export interface SetAside {
  id: string;
  shard: number;
  position: string;
  reason: string;
  /** Number of parts that are not stored. */
  parts: number;
}

/** Logs each entry once, without any user data. */
export const logSetAside = (log: Pick<Log, 'error'>, { id, ...entry }: SetAside): void =>
  log.error(
    { deadLetter: id, ...entry },
    'An outbox entry could not be stored completely. It is kept, and later entries are stored: `laurel dead-letters` shows it',
  );

interface Entry {
  redis: Redis;
  shard: number;
  /** The position after which it was read. */
  after: string;
  storageEpoch: string | undefined;
  raw: RawEntry;
  reporter?: Reporter | undefined;
  /** Called when Redis keeps the entry, and when everything is written but not committed. */
  onStep?: ((step: 'kept' | 'written') => void | Promise<void>) | undefined;
}

/**
 * Handles an entry that could not be stored as a whole. In one transaction, stores each part (a record with all its
 * rows, or a user's state) that can be stored; keeps the whole entry as a dead letter that names the other parts; and
 * moves the cursor. If nothing fails this time, the entry is treated like any other. Returns false, with nothing done,
 * in the cases of `writeBatch`.
 *
 * For the user of a failed part: if it is a record, history lacks its rows until a retry, but state, totals and ranks
 * have counted it. If it is a state, the row in `users` stays unchanged until the next entry's state replaces it
 * completely (`users.owed_position`). A part without a readable tenant can only be kept.
 *
 * If Postgres refuses the entry's bytes, they stay in Redis, written there before the commit. After a crash in between,
 * the entry is still in the outbox and all of this is repeated.
 */
export async function storeDamaged(
  pool: Pool,
  { redis, shard, after, storageEpoch, raw, reporter, onStep }: Entry,
): Promise<SetAside | 'stored' | false> {
  const entry = readEntry(raw[1]);
  const reports = reporter && { reporter, reporting: await reporter.prepare(shard, reportable(entry)) };
  return transaction(pool, async (client) => {
    const cursor = await lockCursor(client, shard);
    if (cursor?.position !== after || (storageEpoch !== undefined && cursor.storageEpoch !== storageEpoch))
      return false;
    const position = raw[0].toString('latin1');
    const failed = await storeParts(client, redis, allOf(entry), reports);
    if (entry.hasRest) failed.push({ part: 'rest', at: entry.records.length, reason: 'its end cannot be read' });
    const aside =
      failed.length === 0 ? 'stored' : await bury(client, { redis, shard, position, raw, entry, failed, onStep });
    await moveCursor(client, shard, { position, batchProgress: progressOf(entry) });
    await onStep?.('written');
    return aside;
  });
}

async function bury(
  client: PoolClient,
  {
    redis,
    shard,
    position,
    raw,
    entry,
    failed,
    onStep,
  }: Pick<Entry, 'redis' | 'shard' | 'raw' | 'onStep'> & { position: string; entry: ReadEntry; failed: FailedPart[] },
): Promise<SetAside> {
  const { tenantNo } = entry;
  const owed = failed.flatMap(({ part, user }) => (part === 'state' && user !== undefined ? [user] : []));
  // A user's ID may be one that no index can hold; then there is no row to mark.
  if (tenantNo !== null) await attempt(client, () => noteOwed(client, { tenantNo, userIds: owed, position }));
  const { reason } = failed[0]!;
  const letter = { shard, position, tenantNo, userIds: usersOf(entry), parts: failed, reason };
  const fields = packFields(raw[1]);
  let id = '';
  const refused = await attempt(
    client,
    async () => void (id = await insertLetter(client, { ...letter, entry: fields })),
  );
  if (refused !== null) {
    await keepEntry(redis, shard, position, fields);
    await onStep?.('kept');
    id = await insertLetter(client, onlyAbout(letter));
  }
  return { id, shard, position, reason, parts: failed.length };
}

/** A letter that Postgres accepts for any entry: only our own numbers and words. */
function onlyAbout(letter: Omit<NewDeadLetter, 'entry'>): NewDeadLetter {
  const parts = letter.parts.map(({ part, at, reason }) => ({ part, at, reason }));
  return { ...letter, userIds: [], parts, entry: null };
}

/** How far the shard's batches are processed, according to the last record that says so; `null` if none does. */
function progressOf({ records }: ReadEntry): string | null {
  for (const { value } of records.toReversed()) {
    const record = (value ?? {}) as UncheckedRecord;
    const progress = record[RECORD.progress];
    if (record[kindField] === KIND.progress && isProgress(progress)) return progress;
  }
  return null;
}

interface Placed<T> {
  at: number;
  item: T;
}

export interface WantedParts {
  tenantNo: number | null;
  records: Placed<ReadRecord>[];
  states: Placed<ReadEntry['states'][number]>[];
  /** The users' states after the entry, for reports, whether they are to be stored or not. */
  after: ReadEntry['states'];
}

const allOf = ({ tenantNo, records, states }: ReadEntry): WantedParts => ({
  tenantNo,
  records: records.map((item, at) => ({ at, item })),
  states: states.map((item, at) => ({ at, item })),
  after: states,
});

/** A possibly damaged entry, in the form that a reporter prepares for. */
export function reportable({ tenantNo, records }: ReadEntry): HappenedEntry[] {
  if (tenantNo === null) return [];
  return [{ tenantNo, records: records.map(({ value }) => value as HappenedRecord), states: [] }];
}

/**
 * Stores, in the client's transaction, each part that can be stored: the records in order, each with all its rows or
 * none, then the users' states. Returns the failed parts with their reasons. Bisection finds them, which takes a few
 * savepoints for each failed part instead of one for each part. Throws errors that are not about data. `reports`: the
 * context to report the stored records.
 */
export async function storeParts(
  client: PoolClient,
  redis: Redis,
  { tenantNo, records, states, after }: WantedParts,
  reports?: Reports,
): Promise<FailedPart[]> {
  const failed: FailedPart[] = [];
  const named = (user: string | undefined): object => (user === undefined ? {} : { user });
  if (tenantNo === null) {
    const reason = 'it has no tenant number';
    for (const { at, item } of records) failed.push({ part: 'record', at, ...named(userOf(item.value)), reason });
    for (const { at, item } of states) failed.push({ part: 'state', at, user: item.userId, reason });
    return failed;
  }
  await byHalves(client, records, {
    store: async (some) => {
      const values = some.map(({ item }) => item.value);
      const batch = recordsBatch(tenantNo, values, after);
      await writeRows(client, redis, batch);
      if (reports === undefined) return;
      await storeReport(client, reports.reporter, reports.reporting.reportOf(batch.entries));
    },
    onFailed: ({ at, item }, reason) => failed.push({ part: 'record', at, ...named(userOf(item.value)), reason }),
  });
  await byHalves(client, states, {
    store: (some) =>
      upsertUsers(
        client,
        some.map(({ item }) => ({ tenantNo, id: item.userId, packed: item.packed })),
      ),
    onFailed: ({ at, item }, reason) => failed.push({ part: 'state', at, user: item.userId, reason }),
  });
  return failed;
}
