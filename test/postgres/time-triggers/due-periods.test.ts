import { afterAll, beforeAll, expect, test } from 'vitest';
import { DUE_PERIODS, duePeriods, HOUR_MS, type TriggerPeriods } from '../../../src/postgres/time-triggers.ts';
import { testDatabase, type TestDatabase } from '../database.ts';

const DAY_MS = 24 * HOUR_MS;
const USERS = Number(process.env['USERS'] ?? 20_000);
const NOW = Date.UTC(2030, 2, 1);

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase({ redis: false });
  // First seen at any time of the last hundred days, derived from the run's seed.
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
      SELECT n % 2, 'user ' || n, to_timestamp(($2::bigint - abs(hashint8extended(n, $3) % 8640000000)) / 1000.0), '\\x80', '{}', '{}'
        FROM generate_series(1, $1::int) AS n`,
    [USERS, NOW, Number(process.env['SEED'])],
  );
  await database.pool.query('VACUUM ANALYZE users');
}, 300_000);
afterAll(() => database.close());

const everyone = async (): Promise<{ tenantNo: number; id: string; firstMs: number }[]> => {
  const { rows } = await database.pool.query(
    'SELECT tenant_no AS "tenantNo", id, epoch_ms(created) AS "firstMs" FROM users',
  );
  return rows;
};

/** The same by examining everyone. */
async function expected(asked: TriggerPeriods[], toMs: number): Promise<string[]> {
  const users = await everyone();
  const periods = asked.flatMap(({ tenantNo, triggerNo, periodMs, fromMs }) =>
    users
      .filter((user) => user.tenantNo === tenantNo)
      .flatMap(({ id, firstMs }) => {
        const due: string[] = [];
        const k = Math.ceil((Math.max(fromMs, firstMs + 1) - firstMs) / periodMs);
        for (let dueMs = firstMs + k * periodMs; dueMs <= toMs; dueMs += periodMs)
          due.push(`${dueMs} ${id} ${triggerNo}`);
        return due;
      }),
  );
  return periods.toSorted();
}

test.each([
  ['an hour of hours', [HOUR_MS], HOUR_MS],
  ['a minute of several triggers', [HOUR_MS, 7 * HOUR_MS, 24 * HOUR_MS, DAY_MS, 30 * DAY_MS], 60_000],
  ['a day of days', [DAY_MS, 3 * DAY_MS, 48 * HOUR_MS], DAY_MS],
  ['a millisecond', [HOUR_MS], 1],
  ['five hours of hours', [HOUR_MS, 3 * HOUR_MS, DAY_MS], 5 * HOUR_MS],
])('%s: everyone whose period ended, in order, each once', async (_, lengths, span) => {
  for (const toMs of [NOW + 1_234, NOW + HOUR_MS - 1, NOW + 23 * HOUR_MS + 30 * 60_000, NOW - 50 * DAY_MS]) {
    const asked = lengths.map((periodMs, n) => ({
      tenantNo: n % 2,
      triggerNo: n + 1,
      periodMs,
      fromMs: toMs - span + 1,
    }));
    const found = await duePeriods(database.pool, { asked, toMs, limit: 1_000_000 });
    const texts = found.map(({ dueMs, userId, triggerNo }) => `${dueMs} ${userId} ${triggerNo}`);
    expect(texts.toSorted()).toEqual(await expected(asked, toMs));
    expect(found.map(({ dueMs }) => dueMs)).toEqual(found.map(({ dueMs }) => dueMs).toSorted((a, b) => a - b));
  }
});

test('finds those who are due in a second by the index', async () => {
  const toMs = NOW + 5_000;
  const parameters = [toMs, [0, 0], [1, 1], [DAY_MS, DAY_MS], [toMs - 999, toMs - 999], [0, 4_001], [0, 5_000], 1000];
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN (COSTS OFF) ${DUE_PERIODS}`,
    parameters,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('users_of_moment');
  expect(plan).not.toContain('Seq Scan on users');
  if (process.env['USERS'] !== undefined) {
    for (const [periodMs, span] of [
      [DAY_MS, 1000],
      [HOUR_MS, 1000],
      [HOUR_MS, 60_000],
      [HOUR_MS, 300_000],
    ] as const) {
      const asked = [{ tenantNo: 0, triggerNo: 1, periodMs, fromMs: toMs - span + 1 }];
      const begun = performance.now();
      const found = await duePeriods(database.pool, { asked, toMs, limit: 5000 });
      console.log({ periodMs, span, found: found.length, ms: performance.now() - begun });
    }
  }
});
