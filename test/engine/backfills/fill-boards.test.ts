import { afterEach, expect, test, vi } from 'vitest';
import { scriptNamed } from '../../../src/redis/script.ts';
import { BoardsByTheClock } from '../leaderboards/boards-by-the-clock.ts';

let boards: BoardsByTheClock;
afterEach(() => {
  vi.restoreAllMocks();
  return boards.laurel.close();
});

/** Calls a function each time before users are read to be filled, or their scores committed. Events use the scripts in another way. */
function beforeEvery(moment: 'read' | 'commit', work: () => Promise<void>): void {
  const script = scriptNamed(moment);
  const run = script.run.bind(script);
  vi.spyOn(script, 'run').mockImplementation(async (...call) => {
    await work();
    return run(...call);
  });
}

const board = { key: 'board', name: 'Board', status: 'inactive', rankBy: 'metric', metricKey: 'm' } as const;
const monthly = { ...board, start: '2026-09-15', runUnit: 'month', runInterval: 1 } as const;
const activate = { status: 'active' };

test('a leaderboard with a past start counts what was earned since, by local date; past runs are final', async () => {
  boards = await BoardsByTheClock.start('2026-09-14T23:30:00Z', [{ ...monthly, maxParticipants: 2 }]);
  await boards.event('utc', 100);
  await boards.event({ id: 'berlin', tz: 'Europe/Berlin' }, 4);
  await boards.at('2026-10-14T12:00:00Z');
  await boards.event('utc', 3);
  await boards.event('more', 3);
  await boards.event('less', 1);
  await boards.event('other', 9, 'other');
  await boards.at('2026-11-18T12:00:00Z');
  await boards.event('utc', 2);
  await boards.event('gone', 5);
  await boards.event('gone', -5);
  await boards.change('board', activate);
  await boards.event('utc', 1);
  await boards.fill();
  await boards.event('utc', 4);
  expect(await boards.places()).toEqual([[1, 'utc', 7]]);
  expect(await boards.places('run=2026-10-15')).toEqual([]);
  expect(await boards.places('run=2026-09-15')).toEqual([
    [1, 'berlin', 4],
    [2, 'utc', 3],
    [2, 'more', 3],
  ]);
  expect(await boards.places('run=2026-09-15&userId=more')).toEqual([[2, 'more', 3]]);
  expect(await boards.history('berlin', 'run=2026-09-15')).toEqual([['2026-10-14', null, 1, null, 4]]);
  const { body } = await boards.laurel.admin.get('/v1/leaderboard-fillings');
  expect(body).toMatchObject([{ status: 'done', usersDone: 6, usersTotal: 6, scored: 4 }]);
  // The clock continues from the current run.
  await boards.at('2026-12-16T00:00:00Z');
  await boards.due();
  expect(await boards.places('run=2026-11-15')).toEqual([[1, 'utc', 7]]);
});

test.each([
  ['read', 'all day', {}],
  ['read', 'a time of day', { startTime: '11:00', endTime: '13:00' }],
  ['commit', 'all day', {}],
  ['commit', 'a time of day', { startTime: '11:00', endTime: '13:00' }],
] as const)('events that arrive while it is filled count once: before a %s, %s', async (moment, _, window) => {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [{ ...monthly, ...window }]);
  await boards.event('u', 1);
  await boards.at('2026-11-18T12:30:00Z');
  await boards.event('u', 2);
  await boards.change('board', activate);
  let meanwhile = 0;
  beforeEvery(moment, async () => {
    if (meanwhile++ < 2) await boards.event('u', 4);
    // No other process stores events.
    if (meanwhile > 1 || moment === 'commit') await boards.store();
  });
  await boards.fill();
  expect(await boards.places()).toEqual([[1, 'u', 3 + 4 * Math.min(meanwhile, 2)]]);
  await boards.event('u', 8);
  expect(await boards.places()).toEqual([[1, 'u', 11 + 4 * Math.min(meanwhile, 2)]]);
});

test('a late event of an earlier run that arrives while it is filled counts in that run, and not in the current one', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [monthly]);
  await boards.event('u', 3);
  await boards.change('board', activate);
  let calls = 0;
  beforeEvery('read', async () => {
    // No other process stores events.
    await boards.store();
    const late = { user: { id: 'u' }, value: 50, occurredAt: '2026-11-10T12:00:00Z' };
    if (calls++ === 0) expect((await boards.laurel.app.post('/v1/metrics/m/event', late)).status).toBe(201);
  });
  await boards.fill();
  expect(await boards.places()).toEqual([[1, 'u', 3]]);
  expect(await boards.places('run=2026-10-15')).toEqual([[1, 'u', 50]]);
});

test.each([
  ['all day', {}],
  ['a time of day', { startTime: '11:00', endTime: '13:00' }],
])('cuts off a sum of history that is out of range: %s', async (_, window) => {
  boards = await BoardsByTheClock.start('2026-10-01T12:00:00Z', [{ ...monthly, ...window }]);
  await boards.event('past', 1);
  await boards.at('2026-11-18T12:00:00Z');
  await boards.event('now', 1);
  await boards.store();
  // As thousands of events of 1e12 would leave it, half of them at times that do not count.
  await boards.laurel.pool.query('UPDATE events SET value = 12345678901234567890.5');
  await boards.change('board', activate);
  await boards.fill();
  expect(await boards.places()).toEqual([[1, 'now', 999_999_999_999_999]]);
  expect(await boards.places('run=2026-09-15')).toEqual([[1, 'past', 999_999_999_999_999]]);
});

