import { beforeAll, expect, test } from 'vitest';
import { usersToExamine } from '../../../src/engine/achievements/preview.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const USERS = 20_000;
const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
     SELECT 0, 'user-' || n, now(), '', '{}', '{}' FROM generate_series(1, $1::int) AS n`,
    [USERS],
  );
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
     SELECT 1, 'other-' || n, now(), '', '{}', '{}' FROM generate_series(1, 50) AS n`,
  );
});

test('examines each of a few users once', async () => {
  const { ids, figure } = await usersToExamine(database.pool, { tenantNo: 1, of: 50 });
  expect([figure, new Set(ids).size, ids.length]).toEqual(['exact', 50, 50]);
  expect(ids.every((id) => id.startsWith('other-'))).toBe(true);
});

test('examines a sample of many users from the whole table', async () => {
  const { ids, figure } = await usersToExamine(database.pool, { tenantNo: 0, of: USERS, most: 4_000 });
  expect([figure, new Set(ids).size === ids.length]).toEqual(['estimate', true]);
  expect(ids.length).toBeGreaterThan(1_000);
  expect(ids.length).toBeLessThanOrEqual(4_000);
  const late = ids.filter((id) => Number(id.slice(5)) > USERS / 2).length / ids.length;
  // Pages of the table are drawn at random: half of them, within ten standard errors.
  expect(late).toBeGreaterThan(0.1);
  expect(late).toBeLessThan(0.9);
});

test('examines the first users if the sample is too small', async () => {
  const { ids, figure } = await usersToExamine(database.pool, { tenantNo: 1, of: 1_000_000, most: 40 });
  expect([figure, ids.length]).toEqual(['atLeast', 40]);
});
