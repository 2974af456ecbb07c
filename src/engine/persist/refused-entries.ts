/** Entries that Postgres refuses: stored in parts, and the rest set aside as dead letters. */
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

/** What is said of an entry that was set aside. */
export interface SetAside {
  /** ID of the dead letter. */
  id: string;
  shard: number;
  position: string;
  reason: string;
  /** How many of its parts are not stored. */
  parts: number;
}

/** Says it in the log: once for each, and without anything that a user sent. */
export const sayWhatIsSetAside = (log: Pick<Log, 'error'>, { id, ...entry }: SetAside): void =>
  log.error(
    { deadLetter: id, ...entry },
    'An entry of the outbox could not be stored whole. It is kept, and what follows is stored: `laurel dead-letters` shows it',
  );

interface Entry {
  redis: Redis;
  shard: number;
  /** The position that it was read after. */
  after: string;
  storageEpoch: string | undefined;
  raw: RawEntry;
  /** Whoever reports what is stored. */
  reporter?: Reporter | undefined;
  /** Called when Redis keeps the entry, and when all is written and nothing is committed. */
  onStep?: ((step: 'kept' | 'written') => void | Promise<void>) | undefined;
}

/**
 * Passes an entry that could not be stored as one. In one transaction: each of its parts (a record with all its rows, a
 * user's state) that can be stored is; the entry, whole, becomes a dead letter that names the others; the cursor moves.
 * Should nothing fail this time, it is an entry like any other. False, and nothing is done, as with `writeBatch`.
 *
 * What that means for a user whose part failed. A record: its rows are missing from history until a retry; state, totals
 * and ranks have counted it. A state: the row in `users` stays as it was, and the next entry's state, which is
 * absolute, mends it whole (`users.owed_position`). Whatever has no readable tenant can only be kept.
 *
 * The entry's bytes that Postgres refuses stay in Redis, written there before the commit: after a crash in between the
 * entry is still in the outbox, and all of this is done again.
 */
export async function storeDamaged(
  pool: Pool,
  { redis, shard, after, storageEpoch, raw, reporter, onStep }: Entry,
): Promise<SetAside | 'stored' | false> {
  const entry = readEntry(raw[1]);
  const reports = reporter && { reporter, reporting: await reporter.prepare(reportable(entry)) };
  return transaction(pool, async (client) => {
    const cursor = await lockCursor(client, shard);
    if (cursor?.position !== after || (storageEpoch !== undefined && cursor.storageEpoch !== storageEpoch))
      return false;
    const position = raw[0].toString('latin1');
    const failed = await storeParts(client, redis, allOf(entry), reports);
    if (entry.hasRest) failed.push({ part: 'rest', at: entry.records.length, reason: 'it cannot be read to its end' });
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
  // A user's ID may be one that no index holds: then there is no row to be noted.
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

/** What Postgres takes whatever the entry is: numbers and words of our own. */
function onlyAbout(letter: Omit<NewDeadLetter, 'entry'>): NewDeadLetter {
  const parts = letter.parts.map(({ part, at, reason }) => ({ part, at, reason }));
  return { ...letter, userIds: [], parts, entry: null };
}

/** How far the shard's batches are processed, as the last of its records says; null: they do not say. */
function progressOf({ records }: ReadEntry): string | null {
  for (const { value } of records.toReversed()) {
    const record = (value ?? {}) as UncheckedRecord;
    const progress = record[RECORD.progress];
    if (record[kindField] === KIND.progress && isProgress(progress)) return progress;
  }
  return null;
}

/** Something at its place in the entry. */
interface Placed<T> {
  at: number;
  item: T;
}

/** What of an entry is to be stored. */
export interface WantedParts {
  tenantNo: number | null;
  records: Placed<ReadRecord>[];
  states: Placed<ReadEntry['states'][number]>[];
  /** The users as the entry left them, whether that is to be stored or not: for what is reported. */
  after: ReadEntry['states'];
}

/** All that could be read of an entry. */
const allOf = ({ tenantNo, records, states }: ReadEntry): WantedParts => ({
  tenantNo,
  records: records.map((item, at) => ({ at, item })),
  states: states.map((item, at) => ({ at, item })),
  after: states,
});

/** An entry, which may be damaged, for a reporter to prepare for. */
export function reportable({ tenantNo, records }: ReadEntry): HappenedEntry[] {
  if (tenantNo === null) return [];
  return [{ tenantNo, records: records.map(({ value }) => value as HappenedRecord), states: [] }];
}

/**
 * Stores, in the client's transaction, each part that can be: a record's rows (an event's awards, completions and so on
 * with it) all or none, in their order; then the users' states. Those that cannot be are answered, with the reason. They
 * are found by halves: a few savepoints for each of them, not one for each part. Throws what is not about data. `reports`: by
 * which the records that are stored are reported.
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
