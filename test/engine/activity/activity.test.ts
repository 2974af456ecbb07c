import { expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { countedDays, storedDays } from './stored-days.ts';
import { opened } from '../../stack/opened.ts';

const [system] = STUDY_APP.pointsSystems!;
/** With the clock's work: points for time, and excused and lost streaks. */
const CONFIGURATION: Configuration = {
  ...STUDY_APP,
  pointsSystems: [
    {
      ...system!,
      triggers: [
        ...system!.triggers!,
        { type: 'time', timeUnit: 'hours', timeInterval: 6, points: 3, status: 'active' },
        { type: 'metric', metricKey: 'minutes', metricThreshold: 2, points: -4, status: 'active' },
      ],
    },
  ],
  streaks: {
    enabled: true,
    frequency: 'daily',
    metrics: [{ metricKey: 'flips', threshold: 1 }],
    freezes: { enabled: true, initial: 1, max: 2 },
  },
};
const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2038, 4, 4, 22, 30);

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: CONFIGURATION }));

const at = async (ms: number): Promise<void> => {
  const { status } = await laurel.admin.put('/v1/clock', { now: new Date(ms).toISOString() });
  expect(status).toBe(200);
};

const flip = (id: string, value = 1, metric = 'flips') =>
  laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id, tz: 'Asia/Tokyo' }, value });

async function days(query = ''): Promise<Record<string, unknown>[]> {
  const { status, body } = await laurel.admin.get(`/v1/activity${query}`);
  expect(status).toBe(200);
  return body.days;
}

test('counts days as they are stored: by event, call and clock, each once', async () => {
  await at(START_MS);
  await laurel.app.put('/v1/users/called', { name: 'Called' });
  for (const id of ['ada', 'bob', 'ada', 'called']) await flip(id, 6);
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'cleo' } });
  // The UTC day ends meanwhile, the user's does not.
  await at(START_MS + 2 * 3_600_000);
  for (const id of ['ada', 'dora', 'dora']) await flip(id);
  await flip('bob', 4, 'minutes');
  await laurel.admin.post('/v1/metrics/events?wait=true', [
    { key: 'flips', user: { id: 'ada' }, value: 1 },
    { key: 'flips', user: { id: 'eve' }, value: 10 },
  ]);
  // Three days on which only the clock does anything.
  await at(START_MS + 4 * DAY_MS);
  await flip('ada');

  const counted = await days('?from=2038-05-03&to=2038-05-09');
  expect(
    counted.map(({ date, events, eventsReceived, activeUsers, newUsers }) => [
      date,
      events,
      eventsReceived,
      activeUsers,
      newUsers,
    ]),
  ).toEqual([
    ['2038-05-03', 0, 0, 0, 0],
    ['2038-05-04', 0, 4, 3, 4],
    // In Tokyo it was the 5th all the time, and for `eve`, whose zone is UTC.
    ['2038-05-05', 10, 6, 4, 2],
    ['2038-05-06', 0, 0, 0, 0],
    ['2038-05-07', 0, 0, 0, 0],
    ['2038-05-08', 0, 1, 1, 0],
    ['2038-05-09', 1, 0, 0, 0],
  ]);
  expect(await countedDays(laurel.pool)).toEqual(await storedDays(laurel.pool));
  expect((await laurel.admin.get('/v1/activity')).body).toMatchObject({
    from: '2038-04-09',
    to: '2038-05-08',
    users: 6,
  });
});

test('late events count on the day on which they happened, and sums are those of analytics', async () => {
  const at = (day: number): string => new Date(START_MS + day * DAY_MS).toISOString();
  for (const day of [1, 2, 3])
    await laurel.app.post('/v1/metrics/flips/event', {
      user: { id: 'ada', tz: 'Asia/Tokyo' },
      value: 1,
      occurredAt: at(day),
    });
  const range = 'from=2038-05-03&to=2038-05-09';
  const { days: counted, pointsSystems } = (await laurel.admin.get(`/v1/activity?${range}`)).body;
  expect(counted.map(({ events }: { events: number }) => events)).toEqual([0, 0, 10, 1, 1, 1, 1]);
  // Three late events arrived with the other one.
  expect(counted[5]).toMatchObject({ date: '2038-05-08', eventsReceived: 4 });
  const sum = (numbers: number[]): number => numbers.reduce((all, one) => all + one, 0);
  const { metrics } = (await laurel.admin.get(`/v1/analytics/metrics?${range}`)).body;
  expect(sum(metrics.map(({ events }: { events: number }) => events))).toBe(14);
  const { systems } = (await laurel.admin.get(`/v1/analytics/points?${range}`)).body;
  expect(systems[0].awarded).toBeGreaterThan(0);
  expect(pointsSystems).toEqual([expect.objectContaining({ key: 'xp', id: systems[0].id })]);
  expect(sum(pointsSystems[0].awarded)).toBe(systems[0].awarded);
});

test('lists the newest completions first, and removes them with their user', async () => {
  const { body } = await laurel.admin.get('/v1/activity/completions');
  const shown = body.map(({ userId, userName, achievementName }: Record<string, unknown>) => [
    userId,
    userName,
    achievementName,
  ]);
  expect(shown.slice(0, 3)).toEqual([
    ['eve', null, 'Ten and a day'],
    ['eve', null, 'First day'],
    ['eve', null, 'Ten flips'],
  ]);
  expect(shown).toContainEqual(['called', 'Called', 'First day']);
  for (let n = 0; n < 140; n += 1) await flip(`many-${n}`);
  const then = (await laurel.admin.get('/v1/activity/completions')).body;
  expect(then).toHaveLength(20);
  expect(then[0]).toMatchObject({ userId: 'many-139', achievementName: 'First day', badgeUrl: null });
  await laurel.admin.delete('/v1/users/many-139');
  await expect.poll(async () => (await laurel.admin.get('/v1/activity/completions')).body[0].userId).toBe('many-138');
  const { rows } = await laurel.pool.query('SELECT count(*)::int AS n FROM newest_completions');
  // More than 150 were recorded, so most were dropped.
  expect(rows[0].n).toBeLessThan(100);
});

test('refuses an invalid range and says what is wrong', async () => {
  for (const [query, text] of [
    ['?from=2038-02-30', 'from'],
    ['?to=tomorrow', 'to'],
    ['?from=2038-05-02&to=2038-05-01', 'to is before from'],
    ['?from=2020-01-01&to=2038-05-01', 'more than 366 days'],
  ] as const) {
    const { status, body } = await laurel.admin.get(`/v1/activity${query}`);
    expect([query, status]).toEqual([query, 422]);
    expect(body.error).toContain(text);
  }
});
