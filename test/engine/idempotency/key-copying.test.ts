import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { KeyCopying } from '../../../src/engine/idempotency/key-copying.ts';
import { EventPartitionsAhead } from '../../../src/engine/partitions/event-partitions-ahead.ts';
import { findUsedKeys } from '../../../src/postgres/idempotency/find-used-keys.ts';
import { copyKeys } from '../../../src/postgres/idempotency/key-copies.ts';
import { migrate } from '../../../src/postgres/migrate.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { readIdempotencyKeys } from '../../../src/postgres/rebuild/read-idempotency-keys.ts';
import { usedKeysAt } from '../../../src/postgres/rebuild/used-keys-at.ts';
import { migrateToBefore } from '../../postgres/earlier-version.ts';
import { testStack, type TestStack } from '../../stack/stack.ts';

const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;
/** More than two slices. */
const EVENTS = 12_000;

let stack: TestStack;
let pool: Pool;

/** Events of the last minutes, every second with a key, as an earlier version stored them. */
const storeEvents = (first: number, last: number): Promise<unknown> =>
  pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
     SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 100000 + n), 12, '0') || '7000' || lpad(to_hex(n), 12, '0') || '0000')::uuid,
            0, 'user-' || n % 7, 1, 1, 1, now(), now()::date, CASE WHEN n % 2 = 0 THEN 'key ' || n END
       FROM generate_series($1::bigint, $2::bigint) AS n`,
    [first, last],
  );

beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 3 });
  await migrateToBefore(pool, '000049');
  await storeEvents(1, EVENTS);
  await migrate(pool);
});
afterEach(async () => {
  await pool.end();
  await stack.close();
});

async function readKeys(): Promise<Set<string>> {
  const read = new Set<string>();
  await readIdempotencyKeys(pool, { pageSize: 1_000, tenants: null }, async (keys) => {
    for (const { userId, key, eventId } of keys) read.add(`${userId} ${key} ${eventId}`);
  });
  return read;
}

/** The event of one key, asked as a frontend asks. */
async function find(n: number): Promise<string | null> {
  const idParts = [`7000${n.toString(16).padStart(12, '0')}`];
  return (await findUsedKeys(pool, 0, [{ userId: `user-${n % 7}`, metricNo: 1, key: `key ${n}`, idParts }]))[0]!;
}

const count = async (table: string): Promise<number> =>
  (await pool.query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)).rows[0]!.n;
const letTheDayPass = (): Promise<unknown> =>
  pool.query("UPDATE key_copies SET not_before = now() - INTERVAL '1 second'");

async function copyAll(): Promise<void> {
  const copying = new KeyCopying({ pool });
  while ((await copying.due(1)) !== null) await copying.perform(1, NEVER);
}

test('every key is read before, while and after they are copied, and an event of the previous version as well', async () => {
  const all = await readKeys();
  expect(all.size).toBe(EVENTS / 2);
  await copyKeys(pool);
  expect(await count('used_keys')).toBeGreaterThan(0);
  expect(await count('used_keys')).toBeLessThan(EVENTS / 2);
  expect(await readKeys()).toEqual(all);

  await copyAll();
  expect(await count('used_keys')).toBe(EVENTS / 2);
  // A worker of the previous version stores this one: it is copied a day later, and found at all times.
  await storeEvents(EVENTS + 1, EVENTS + 2);
  expect((await readKeys()).size).toBe(EVENTS / 2 + 1);
  expect(await find(EVENTS + 2)).not.toBeNull();
  await letTheDayPass();
  await copyAll();
  expect(await count('used_keys')).toBe(EVENTS / 2 + 1);
  expect((await readKeys()).size).toBe(EVENTS / 2 + 1);
});

test('a key is found whether the index of used keys is made or not', async () => {
  const event = await find(10);
  expect(event).toMatch(/^[0-9a-f]{32}$/);
  expect(await find(11)).toBeNull();
  await letTheDayPass();
  await copyAll();
  const partitions = new EventPartitionsAhead({ pool });
  const laterMs = Date.now() + 60 * DAY_MS;
  while ((await partitions.due(laterMs)) !== null) await partitions.perform(0, NEVER, 0, laterMs);
  const { rows } = await pool.query('SELECT FROM event_partitions WHERE keys_indexed');
  expect(rows.length).toBeGreaterThan(0);
  // What stays of a key when its event is gone.
  await pool.query('DELETE FROM events');
  expect(await find(10)).toBe(event);
  expect(await find(11)).toBeNull();
  expect(await usedKeysAt(pool, [parseInt(event!.slice(0, 12), 16)])).toHaveLength(1);
});

test('once the keys are copied, a rebuild does not read events for them', async () => {
  await letTheDayPass();
  await copyAll();
  const scans = async (): Promise<number> => {
    await pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ scans: number }>(
      `SELECT sum(seq_scan + coalesce(idx_scan, 0))::float8 AS scans FROM pg_stat_user_tables WHERE relname LIKE 'events%'`,
    );
    return rows[0]!.scans;
  };
  await pool.end();
  pool = createPool(stack.databaseUrl, { max: 1 });
  const before = await scans();
  expect((await readKeys()).size).toBe(EVENTS / 2);
  expect(await scans()).toBe(before);
});
