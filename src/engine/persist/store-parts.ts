import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import { upsertUsers } from '../../postgres/persist/upsert-users.ts';
import type { ReadEntry, ReadRecord } from '../../redis/outbox-entry.ts';
import { isAboutData, reasonFor } from './about-data.ts';
import { recordsBatch } from './batch.ts';
import { writeRows } from './write-batch.ts';
import { userOf } from './users-of.ts';

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
}

/** All that could be read of an entry. */
export const allOf = ({ tenantNo, records, states }: ReadEntry): WantedParts => ({
  tenantNo,
  records: records.map((item, at) => ({ at, item })),
  states: states.map((item, at) => ({ at, item })),
});

/**
 * Stores, in the client's transaction, each part that can be: a record's rows (an event's awards, completions and so on
 * with it) all or none, in their order; then the users' states. Those that cannot be are answered, with the reason. They
 * are found by halves: a few savepoints for each of them, not one for each part. Throws what is not about data.
 */
export async function storeParts(
  client: PoolClient,
  redis: Redis,
  { tenantNo, records, states }: WantedParts,
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
    store: (some) => {
      const values = some.map(({ item }) => item.value);
      return writeRows(client, redis, recordsBatch(tenantNo, values));
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

/** Stores all items but those that cannot be, in their order. */
async function byHalves<T>(
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

/** Does some of a transaction's work; null, or why it could not be done and nothing of it was. Throws what is not about data. */
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
