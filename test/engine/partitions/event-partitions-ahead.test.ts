import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEventPartitionsAhead, widthFor } from '../../../src/engine/retention/event-partitions.ts';
import { firstIdOf, makeEventPartition, readEventPartitions } from '../../../src/postgres/partitions.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';

const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;

let database: TestDatabase;
/** The day on which the database was installed; midnight may have passed since then. */
let today: number;

beforeEach(async () => {
  database = await testDatabase({ redis: false });
  today = (await readEventPartitions(database.pool))[1]!.firstDay;
});
afterEach(() => database.close());

async function workOff(day: number): Promise<void> {
  const work = createEventPartitionsAhead(database.pool);
  const nowMs = day * DAY_MS + 1;
  while ((await work.due(nowMs)) !== null) await work.perform(0, NEVER, 0, nowMs);
}

/** For each range: its first and last day from today on, and whether its keys have an index. */
async function stretches(): Promise<[number, number, boolean][]> {
  const made = await readEventPartitions(database.pool);
  return made.map(({ firstDay, endDay, keysIndexed }) => [Math.max(firstDay - today, -1), endDay - today, keysIndexed]);
}

const insertKey = (day: number): Promise<unknown> =>
  database.pool.query('INSERT INTO used_keys VALUES ($1, 0, $2, 1, $3)', [firstIdOf(day), 'ada', `key of ${day}`]);

const partitionOf = async (day: number): Promise<string> =>
  (
    await database.pool.query<{ name: string }>(
      'SELECT tableoid::regclass::text AS name FROM used_keys WHERE id = $1',
      [firstIdOf(day)],
    )
  ).rows[0]!.name;

test('a new installation has partitions for the coming weeks; more are made a week before they are needed', async () => {
  expect(Math.floor(Date.now() / DAY_MS) - today).toBeOneOf([0, 1]);
  expect(await stretches()).toEqual([
    [-1, 0, false],
    [0, 28, false],
  ]);
  await workOff(today + 20);
  expect((await stretches()).map(([, end]) => end)).toEqual([0, 28]);
  await workOff(today + 21);
  expect(await stretches()).toEqual([
    [-1, 0, true],
    [0, 28, false],
    [28, 56, false],
  ]);
  await workOff(today + 29);
  expect((await stretches()).map(([, , indexed]) => indexed)).toEqual([true, true, false]);
  for (const [day, partition] of [
    [1, 'd0'],
    [today + 27, `d${today}`],
    [today + 28, `d${today + 28}`],
  ] as const) {
    await insertKey(day);
    expect(await partitionOf(day)).toBe(`used_keys_${partition}`);
  }
});

test('after a gap the next partition begins where the last one ends, but after the rows in the default partition', async () => {
  await insertKey(today + 100);
  expect(await partitionOf(today + 100)).toBe('used_keys_default');
  await workOff(today + 90);
  expect((await stretches()).at(-1)).toEqual([101, 129, false]);
  expect(await partitionOf(today + 100)).toBe('used_keys_default');
});

test('creates no second partition for a day', async () => {
  await expect(makeEventPartition(database.pool, { firstDay: today + 3, endDay: today + 30 })).rejects.toThrow(
    'would overlap partition',
  );
  expect((await stretches()).length).toBe(2);
});

test('recreates an index that a crash left incomplete', async () => {
  await database.pool.query('CREATE INDEX used_keys_d0_by_user ON used_keys_d0 (user_id)');
  await workOff(today + 1);
  expect((await stretches())[0]).toEqual([-1, 0, true]);
});

test('a partition has at most 28 days and at least one, to hold some 20 million events', () => {
  expect([0, 1, 500_000, 1_000_000, 3_000_000, 50_000_000].map(widthFor)).toEqual([28, 28, 28, 20, 6, 1]);
});
