import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ActivityBackfill } from '../../../src/engine/activity/activity-backfill.ts';
import { migrate } from '../../../src/postgres/migrate.ts';
import { readCounted } from '../../../src/postgres/activity/read-days.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { migrateToBefore } from '../../postgres/earlier-version.ts';
import { testStack, type TestStack } from '../../stack/stack.ts';
import { countedDays, storedDays } from './stored-days.ts';

const DAY_S = 86_400;

let stack: TestStack;
let pool: Pool;

beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 1 });
});

afterEach(async () => {
  await pool.end();
  await stack.close();
});

/** The history of 100 days up to now, of two tenants, with IDs that begin with the time as those of events do. */
async function storeHistory(): Promise<void> {
  await pool.query(`
    CREATE TEMPORARY VIEW happened AS
    SELECT n, n % 2 AS tenant_no, 'user-' || n % 7 AS user_id, now() - make_interval(hours => n) AS at,
           (lpad(to_hex((extract(epoch FROM now() - make_interval(hours => n)) * 1000)::bigint), 12, '0') || '7' || lpad(n::text, 19, '0'))::uuid AS id
      FROM generate_series(0, 100 * 24) AS n`);
  await pool.query(`INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
    SELECT id, tenant_no, user_id, 1, 1, 1, at, at::date FROM happened`);
  await pool.query(`INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
    SELECT id, tenant_no, user_id, 2, 3, n % 5 - 1, 1, at, at::date FROM happened`);
  await pool.query(
    `INSERT INTO completions (tenant_no, user_id, achievement_no, at) SELECT tenant_no, user_id, n, at FROM happened`,
  );
  await pool.query(`INSERT INTO users (tenant_no, id, created, state, attributes, points)
    SELECT tenant_no, user_id || '-' || n, at, '', '{}', '{}' FROM happened`);
}

test('an installation with a past has its last 90 days counted after the upgrade', async () => {
  await migrateToBefore(pool, '000036');
  await storeHistory();
  await migrate(pool);
  const today = Math.floor(Date.now() / 1_000 / DAY_S);
  const { firstDay, complete } = await readCounted(pool);
  expect(complete).toBe(false);
  expect([today - 89, today - 90]).toContain(firstDay);
  const backfill = new ActivityBackfill({ pool });
  while ((await backfill.due(1)) !== null) await backfill.perform(1, new AbortController().signal);
  const within = (lines: string[]): string[] => lines.filter((line) => Number(line.split(/[ :]/)[1]) >= firstDay!);
  const counted = await countedDays(pool);
  expect(counted).toEqual(within(await storedDays(pool)));
  expect(counted.length).toBeGreaterThan(170);
  expect(await readCounted(pool)).toEqual({ firstDay, complete: true });
});

test('a new one has nothing to count, and counts from its beginning', async () => {
  await migrate(pool);
  expect(await readCounted(pool)).toEqual({ firstDay: null, complete: true });
  expect(await new ActivityBackfill({ pool }).due(1)).toBeNull();
});
