import type { Redis } from 'ioredis';
import type { PoolClient } from 'pg';
import type { FailedPart } from '../../domain/dead-letters.ts';
import type { HappenedRecord } from '../../packed/record.ts';
import { upsertUsers } from '../../postgres/persist/users.ts';
import type { ReadEntry, ReadRecord } from '../../redis/outbox-entry.ts';
import type { HappenedEntry } from '../notifications/from-entry.ts';
import { recordsBatch } from './batch.ts';
import { byHalves } from './by-halves.ts';
import { storeReport, type Reports } from './store-report.ts';
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
  /** The users as the entry left them, whether that is to be stored or not: for what is reported. */
  after: ReadEntry['states'];
}

/** All that could be read of an entry. */
export const allOf = ({ tenantNo, records, states }: ReadEntry): WantedParts => ({
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
