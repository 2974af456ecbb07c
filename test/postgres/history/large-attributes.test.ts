import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { userAttributeSums } from '../../../src/postgres/history/days.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

// End users choose attribute values as long as allowed, and a different one in every event.

const KEYS = Array.from({ length: 10 }, (_, at) => `attribute-${at}`);
const EVER = { fromDay: 0, toDay: 40_000 };
const database = opened(() => testDatabase());

/** Stores events of a user: the first attribute is the same in all, the others are `value`s. */
async function store(userId: string, events: number, value: (event: number) => string): Promise<void> {
  const attributes = Array.from({ length: events }, (_, event) =>
    JSON.stringify(Object.fromEntries(KEYS.map((key, at) => [key, at === 0 ? 'same' : value(event)]))),
  );
  await database.pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes)
     SELECT gen_random_uuid(), 0, $1, 9, 1, 1, now(), '2026-11-01', attributes FROM unnest($2::jsonb[]) AS attributes`,
    [userId, attributes],
  );
}

/** How many of a user's events were summed. */
async function summed(userId: string): Promise<number> {
  const sums = await userAttributeSums(database.pool, {
    tenantNo: 0,
    userId,
    windows: [EVER, EVER],
    shown: [1],
    keys: KEYS,
  });
  return Number(sums.find(({ key }) => key === KEYS[0])!.changes[0]);
}

test('of large attributes, compressible or not, a few MB are summed; of small ones thousands of events', async () => {
  await store('random', 1_000, () => randomBytes(500).toString('hex'));
  await store('compressible', 1_000, (event) => `${'z'.repeat(990)} ${event}`);
  await store('small', 5_000, (event) => `value ${event}`);
  for (const large of ['random', 'compressible']) {
    expect(await summed(large)).toBeGreaterThan(300);
    expect(await summed(large)).toBeLessThan(900);
  }
  expect(await summed('small')).toBe(5_000);
});
