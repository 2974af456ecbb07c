import { expect, test } from 'vitest';
import { createAuditRetention } from '../../../src/engine/retention/audit-retention.ts';
import { writeAudit } from '../../../src/postgres/access/audit.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 10, 18, 12);
const MIDNIGHT_MS = NOON_MS - DAY_MS / 2;
const ending = new AbortController().signal;
const database = opened(() => testDatabase());

const days = async (): Promise<number[]> =>
  (await database.pool.query(`SELECT name FROM audit_log ORDER BY at`)).rows.map(({ name }) => Number(name));

test('removes expired entries in steps at the beginning of a day; keeps the others', async () => {
  const { pool } = database;
  // An entry a day, the youngest of today.
  for (let day = 0; day < 10; day += 1) {
    const entries = [{ action: 'create', kind: 'metric', name: String(-day) } as const];
    await writeAudit(pool, { tenantNo: null, nowMs: NOON_MS - day * DAY_MS, by: { who: 'test' }, entries });
  }
  const retention = createAuditRetention(pool, 4, 3);
  // The oldest has been due since the end of its fourth day after.
  expect(await retention.due(NOON_MS)).toBe(MIDNIGHT_MS - 4 * DAY_MS);
  await retention.perform(0, ending, 0, NOON_MS);
  expect(await days()).toEqual([-6, -5, -4, -3, -2, -1, 0]);
  expect(await retention.due(NOON_MS)).toBe(MIDNIGHT_MS - DAY_MS);
  await retention.perform(0, ending, 0, NOON_MS);
  expect(await days()).toEqual([-4, -3, -2, -1, 0]);
  expect(await retention.due(NOON_MS)).toBeNull();

  expect(await retention.due(MIDNIGHT_MS + DAY_MS - 1)).toBeNull();
  expect(await retention.due(MIDNIGHT_MS + DAY_MS)).toBe(MIDNIGHT_MS + DAY_MS);
  await retention.perform(0, ending, 0, MIDNIGHT_MS + DAY_MS);
  expect(await days()).toEqual([-3, -2, -1, 0]);
  expect(await retention.due(MIDNIGHT_MS + DAY_MS)).toBeNull();
});
