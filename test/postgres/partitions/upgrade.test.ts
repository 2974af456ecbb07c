import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../../src/postgres/migrate.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../../stack/stack.ts';
import { migrateToBefore } from '../earlier-version.ts';

let stack: TestStack;
let pool: Pool;

beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 3 });
});
afterEach(async () => {
  await pool.end();
  await stack.close();
});

const ID = `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || lpad(to_hex(n), 12, '0') || '0000')::uuid`;

/** Events and awards of some numbers, an hour apart up to now. */
async function store(first: number, last: number): Promise<void> {
  const happened = `(SELECT n, now() - make_interval(hours => $2::int - n) AS at FROM generate_series($1::int, $2::int) AS n) AS happened`;
  await pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
     SELECT ${ID}, 0, 'user-' || n % 7, 1, 1, n, at, at::date, 'key ' || n FROM ${happened}`,
    [first, last],
  );
  await pool.query(
    `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
     SELECT ${ID}, 0, 'user-' || n % 7, 2, 3, 1, n, at, at::date FROM ${happened}`,
    [first, last],
  );
}

const rows = async (text: string): Promise<Record<string, unknown>[]> => (await pool.query(text)).rows;
const fileOf = async (table: string): Promise<unknown> =>
  (await rows(`SELECT relfilenode FROM pg_class WHERE relname = '${table}'`))[0];
const ALL = `SELECT id, user_id, total FROM events UNION ALL SELECT id, user_id, total FROM awards ORDER BY id, total`;

test('an installation with a past keeps its tables, as the first partitions, up to some days ahead', async () => {
  await migrateToBefore(pool, '000049');
  await store(1, 2_000);
  const [before, files] = [
    await rows(ALL),
    [await fileOf('events'), await fileOf('awards'), await fileOf('events_of_user')],
  ];
  await migrate(pool);
  expect(await rows(ALL)).toEqual(before);
  expect([await fileOf('events_d0'), await fileOf('awards_d0'), await fileOf('events_d0_of_user')]).toEqual(files);
  // What comes today goes where it went; the partition after that is there.
  await store(3_000, 3_001);
  expect(await rows('SELECT DISTINCT tableoid::regclass::text AS name FROM events')).toEqual([{ name: 'events_d0' }]);
  const [first, second] = await rows(
    'SELECT end_day - floor(extract(epoch FROM now()) / 86400)::int AS days FROM event_partitions ORDER BY 1',
  );
  expect([first!.days, second!.days]).toEqual([7, 35]);
  expect(await rows(`SELECT conname FROM pg_constraint WHERE conname LIKE '%bound'`)).toEqual([]);
  await expect(store(3_000, 3_001)).resolves.toBeUndefined();
});

test('it goes on where it was broken off, and events are stored between any two steps', async () => {
  await migrateToBefore(pool, '000049');
  for (const [n, next] of ['000050', '000051', '000052', '000053'].entries()) {
    await store(10 * n + 1, 10 * n + 3);
    await migrateToBefore(pool, next);
  }
  await store(101, 103);
  await migrate(pool);
  expect(await rows('SELECT total FROM events')).toHaveLength(15);
  expect(await rows('SELECT total FROM awards')).toHaveLength(15);
});

test('events further ahead than the partitions of used keys reach are in the first partition as well', async () => {
  await migrateToBefore(pool, '000050');
  await store(1, 20);
  await pool.query(`
    UPDATE events SET id = (lpad(to_hex((extract(epoch FROM now() + INTERVAL '40 days') * 1000)::bigint), 12, '0') || right(replace(id::text, '-', ''), 20))::uuid;
    INSERT INTO used_keys SELECT id, tenant_no, user_id, metric_no, idempotency_key FROM events`);
  const names = (table: string): Promise<unknown> =>
    rows(`SELECT tableoid::regclass::text AS name, count(*) AS n FROM ${table} GROUP BY 1`);
  expect(await names('used_keys')).toEqual([{ name: 'used_keys_default', n: 20 }]);
  await migrate(pool);
  expect(await names('events')).toEqual([{ name: 'events_d0', n: 20 }]);
  expect(await names('used_keys')).toEqual([{ name: expect.stringMatching(/_d\d\d+$/), n: 20 }]);
});
