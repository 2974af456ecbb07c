import { afterEach, beforeEach, expect, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../laurel.ts';

let laurel: TestLaurel;
beforeEach(async () => {
  laurel = await startLaurel({ testClock: true, workers: true });
  await on('2030-03-01');
  const configured = await laurel.admin.put('/v1/configuration', {
    metrics: [{ key: 'm', name: 'M' }],
    streaks: { enabled: true, frequency: 'daily', freezes: { enabled: true, initial: 1, max: 2 } },
  });
  if (configured.status !== 200) throw new Error(JSON.stringify(configured.body));
});
afterEach(() => laurel.close());

async function on(date: string): Promise<void> {
  expect((await laurel.admin.put('/v1/clock', { now: `${date}T12:00:00Z` })).status).toBe(200);
}
async function act(...dates: string[]): Promise<void> {
  for (const date of dates) {
    await on(date);
    expect((await laurel.app.post('/v1/metrics/m/event', { user: { id: 'ada' }, value: 1 })).status).toBe(201);
  }
}
async function longest(year = 2030): Promise<unknown> {
  const { length, started, periodEnd } = (await laurel.app.get(`/v1/users/ada/wrapped?year=${year}`)).body.activity
    .entireYear.longestStreak;
  return [length, started, periodEnd];
}

test('an old streak that a freeze and a pause kept together counts as one, without the excused days', async () => {
  // The 3rd is frozen.
  await act('2030-03-01', '2030-03-02', '2030-03-04');
  const pauses = [{ userId: 'ada', start: '2030-03-05', end: '2030-03-07' }];
  expect((await laurel.admin.post('/v1/streaks/pauses', { pauses })).body.issues).toEqual([]);
  await act('2030-03-08');
  // Lost at the end of the 9th; a shorter one later.
  await act('2030-03-20', '2030-03-21');
  await on('2030-04-01');
  await expect.poll(() => longest()).toEqual([4, '2030-03-01', '2030-03-08']);
});

test('a restored streak that was lost again counts from its first day', async () => {
  await act('2030-03-01', '2030-03-02', '2030-03-04');
  await on('2030-03-10');
  expect((await laurel.admin.post('/v1/streaks/restore', { users: [{ id: 'ada' }] })).status).toBe(201);
  await act('2030-03-10', '2030-03-11');
  await act('2030-03-20', '2030-03-21', '2030-03-22', '2030-03-23');
  await on('2030-04-01');
  await expect.poll(() => longest()).toEqual([5, '2030-03-01', '2030-03-11']);
});

test('a streak over the end of the year counts in each year with the length it reached', async () => {
  await act('2030-12-28', '2030-12-29', '2030-12-31', '2031-01-01', '2031-01-02');
  await expect.poll(() => longest(2030)).toEqual([3, '2030-12-28', '2030-12-31']);
  await expect.poll(() => longest(2031)).toEqual([5, '2030-12-28', '2031-01-02']);
});

test('a streak that was extended and reset on one day counts that day, even if another streak begins on it', async () => {
  await act('2030-03-01', '2030-03-02', '2030-03-03');
  expect((await laurel.admin.post('/v1/streaks/reset', { users: [{ id: 'ada' }] })).body.issues).toEqual([]);
  await act('2030-03-03');
  await expect.poll(() => longest()).toEqual([3, '2030-03-01', '2030-03-03']);
});
