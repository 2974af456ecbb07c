import type { Redis } from 'ioredis';
import type { Pool, PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import { insertLetter, type NewDeadLetter, noteOwed } from '../../postgres/corrections/dead-letters.ts';
import { lockCursor, moveCursor } from '../../postgres/shards.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { Log } from '../../log/log.ts';
import { isProgress } from '../../redis/batches.ts';
import { keepEntry } from '../../redis/kept-entries.ts';
import type { RawEntry } from '../../redis/outbox.ts';
import { packFields, readEntry, type ReadEntry } from '../../redis/outbox-entry.ts';
import type { Reporter } from '../notifications/reporter.ts';
import { attempt } from './by-halves.ts';
import { allOf, reportable, storeParts } from './store-parts.ts';
import { usersOf } from './users-of.ts';
import { KIND, kindField, RECORD } from '../../packed/record-fields.ts';
import { type UncheckedRecord } from '../../packed/record.ts';

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
