/**
 * History reads with many events stored: loads N events (default 10,000,000) of 100,000 users over two years, and
 * half as many awards, then prints the milliseconds of every read and the plan of its statement.
 *
 *   npm run bench:history -- [events]
 *
 * Uses the database at BENCH_DATABASE_URL, which must be empty or loaded by this script, else a temporary one.
 */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { startPostgres } from '../src/local/postgres-server.ts';
import { METRIC_DAYS } from '../src/postgres/history/metric-days.ts';
import { POINTS_DAYS } from '../src/postgres/history/points-days.ts';
import { SAMPLED_METRIC_CHANGES } from '../src/postgres/history/sampled-metric-changes.ts';
import { SAMPLED_POINTS_CHANGES } from '../src/postgres/history/sampled-points-changes.ts';
import { MOST_IN_ALL, MOST_VALUES, USER_ATTRIBUTE_SUMS } from '../src/postgres/history/user-attribute-sums.ts';
import { USER_METRIC_DAYS } from '../src/postgres/history/user-metric-days.ts';
import { USER_POINTS_DAYS } from '../src/postgres/history/user-points-days.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { firstIdOf } from '../src/postgres/partitions/event-partitions.ts';
import { createPool } from '../src/postgres/pool.ts';
import { dayOf } from '../src/domain/periods.ts';
import { SAMPLE_USERS } from '../src/engine/history/distributions.ts';

const USERS = 100_000;
const DAYS = 730;
const FIRST_DAY = '2025-01-01';
const ATTRIBUTES = ['subject'];
/** 20,000 events of one user among the rest: 27 a day. */
const BUSY_EVENTS = 20_000;

const TIME = `(DATE '${FIRST_DAY}' + (n * ${DAYS}.0 / $1) * INTERVAL '1 day')`;
const ID = `(lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || left(md5(n::text), 12) || '0000')::uuid`;

const LOAD = [
  `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
   SELECT ${ID}, 0, CASE WHEN n % ($1 / ${BUSY_EVENTS}) = 0 THEN 'busy' ELSE 'user-' || (hashint8(n) & 2147483647) % ${USERS} END,
     1 + n % 3, 1 + n % 7, n, at, at::date, CASE WHEN n % 3 = 1 THEN jsonb_build_object('subject', 'value ' || n % 5) END
   FROM (SELECT n, ${TIME} AS at FROM generate_series(1, $1::bigint) AS n) AS made`,
  `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
   SELECT ${ID}, 0, CASE WHEN n % ($1 / ${BUSY_EVENTS}) = 0 THEN 'busy' ELSE 'user-' || (hashint8(n) & 2147483647) % ${USERS} END,
     10, 11, 1 + n % 9, n, at, at::date
   FROM (SELECT n, ${TIME} AS at FROM generate_series(2, $1::bigint, 2) AS n) AS made`,
];
const LOAD_USERS = `
  INSERT INTO users (tenant_no, id, created, state, attributes, points)
  SELECT 0, id, now(), '\\x80', '{}', '{}'
  FROM (SELECT 'user-' || n AS id FROM generate_series(0, ${USERS - 1}) AS n UNION ALL SELECT 'busy') AS made`;

