import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { DAY_MS } from '../../src/domain/periods.ts';
import { eventId } from '../../src/engine/ids/event-id.ts';
import { insertAwards } from '../../src/postgres/persist/insert-awards.ts';
import { insertEvents } from '../../src/postgres/persist/insert-events.ts';
import { insertUsedKeys } from '../../src/postgres/persist/insert-used-keys.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { walByRelation } from './wal-by-relation.ts';

/** Events after a checkpoint: the first, which touch most pages for the first time, and so many that hardly any is left that was not. */
const FIRST = 50_000;
const INTERVAL = 1_000_000;
const BATCH = 500;

/**
 * Stores events of random users as the persister does, from a checkpoint on. Prints the bytes of WAL an event: of the first ones and of the
 * last ones, by table and index, and on average from one checkpoint to the next. The latter come `max_wal_size` ÷ (1 +
 * `checkpoint_completion_target`) apart; once most pages have their image, each event more writes as much as the last ones did.
 */
export async function printWal(pool: Pool, { users, fromMs }: { users: number; fromMs: number }): Promise<void> {
  await pool.query('CHECKPOINT');
  const start = await position(pool);
  let last = start;
  for (let n = 0; n < INTERVAL; n += BATCH) {
    if (n === FIRST) await printRange(pool, 'the first', { from: start, to: await position(pool), events: FIRST });
    if (n === INTERVAL - FIRST) last = await position(pool);
    await storeBatch(pool, users, fromMs + n);
  }
  const end = await position(pool);
  const perEvent = await printRange(pool, 'the last', { from: last, to: end, events: FIRST });
  const written = await bytesBetween(pool, start, end);
  console.log(`  WAL of an event of ${INTERVAL.toLocaleString('en')}: ${(written / INTERVAL).toFixed(0)} B`);
  const distance = await checkpointDistance(pool);
  if (written > distance) console.log('  (another checkpoint came meanwhile)');
  else {
    const average = (distance * perEvent) / (distance - written + perEvent * INTERVAL);
    console.log(
      `  from one checkpoint to the next, ${(distance / 1e9).toFixed(2)} GB: ${average.toFixed(0)} B an event`,
    );
  }
}

/** Of so many events; answers the bytes of each. */
async function printRange(
  pool: Pool,
  which: string,
  { from, to, events }: { from: string; to: string; events: number },
): Promise<number> {
  const perEvent = (await bytesBetween(pool, from, to)) / events;
  console.log(`  WAL of an event of ${which} ${events.toLocaleString('en')}: ${perEvent.toFixed(0)} B`);
  for (const { name, records, images, pages } of await walByRelation(pool, from, to)) {
    const share = (value: number, digits: number): string => (value / events).toFixed(digits);
    if (records + images >= events)
      console.log(`    ${name}: records ${share(records, 0)} B, ${share(pages, 2)} images ${share(images, 0)} B`);
  }
  return perEvent;
}

/** Events of random users in one transaction, half of them with an award, all with a key. */
async function storeBatch(pool: Pool, users: number, fromMs: number): Promise<void> {
  const made = Array.from({ length: BATCH }, (_, at) => ({
    id: eventId(fromMs + at),
    tenantNo: 0,
    userId: `user-${Math.floor(Math.random() * users)}`,
    atMs: fromMs + at,
    localDay: Math.floor(fromMs / DAY_MS),
    catalogVersion: 1,
  }));
  const events = made.map((each) => ({
    ...each,
    metricNo: 1,
    value: { whole: 1, micros: 0 },
    total: { whole: 7, micros: 0 },
    occurredMs: null,
    attributes: null,
    idempotencyKey: randomUUID(),
    streak: null,
  }));
  const awards = made
    .filter((_, at) => at % 2 === 0)
    .map((each) => ({ ...each, systemNo: 10, triggerNo: 11, awarded: 1, total: 7, boostNos: [] }));
  await transaction(pool, async (client) => {
    await insertEvents(client, events);
    await insertUsedKeys(client, events);
    await insertAwards(client, awards);
  });
}

/** Where the WAL is written on from; all before is on disk. */
async function position(pool: Pool): Promise<string> {
  return (await pool.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn() AS lsn')).rows[0]!.lsn;
}

async function bytesBetween(pool: Pool, from: string, to: string): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>('SELECT pg_wal_lsn_diff($1, $2)::float8 AS bytes', [to, from]);
  return rows[0]!.bytes;
}

/** Bytes of WAL after which the next checkpoint begins, if it is not for the time. */
async function checkpointDistance(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>(
    `SELECT pg_size_bytes(current_setting('max_wal_size')) / (1 + current_setting('checkpoint_completion_target')::float8) AS bytes`,
  );
  return rows[0]!.bytes;
}
