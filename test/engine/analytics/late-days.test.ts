import fc from 'fast-check';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/periods.ts';
import { activeDays } from '../../../src/postgres/history/active-days.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { startLaurel } from '../../laurel.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { STUDY_APP } from '../../study-app.ts';
import { countedDays, storedDays } from '../activity/stored-days.ts';
import { countedAnalytics, storedAnalytics } from './stored-analytics.ts';
import { opened } from '../../stack/opened.ts';

/** SQL: a random ID that is later than all times. */
const LATER_ID = `overlay(gen_random_uuid()::text PLACING 'ff' FROM 1)::uuid`;
/** A Thursday noon in the middle of a month, years ahead: the test clock only goes forward. */
const NOON_MS = Date.UTC(2038, 5, 17, 12);
const TODAY = Math.floor(NOON_MS / DAY_MS);

let user: string;
let users = 0;

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: STUDY_APP }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: new Date(NOON_MS).toISOString() });
});
beforeEach(() => {
  user = `user-${(users += 1)}`;
});

/** `occurred`: a UTC date and time of June 2038, as in `03T22`; without it the event happens now. */
async function flip(occurred?: string, tz = 'UTC'): Promise<string> {
  const body = { user: { id: user, tz }, value: 1, ...(occurred !== undefined && { occurredAt: at(occurred) }) };
  for (;;) {
    const { status, body: answer } = await laurel.app.post('/v1/metrics/flips/event', body);
    if (status === 503) continue;
    expect([status, answer.error]).toEqual([201, undefined]);
    return answer.eventId;
  }
}

const at = (occurred: string): string => `2038-06-${occurred}:00:00Z`;

/** The days, weeks and months with another number of active users after some work, and the difference. */
async function changed(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await active();
  await work();
  const after = await active();
  const dates = [...after].filter(([date, count]) => count !== before.get(date));
  return Object.fromEntries(dates.map(([date, count]) => [date, count - before.get(date)!]));
}

/** The active users of each day; of weeks and months by `week` and `month` with their first day. */
async function active(): Promise<Map<string, number>> {
  const { days, weeks, months } = (await laurel.admin.get('/v1/analytics/users?from=2038-05-01&to=2038-06-17')).body;
  const activity = (await laurel.admin.get('/v1/activity?from=2038-05-01&to=2038-06-17')).body;
  type Row = { date: string; activeUsers: number };
  const counts = ({ date, activeUsers }: Row): [string, number] => [date.slice(5), activeUsers];
  expect(activity.days.map(counts)).toEqual(days.map(counts));
  return new Map([
    ...(days as Row[]).map(counts),
    ...(weeks as Row[]).map((row): [string, number] => [`week ${row.date.slice(5)}`, row.activeUsers]),
    ...(months as Row[]).map((row): [string, number] => [`month ${row.date.slice(5)}`, row.activeUsers]),
  ]);
}

test('a late event counts on the UTC day on which it happened, once for each day, and not on its arrival', async () => {
  // A new user, whose last active day is then the earlier one.
  expect(await changed(() => flip('09T10'))).toEqual({ '06-09': 1, 'week 06-07': 1, 'month 06-01': 1 });
  expect(await changed(() => flip('09T23'))).toEqual({});
  expect(await changed(() => flip())).toEqual({ '06-17': 1, 'week 06-14': 1 });
  // Now the user's last active day is today.
  expect(await changed(() => flip('11T00'))).toEqual({ '06-11': 1 });
  expect(await changed(() => flip('09T01'))).toEqual({});
  expect(await changed(() => flip('03T23'))).toEqual({ '06-03': 1, 'week 05-31': 1 });
  expect(await changed(() => flip('03T00'))).toEqual({});
  expect(await changed(() => flip())).toEqual({});
});

test('a month and a week that begin in another month count a late event once each', async () => {
  await flip();
  // Monday, 31 May, is the first day of the week of 3 June.
  await flip('03T12');
  const body = { user: { id: user }, value: 1, occurredAt: '2038-05-31T12:00:00Z' };
  const may = () => laurel.app.post('/v1/metrics/flips/event', body);
  expect(await changed(may)).toEqual({ '05-31': 1, 'month 05-01': 1 });
  expect(await changed(may)).toEqual({});
});