async function load(pool: Pool, events: number): Promise<void> {
  const { rows } = await pool.query<{ definition: string; name: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
       FROM pg_index WHERE indrelid IN ('events'::regclass, 'awards'::regclass) AND NOT indisprimary`,
  );
  for (const { name } of rows) await pool.query(`DROP INDEX ${name}`);
  for (const statement of LOAD) await pool.query(statement, [events]);
  await pool.query(LOAD_USERS);
  for (const { definition } of rows) await pool.query(definition);
  await pool.query('VACUUM ANALYZE');
}

interface Read {
  name: string;
  statement: string;
  parameters: (user: string) => unknown[];
  /** Of the tenant: the same for every user. */
  whole?: true;
}

const day = dayOf;
const YEAR = [day('2026-01-01'), day('2026-12-31')];
const WEEK = [day('2026-06-07'), day('2026-06-13')];
const WINDOWS = [...YEAR, ...YEAR, ...WEEK, ...WEEK, ...YEAR, ...YEAR, ...WEEK, ...WEEK];
const from = WINDOWS.filter((_, index) => index % 2 === 0);
const to = WINDOWS.filter((_, index) => index % 2 === 1);

const READS: Read[] = [
  {
    name: 'metric event-summary, 400 days',
    statement: METRIC_DAYS,
    parameters: (user) => [0, user, 1, day('2025-11-01'), day('2026-12-05'), firstIdOf(day('2025-10-31'))],
  },
  {
    name: 'metric event-summary, a month two years ago',
    statement: METRIC_DAYS,
    parameters: (user) => [0, user, 1, day('2025-01-01'), day('2025-01-31'), firstIdOf(day('2024-12-31'))],
  },
  {
    name: 'points event-summary, 400 days',
    statement: POINTS_DAYS,
    parameters: (user) => [0, user, 10, day('2025-11-01'), day('2026-12-05'), firstIdOf(day('2025-10-31'))],
  },
  { name: 'wrapped: days of the metrics', statement: USER_METRIC_DAYS, parameters: (user) => [0, user, YEAR[1]] },
  { name: 'wrapped: days of the points', statement: USER_POINTS_DAYS, parameters: (user) => [0, user, YEAR[1]] },
  {
    name: 'wrapped: by attribute',
    statement: USER_ATTRIBUTE_SUMS,
    parameters: (user) => [0, user, from, to, [1, 3, 5, 7], ATTRIBUTES, MOST_VALUES, MOST_IN_ALL],
  },
  {
    name: 'percentiles of a year, metrics',
    statement: SAMPLED_METRIC_CHANGES,
    parameters: () => [0, SAMPLE_USERS, ...YEAR, firstIdOf(YEAR[0]! - 1)],
    whole: true,
  },
  {
    name: 'percentiles of a week, metrics',
    statement: SAMPLED_METRIC_CHANGES,
    parameters: () => [0, SAMPLE_USERS, ...WEEK, firstIdOf(WEEK[0]! - 1)],
    whole: true,
  },
  {
    name: 'percentiles of a year, points',
    statement: SAMPLED_POINTS_CHANGES,
    parameters: () => [0, SAMPLE_USERS, ...YEAR, firstIdOf(YEAR[0]! - 1)],
    whole: true,
  },
];

const ROUNDS = 21;

async function measure(pool: Pool, read: Read): Promise<void> {
  for (const kind of read.whole ? ['tenant'] : ['users', 'busy']) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const user = kind === 'busy' ? 'busy' : `user-${(round * 7919) % USERS}`;
      const start = performance.now();
      await pool.query(read.statement, read.parameters(user));
      times.push(performance.now() - start);
    }
    const first = times[0] ?? 0;
    const sorted = times.toSorted((a, b) => a - b);
    const shown = [first, sorted[ROUNDS >> 1] ?? 0, sorted.at(-1) ?? 0].map((ms) => ms.toFixed(1));
    console.log(`${read.name} (${kind}): first ${shown[0]} ms, median ${shown[1]} ms, slowest ${shown[2]} ms`);
  }
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) ${read.statement}`,
    read.parameters('busy'),
  );
  console.log(rows.map((row) => `    ${row['QUERY PLAN']}`).join('\n'));
}

async function main(): Promise<void> {
  const events = Number(process.argv[2] ?? 10_000_000);
  const given = process.env['BENCH_DATABASE_URL'];
  const directory = join(tmpdir(), `laurel-bench-postgres-${randomUUID()}`);
  const server = given === undefined ? await startPostgres({ directory, password: 'bench', temporary: true }) : null;
  const pool = createPool(given ?? server?.url ?? '', { max: 1 });
  try {
    await migrate(pool);
    const { rows } = await pool.query<{ loaded: boolean }>('SELECT EXISTS (SELECT FROM events) AS loaded');
    if (rows[0]?.loaded !== true) {
      console.log(`loading ${events} events`);
      const start = performance.now();
      await load(pool, events);
      console.log(`loaded in ${((performance.now() - start) / 1000).toFixed(0)} s`);
    }
    for (const read of READS) await measure(pool, read);
  } finally {
    await pool.end();
    await server?.stop();
  }
}

await main();
