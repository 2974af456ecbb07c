import { expect, onTestFinished, test, vi } from 'vitest';
import { dayOf } from '../../../src/domain/periods.ts';
import { Distributions, SAMPLE_USERS } from '../../../src/engine/history/distributions.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase({ redis: false }));

const METRIC = 1;
const DAYS = { fromDay: dayOf('2026-03-01'), toDay: dayOf('2026-03-31') };

/** User n, from 1, with one event of value n inside the days and a larger one after them. */
async function store(tenantNo: number, users: number): Promise<void> {
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
     SELECT $1, 'user ' || n, now(), '\\x80', '{}', '{}' FROM generate_series(1, $2::int) AS n`,
    [tenantNo, users],
  );
  await database.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
     SELECT (lpad(to_hex(extract(epoch FROM date)::bigint * 1000), 12, '0') || left(md5($1::int || '-' || n || date), 20))::uuid, $1, 'user ' || n, $3, value, 0, now(), date
     FROM generate_series(1, $2::int) AS n
       CROSS JOIN LATERAL (VALUES (n, DATE '2026-03-31'), (1000000 - n, DATE '2026-04-01')) AS made (value, date)`,
    [tenantNo, users, METRIC],
  );
}

test('a sample of the users gives the percentile of a large tenant, within a few points', async () => {
  const users = SAMPLE_USERS * 4;
  await store(1, users);
  const percentile = await new Distributions(database).percentiles('metrics', { tenantNo: 1, ...DAYS });
  for (const share of [5, 25, 50, 75, 95]) {
    // 3.5 standard errors; IDs decide the sample, so it is the same in every run.
    const allowed = 3.5 * Math.sqrt((share * (100 - share)) / SAMPLE_USERS);
    expect(Math.abs(percentile(METRIC, (users * share) / 100) - share)).toBeLessThan(allowed);
  }
  expect(percentile(METRIC, 0)).toBe(0);
  expect(percentile(METRIC, users + 1)).toBe(100);
});

test('is exact up to the size of the sample, and a metric that nobody moved has only zeros', async () => {
  await store(2, SAMPLE_USERS);
  const percentile = await new Distributions(database).percentiles('metrics', { tenantNo: 2, ...DAYS });
  expect(percentile(METRIC, 901)).toBe(90);
  expect(percentile(METRIC, 901.5)).toBe(90.1);
  expect([-1, 0, 1].map((change) => percentile(77, change))).toEqual([0, 0, 100]);
});

test('is computed once for concurrent calls, and again when it is old', async () => {
  await store(3, 1);
  // A read takes ten milliseconds. What takes longer is kept longer, on a busy machine for minutes.
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => clock.mockRestore());
  let reads = 0;
  const pool = new Proxy(database.pool, {
    get: (target, name) => {
      if (name === 'query') {
        reads += 1;
        nowMs += 10;
      }
      return Reflect.get(target, name, target) as unknown;
    },
  });
  const distributions = new Distributions({ pool });
  const ask = (): Promise<(no: number, change: number) => number> =>
    distributions.percentiles('metrics', { tenantNo: 3, ...DAYS });
  await Promise.all([ask(), ask(), ask()]);
  expect(reads).toBe(1);

  await store(3 + 100, 1);
  await database.pool.query(`UPDATE users SET tenant_no = 3, id = 'more' WHERE tenant_no = 103`);
  nowMs += 1_999;
  expect((await ask())(METRIC, 1)).toBe(0);
  nowMs += 1;
  expect((await ask())(METRIC, 1)).toBe(50);
  expect(reads).toBe(2);
});