test('a crash between script and note repeats the step and changes nothing', async () => {
  boards = await BoardsByTheClock.start('2026-10-01T12:00:00Z', [monthly]);
  for (let n = 0; n < 210; n += 1) await boards.event(`user ${n}`, 1 + (n % 3));
  await boards.at('2026-11-18T12:00:00Z');
  for (let n = 0; n < 210; n += 30) await boards.event(`user ${n}`, 5);
  await boards.change('board', activate);
  for (let killed = 0; killed < 2; killed += 1)
    await expect(
      boards.fill({
        onMoment: (moment) => {
          if (moment === 'recording') throw new Error('killed');
        },
      }),
    ).rejects.toThrow('killed');
  await boards.event('user 0', 1);
  await boards.fill();
  expect((await boards.places('limit=1000')).map(([rank, , value]) => [rank, value])).toEqual([
    [1, 6],
    ...Array.from({ length: 6 }, () => [2, 5]),
  ]);
  expect(await boards.places('run=2026-09-15&limit=1000')).toHaveLength(210);
});

test('groups and streaks are the current ones, and points follow awards both ways', async () => {
  boards = await BoardsByTheClock.start(
    '2026-11-16T12:00:00Z',
    [
      { ...monthly, breakdownAttributes: ['land'] },
      { key: 'xp', name: 'XP', status: 'inactive', rankBy: 'points', pointsSystemKey: 'xp', start: '2026-11-17' },
      { key: 'days', name: 'Days', status: 'inactive', rankBy: 'streak', start: '2026-11-01' },
    ],
    {
      pointsSystems: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [
            { type: 'metric', metricKey: 'm', metricThreshold: 1, points: 10, status: 'active' },
            { type: 'metric', metricKey: 'other', metricThreshold: 1, points: -3, status: 'active' },
          ],
        },
      ],
    },
  );
  const user = (id: string, land: string) => ({ id, attributes: { land } });
  await boards.event(user('a', 'de'), 2);
  await boards.event('none', 9);
  await boards.at('2026-11-17T12:00:00Z');
  await boards.event(user('a', 'fr'), 3);
  await boards.event(user('b', 'fr'), 1);
  await boards.event('b', 1, 'other');
  for (const key of ['board', 'xp', 'days']) await boards.change(key, activate);
  await boards.fill();
  expect(await boards.places('userAttributes=land:fr')).toEqual([
    [1, 'a', 5],
    [2, 'b', 1],
  ]);
  expect(await boards.places('userAttributes=land:de')).toEqual([]);
  expect(await boards.places('', 'xp')).toEqual([
    [1, 'a', 30],
    [2, 'b', 7],
  ]);
  expect(await boards.places('', 'days')).toEqual([
    [1, 'a', 2],
    [2, 'none', 1],
    [2, 'b', 1],
  ]);
  await boards.event(user('none', 'de'), 1);
  expect(await boards.places('userAttributes=land:de')).toEqual([[1, 'none', 10]]);
});

test("a time of day is in the user's current zone", async () => {
  boards = await BoardsByTheClock.start('2026-11-18T05:30:00Z', [
    { ...monthly, startTime: '22:00', endTime: '06:00' },
    { ...monthly, key: 'live', status: 'active', startTime: '22:00', endTime: '06:00' },
  ]);
  for (const [hour, value] of [
    ['05:59:59', 1],
    ['06:00', 2],
    ['13:00', 4],
    ['21:59', 8],
    ['22:00', 16],
  ]) {
    await boards.at(`2026-11-18T${hour}Z`);
    await boards.event('utc', value as number);
    await boards.event({ id: 'tokyo', tz: 'Asia/Tokyo' }, value as number);
    await boards.event({ id: 'kathmandu', tz: 'Asia/Kathmandu' }, value as number);
  }
  await boards.change('board', activate);
  await boards.fill();
  expect(await boards.places()).toEqual([
    [1, 'kathmandu', 24],
    [2, 'utc', 17],
    [3, 'tokyo', 4],
  ]);
  expect(await boards.places()).toEqual(await boards.places('', 'live'));
});

test('a leaderboard that ranks something else starts over; one that was only off has what came meanwhile', async () => {
  boards = await BoardsByTheClock.start('2026-11-18T12:00:00Z', [{ ...monthly, status: 'active' }]);
  await boards.event('u', 5);
  await boards.change('board', { status: 'inactive' });
  await boards.event('u', 2);
  await boards.event('v', 3, 'other');
  await boards.change('board', activate);
  await boards.fill();
  expect(await boards.places()).toEqual([[1, 'u', 7]]);
  const { body: metrics } = await boards.laurel.admin.get('/v1/metrics');
  const other = metrics.find(({ key }: { key: string }) => key === 'other').id;
  await boards.change('board', { status: 'inactive' });
  await boards.change('board', { metricId: other });
  await boards.change('board', activate);
  await boards.fill();
  expect(await boards.places()).toEqual([[1, 'v', 3]]);
  await boards.event('u', 1, 'other');
  expect(await boards.places()).toEqual([
    [1, 'v', 3],
    [2, 'u', 1],
  ]);
});
