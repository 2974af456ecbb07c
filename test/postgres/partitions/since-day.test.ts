import { afterAll, beforeAll, expect, test } from 'vitest';
import { historySums } from '../../../src/postgres/boards/past-scores.ts';
import {
  METRIC_DAYS,
  metricDays,
  POINTS_DAYS,
  pointsDays,
  SAMPLED_METRIC_CHANGES,
  SAMPLED_POINTS_CHANGES,
  sampledMetricChanges,
  sampledPointsChanges,
} from '../../../src/postgres/history/days.ts';
import { activeUsers } from '../../../src/postgres/notifications/emails.ts';
import { firstIdOf, makeEventPartition, readEventPartitions } from '../../../src/postgres/partitions.ts';
import { noteDatedAhead } from '../../../src/postgres/persist/events.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { dateOf } from '../../../src/domain/periods.ts';
import { testDatabase } from '../database.ts';

const database = await testDatabase({ redis: false });
afterAll(() => database.close());

/** The day from which the installation's own partition is: the run's template may have been made before midnight. */
const TODAY = (await readEventPartitions(database.pool)).at(-1)!.firstDay;
const WIDTH = 28;
/** In addition to the initial ones of an installation, all in the future. */
const MORE = 10;
/** The first day of the nth partition from today on. */
const firstDayOf = (n: number): number => TODAY + n * WIDTH;
const LAST = firstDayOf(MORE);

/** 32 hex digits of the nth row of a day. */
const idOf = (day: number, n = 0): string =>
  firstIdOf(day).replaceAll('-', '').slice(0, 24) + n.toString(16).padStart(4, '0') + '0000';

/** An event of 1 and an award of 1, with an ID of one day, that count for another. */
async function store(idDay: number, localDay: number): Promise<void> {
  const id = idOf(idDay, localDay % 1_000);
  const values = [id, dateOf(localDay)];
  await transaction(database.pool, async (client) => {
    await client.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date) VALUES ($1, 0, 'ada', 1, 1, 1, now(), $2)`,
      values,
    );
    await client.query(
      `INSERT INTO awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, at, local_date)
       VALUES ($1, 0, 'ada', 5, 6, 1, 1, now(), $2)`,
      values,
    );
    await noteDatedAhead(client, [[{ id, localDay }]]);
  });
}

beforeAll(async () => {
  for (let n = 1; n <= MORE; n += 1)
    await makeEventPartition(database.pool, { firstDay: firstDayOf(n), endDay: firstDayOf(n + 1) });
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points, email_key)
     VALUES (0, 'ada', now(), '\\x80', '{}', '{}', 'ada@example.org')`,
  );
  // On the last day of each partition, when a zone ahead of UTC already has the next day.
  for (let n = 0; n <= MORE; n += 1) await store(firstDayOf(n + 1) - 1, firstDayOf(n + 1));
});

const range = { fromDay: LAST - 3, toDay: LAST + WIDTH };
const { fromDay, toDay } = range;
const firstId = firstIdOf(fromDay - 1);

test.each([
  ['metric days', METRIC_DAYS, [0, 'ada', 1, fromDay, toDay, firstId]],
  ['points days', POINTS_DAYS, [0, 'ada', 5, fromDay, toDay, firstId]],
  ['changes of a sample, metrics', SAMPLED_METRIC_CHANGES, [0, 10, fromDay, toDay, firstId]],
  ['changes of a sample, points', SAMPLED_POINTS_CHANGES, [0, 10, fromDay, toDay, firstId]],
])('reads %s since a day from the partitions of the day and later', async (_, statement, parameters) => {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) ${statement}`, parameters);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const touched = [...plan.matchAll(/ on (?:events|awards)_(d\d+|default)/g)].map(([, name]) => name);
  expect(new Set(touched)).toEqual(new Set([`d${firstDayOf(MORE - 1)}`, `d${LAST}`, 'default']));
  expect(touched).toHaveLength(3);
});

/** Every read from the day on: 2 events and 2 awards of one day each. */
async function read(): Promise<unknown[]> {
  const { pool } = database;
  const of = { tenantNo: 0, userId: 'ada', ...range };
  const sample = { tenantNo: 0, users: 10, ...range };
  const board = { tenantNo: 0, ids: ['ada'], runDays: [fromDay], lastDay: null, times: null };
  const dates = { metricNos: [1], from: dateOf(fromDay), to: dateOf(fromDay + 1) };
  return [
    (await metricDays(pool, { ...of, metricNo: 1 })).days,
    (await pointsDays(pool, { ...of, systemNo: 5 })).days,
    [...(await sampledMetricChanges(pool, sample)).changes],
    [...(await sampledPointsChanges(pool, sample)).changes],
    (await historySums(pool, { ...board, counted: { metricNo: 1 } }))[0]!.sums,
    (await historySums(pool, { ...board, counted: { systemNo: 5 } }))[0]!.sums,
    (await activeUsers(pool, { tenantNo: 0, userIds: ['ada'], isPushed: false }, dates)).length,
  ];
}

test('finds on its day what counts for a much later day than its ID says', async () => {
  const days = [LAST, LAST + WIDTH];
  const sums = [[fromDay, 2, 0, 0]];
  expect(await read()).toEqual([days, days, [[1, [2]]], [[5, [2]]], sums, sums, 0]);
  await store(TODAY + 3, fromDay + 1);
  const more = [fromDay + 1, ...days];
  const three = [[fromDay, 3, 0, 0]];
  expect(await read()).toEqual([more, more, [[1, [3]]], [[5, [3]]], three, three, 1]);
  // Only its partition and its day record this.
  const { rows } = await database.pool.query(
    'SELECT first_day AS part, ahead_to AS day FROM event_partitions WHERE ahead_to IS NOT NULL',
  );
  const [, current] = await readEventPartitions(database.pool);
  expect(rows).toEqual([{ part: current!.firstDay, day: fromDay + 1 }]);
});
