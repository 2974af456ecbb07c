import { beforeAll, expect, test } from 'vitest';
import {
  attributeSumsQuery,
  METRIC_DAYS,
  POINTS_DAYS,
  SAMPLED_METRIC_CHANGES,
  SAMPLED_POINTS_CHANGES,
  USER_METRIC_DAYS,
  USER_POINTS_DAYS,
  userMetricDays,
} from '../../../src/postgres/history/days.ts';
import { addEvents, firstIdOf } from '../../../src/postgres/partitions.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

/** Of a time in each of the partitions: the past, now, and in no partition. */
const ID = `(lpad(to_hex((extract(epoch FROM now())::bigint + (n % 3 - 1) * 2e8::bigint) * 1000 + n), 12, '0') || '7000' || left(md5(n::text), 12) || '0000')::uuid`;
/** The partition's index that is part of one of the whole table. */
const EVENTS_OF_USER = /Index Only Scan using events_(d0_of_user|\w+_user_id_metric_no_\w+) /g;
const AWARDS_OF_USER = /Index Only Scan using awards_(d0_of_user|\w+_pkey) /g;

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  await database.pool.query(`
    INSERT INTO users (tenant_no, id, created, state, attributes, points)
      SELECT 0, 'user ' || n, now(), '\\x80', '{}', '{}' FROM generate_series(1, 2000) AS n;
    INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
      SELECT ${ID}, 0, 'user ' || n % 2000, n % 3, n, n, now(), DATE '2026-01-01' + n % 365
      FROM generate_series(1, 40000) AS n;
    INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
      SELECT ${ID}, 0, 'user ' || n % 2000, 5, 6, n, n, now(), DATE '2026-01-01' + n % 365
      FROM generate_series(1, 40000) AS n`);
  for (const table of ['users', 'events', 'awards']) await database.pool.query(`VACUUM ANALYZE ${table}`);
});

const USER = 'user 77';
const FIRST_ID = firstIdOf(0);

// The cost of reads depends on the user's own rows, none of which is fetched from the table.
test.each([
  ['metric days', METRIC_DAYS, [0, USER, 1, 20_454, 20_800, FIRST_ID], EVENTS_OF_USER, 3],
  ['points days', POINTS_DAYS, [0, USER, 5, 20_454, 20_800, FIRST_ID], AWARDS_OF_USER, 3],
  ['days of all metrics', USER_METRIC_DAYS, [0, USER, 20_800], EVENTS_OF_USER, 3],
  ['days of all points systems', USER_POINTS_DAYS, [0, USER, 20_800], AWARDS_OF_USER, 3],
  ['changes of a sample, metrics', SAMPLED_METRIC_CHANGES, [0, 10, 20_454, 20_800, FIRST_ID], EVENTS_OF_USER, 3],
  ['changes of a sample, points', SAMPLED_POINTS_CHANGES, [0, 10, 20_454, 20_800, FIRST_ID], AWARDS_OF_USER, 3],
  [
    'the sample',
    SAMPLED_METRIC_CHANGES,
    [0, 10, 20_454, 20_800, FIRST_ID],
    /Index Only Scan using users_shuffled /g,
    1,
  ],
])('reads %s from an index alone', async (_, statement, parameters, index, scans) => {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) ${statement}`, parameters);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan.match(index)).toHaveLength(scans);
  expect(plan).not.toMatch(
    /(Seq|Bitmap Heap) Scan on (events|awards|users)(_d\d+|_default| |$)|Index Scan using (events|awards)_(d\d+|default)_/,
  );
});

test('the history of a summed user reads one row per metric and day, for events with any attributes', async () => {
  const { pool } = database;
  await pool.query(`INSERT INTO summed_users VALUES (0, 'picky')`);
  await pool.query(
    addEvents(`(
      SELECT 0 AS tenant_no, 'picky' AS user_id, 1 AS metric_no, DATE '2026-01-01' + n % 5 AS local_date,
             jsonb_build_object('note', n) AS attributes, 2::numeric AS value
        FROM generate_series(1, 30000) AS n) AS added`),
  );
  await pool.query('VACUUM ANALYZE event_days');
  /** Rows that a read takes from the daily sums. */
  const rowsRead = async (statement: string, parameters: unknown[]): Promise<number> => {
    const text = `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement}`;
    const { rows } = await pool.query<{ 'QUERY PLAN': object }>(text, parameters);
    const nodes = JSON.stringify(rows[0]!['QUERY PLAN']).match(/\{[^{}]*"Relation Name":"event_days"[^{}]*\}/g)!;
    return nodes
      .map((node) => JSON.parse(node) as Record<string, number>)
      .reduce((sum, node) => sum + node['Actual Rows']! + (node['Rows Removed by Filter'] ?? 0), 0);
  };
  expect(await rowsRead(USER_METRIC_DAYS, [0, 'picky', 30_000])).toBe(5);
  expect(await rowsRead(METRIC_DAYS, [0, 'picky', 1, 20_454, 30_000, FIRST_ID])).toBe(5);
  const days = await userMetricDays(pool, { tenantNo: 0, userId: 'picky', toDay: 30_000 });
  expect(days.map(({ events, change }) => [events, change])).toEqual(Array(5).fill([6_000, '12000']));
  const windows = [[-(2 ** 30)], [2 ** 30], ['note'], 100, 1_000];
  expect(await rowsRead(attributeSumsQuery(1, [0]), [0, 'picky', ...windows])).toBeLessThan(10_100);
  const { rows } = await pool.query<{ changes: string; shown: number }>(attributeSumsQuery(9, [1, 3, 5, 7]), [
    0,
    'picky',
    Array(9).fill(-(2 ** 30)),
    Array(9).fill(2 ** 30),
    ['note'],
    100,
    1_000,
  ]);
  // One for each value, however many windows show it.
  expect(rows).toHaveLength(100);
  expect(rows[0]).toMatchObject({ changes: Array(9).fill('2').join(' '), shown: 2 + 8 + 32 + 128 });
});