test('days of a user in another time zone are those of UTC, also of an event that is not late there', async () => {
  // In Honolulu it is 2 in the morning of the 17th, and 23:00 UTC of the 16th was 13:00 of the 16th.
  expect(await changed(() => flip(undefined, 'Pacific/Honolulu'))).toMatchObject({ '06-17': 1 });
  expect(await changed(() => flip('16T23'))).toEqual({ '06-16': 1 });
  expect(await changed(() => flip('16T03'))).toEqual({});
  // At midnight there it was the 17th of UTC too; 03:00 UTC of the 16th was the 15th there.
  expect(await changed(() => flip('17T10'))).toEqual({});
  expect(await changed(() => flip('15T23'))).toEqual({ '06-15': 1 });
  // In Tokyo the 17th began on the 16th of UTC.
  user += '-tokyo';
  await flip(undefined, 'Asia/Tokyo');
  expect(await changed(() => flip('16T20'))).toEqual({ '06-16': 1 });
  expect(await changed(() => flip('16T16'))).toEqual({});
});

test('an event ahead of the clock counts today, and a later one does not count again', async () => {
  const body = { user: { id: user }, value: 1, occurredAt: new Date(NOON_MS + 60_000).toISOString() };
  expect(await changed(() => laurel.app.post('/v1/metrics/flips/event', body))).toMatchObject({ '06-17': 1 });
  expect(await changed(() => flip())).toEqual({});
});

test('a reversal takes no activity back, and another event of the day does not count again', async () => {
  await flip();
  const id = await flip('08T08');
  const reverse = () => laurel.admin.post(`/v1/events/${id}/reverse`, {});
  expect(await changed(reverse)).toEqual({});
  expect(await changed(() => flip('08T09'))).toEqual({});
});

test('days are known after Redis was lost; a deleted user who returns counts again', async () => {
  await flip();
  await flip('04T08');
  // Reads what Postgres holds, and so waits until it holds the events.
  await active();
  const redis = await laurel.connect();
  await emptyRedis(redis);
  await flip();
  expect(await changed(() => flip('04T09'))).toEqual({});
  expect(await changed(() => flip('05T09'))).toEqual({ '06-05': 1 });
  expect((await laurel.admin.delete(`/v1/users/${user}`)).status).toBe(200);
  expect(await changed(() => flip())).toMatchObject({ '06-17': 1 });
  expect(await changed(() => flip('04T09'))).toMatchObject({ '06-04': 1 });
});

test('late and live events of batches, stored together, count as they are stored', async () => {
  const hour = fc.option(fc.integer({ min: -16 * 24, max: 0 }), { freq: 4 });
  const events = fc.array(fc.record({ of: fc.nat({ max: 3 }), hour, tz: fc.constantFrom('UTC', 'Asia/Tokyo') }), {
    minLength: 30,
    maxLength: 60,
  });
  // Deleted users stay counted, so the users of this test have a Laurel of their own.
  const own = await startLaurel({ testClock: true, workers: true, configuration: STUDY_APP });
  try {
    await own.admin.put('/v1/clock', { now: new Date(NOON_MS).toISOString() });
    for (const batch of fc.sample(events, { numRuns: 3, seed: Number(process.env['SEED']) })) {
      const sent = batch.map(({ of, hour, tz }) => ({
        key: 'flips',
        user: { id: `${user}-${of}-${tz}`, tz },
        value: 1,
        ...(hour !== null && { occurredAt: new Date(NOON_MS + hour * 3_600_000).toISOString() }),
      }));
      const { status } = await own.admin.post('/v1/metrics/events?wait=true', sent);
      expect(status).toBe(200);
      await own.admin.get('/v1/analytics/users');
      expect(await countedDays(own.pool)).toEqual(await storedDays(own.pool));
      expect(await countedAnalytics(own.pool)).toEqual(await storedAnalytics(own.pool));
    }
  } finally {
    await own.close();
  }
});

test('imported days count as active; of a user with very many events, local days do', async () => {
  const { pool } = laurel;
  const read = async (userId: string): Promise<number[]> => {
    const users = [{ tenantNo: 0, userId, fromDay: TODAY - 10, toDay: TODAY }];
    const [days] = await transaction(pool, (client) => activeDays(client, users));
    return [...days!].toSorted((a, b) => a - b);
  };
  expect(await read('imported')).toEqual([]);
  await pool.query(
    `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, imported)
     VALUES (${LATER_ID}, 0, 'imported', 1, 1, 1, now(), DATE '1970-01-01' + $1::int, true)`,
    [TODAY],
  );
  expect(await read('imported')).toEqual([TODAY]);
  const store = (events: number): Promise<unknown> =>
    pool.query(
      `INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date)
       SELECT ${LATER_ID}, 0, 'busy', 1, 1, 1, to_timestamp($1::int * 86400.0), DATE '1970-01-01' + $1::int + 1
         FROM generate_series(1, $2::int)`,
      [TODAY - 4, events],
    );
  await store(5_000);
  expect(await read('busy')).toEqual([TODAY - 4]);
  await store(1);
  expect(await read('busy')).toEqual([TODAY - 3]);
});
