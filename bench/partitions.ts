/**
 * Many stored events in partitions: loads N events (default 20,000,000; in 10 partitions of 28 days), half as many awards and
 * used keys, and prints, with the first partition and with all: the milliseconds of what is read of one user, how long a rebuild
 * reads the keys, and the WAL of an event that is stored, 500 a transaction, by table and index: of the first 50,000 after a checkpoint,
 * of the last of 1,000,000, and on average from one checkpoint to the next.
 *
 *   npm run bench:partitions -- [events] [partitions]
 *
 * Takes some 350 bytes of disk an event, in the temporary directory.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { DAY_MS } from '../src/domain/periods.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { metricDays } from '../src/postgres/history/metric-days.ts';
import { userMetricDays } from '../src/postgres/history/user-metric-days.ts';
import { userPointsDays } from '../src/postgres/history/user-points-days.ts';
import { findUsedKeys } from '../src/postgres/idempotency/find-used-keys.ts';
import { latestAwards } from '../src/postgres/latest-awards.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { makeEventPartition, readEventPartitions } from '../src/postgres/partitions/event-partitions.ts';
import { indexUsedKeys } from '../src/postgres/partitions/index-used-keys.ts';
import { createPool } from '../src/postgres/pool.ts';
import { readIdempotencyKeys } from '../src/postgres/rebuild/used-keys.ts';
import { eventIds } from '../src/postgres/timeline/event-ids.ts';
import { printWal } from './partitions/stored-wal.ts';
import { median } from './rows.ts';

const WIDTH = 28;
/** Events of a user, when all are loaded. */
const EACH = 200;
const READERS = 40;

const [events = 20_000_000, partitions = 10] = process.argv.slice(2).map(Number);
const users = Math.max(READERS, Math.floor(events / EACH));

/** The nth of a partition's rows. Its last day has none: they come before those that are stored then, as they did. */
const MADE = `
  (SELECT n, at, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 11) || '0000')::uuid AS id,
          'user-' || (hashint8(n) & 2147483647) % ${users} AS user_id
     FROM (SELECT n, to_timestamp($3::float8 * 86400 + (n - $1) * ${(WIDTH - 1) * 86_400 - 1}.0 / ($2 - $1)) AS at
             FROM generate_series($1::bigint, $2::bigint - 1) AS n) AS timed) AS made`;
const LOAD = [
  `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, idempotency_key)
   SELECT id, 0, user_id, 1 + n % 3, 1 + n % 7, n, at, (at AT TIME ZONE 'UTC')::date, CASE WHEN n % 2 = 0 THEN md5(n::text) END FROM ${MADE}`,
  `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
   SELECT id, 0, user_id, 10, 11, 1 + n % 9, n, at, (at AT TIME ZONE 'UTC')::date FROM ${MADE} WHERE n % 2 = 1`,
  `INSERT INTO used_keys SELECT id, 0, user_id, 1 + n % 3, md5(n::text) FROM ${MADE} WHERE n % 2 = 0`,
];

/** Milliseconds of each read, of users one after another. */
async function reads(pool: Pool, lastDay: number): Promise<void> {
  const of = (n: number) => ({ tenantNo: 0, userId: `user-${n}` });
  const above = '00000000-0000-0000-0000-000000000000';
  const below = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  const all: [string, (n: number) => Promise<unknown>][] = [
    [
      'metric days, the last 30',
      (n) => metricDays(pool, { ...of(n), metricNo: 1, fromDay: lastDay - 29, toDay: lastDay }),
    ],
    ['metric days, a year', (n) => metricDays(pool, { ...of(n), metricNo: 1, fromDay: lastDay - 364, toDay: lastDay })],
    ['days of all metrics', (n) => userMetricDays(pool, { ...of(n), toDay: lastDay })],
    ['days of all points systems', (n) => userPointsDays(pool, { ...of(n), toDay: lastDay })],
    ['the last 10 awards', (n) => latestAwards(pool, { ...of(n), systemNo: 10, limit: 10 })],
    ['a page of the timeline', (n) => eventIds(pool, { ...of(n), above, below, newest: true, limit: 20 })],
    ['a used key', (n) => findUsedKeys(pool, 0, [{ ...of(n), metricNo: 1, key: 'none', idPart: '7000800000000000' }])],
  ];
  for (const [name, read] of all) {
    const took: number[] = [];
    for (let n = 0; n < READERS; n += 1) {
      const startedMs = performance.now();
      await read(Math.floor((n * users) / READERS));
      took.push(performance.now() - startedMs);
    }
    console.log(`  ${name}: ${median(took).toFixed(2)} ms`);
  }
}

async function measure(pool: Pool, loaded: number, lastDay: number): Promise<void> {
  console.log(`${loaded.toLocaleString('en')} events`);
  await reads(pool, lastDay);
  const startedMs = performance.now();
  let keys = 0;
  await readIdempotencyKeys(pool, { pageSize: 5_000, tenants: null }, async (page) => void (keys += page.length));
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(`  ${keys.toLocaleString('en')} keys read by a rebuild: ${seconds.toFixed(1)} s`);
  await printWal(pool, { users, fromMs: lastDay * DAY_MS });
}

const directory = join(tmpdir(), `laurel-bench-partitions-${randomUUID()}`);
// As an installation has it: a temporary one would write no images of pages to the WAL.
const server = await startPostgres({ directory, password: 'bench', temporary: false });
const pool = createPool(server.url, { max: 2 });
try {
  await migrate(pool);
  let [, last] = await readEventPartitions(pool);
  for (let part = 0; part < partitions; part += 1) {
    const { firstDay, endDay } = last!;
    const range = [Math.floor((events / partitions) * part), Math.floor((events / partitions) * (part + 1)), firstDay];
    for (const statement of LOAD) await pool.query(statement, range);
    for (const table of ['events', 'awards', 'used_keys']) await pool.query(`VACUUM ANALYZE ${table}_d${firstDay}`);
    if (part === 0 || part === partitions - 1) await measure(pool, range[1]!, endDay - 1);
    if (part === 0) await indexUsedKeys(pool, 0);
    await indexUsedKeys(pool, firstDay);
    await makeEventPartition(pool, { firstDay: endDay, endDay: endDay + WIDTH });
    last = (await readEventPartitions(pool)).at(-1);
  }
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `SELECT split_part(relname, '_d', 1) AS name, sum(pg_total_relation_size(oid))::float8 AS bytes
       FROM pg_class WHERE relkind = 'r' AND relispartition AND relname ~ '^(events|awards|used_keys)_d' GROUP BY 1`,
  );
  for (const { name, bytes } of rows)
    console.log(`${name}: ${(bytes / events).toFixed(0)} B an event with all indexes`);
} finally {
  await pool.end();
  await server.stop();
  await rm(directory, { recursive: true });
}
