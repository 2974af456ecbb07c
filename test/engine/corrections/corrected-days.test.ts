import { beforeEach, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { startLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const DAILY = { runUnit: 'day', runInterval: 1, start: '2030-01-01', status: 'active' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'kind', name: 'Kind', type: 'event' }],
  metrics: [
    { key: 'visits', name: 'Visits' },
    { key: 'orders', name: 'Orders' },
  ],
  achievements: [
    { key: 'visitor', name: 'Visitor', trigger: 'metric', metricKey: 'visits', metricValue: 10, status: 'active' },
    { key: 'buyer', name: 'Buyer', trigger: 'metric', metricKey: 'orders', metricValue: 10, status: 'active' },
    {
      key: 'both',
      name: 'Both',
      trigger: 'achievement',
      achievementKeys: ['visitor', 'buyer'],
      status: 'active',
    },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric', metricKey: 'visits', metricThreshold: 1, points: 1, status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: 100, status: 'active' },
        {
          type: 'metric',
          metricKey: 'orders',
          metricThreshold: 10,
          points: 7,
          status: 'active',
          eventAttributes: [{ key: 'kind', value: 'gift' }],
        },
      ],
    },
  ],
  leaderboards: [
    { ...DAILY, key: 'points', name: 'Points', rankBy: 'points', pointsSystemKey: 'xp' },
    { ...DAILY, key: 'visits', name: 'Visits', rankBy: 'metric', metricKey: 'visits' },
    { key: 'streaks', name: 'Streaks', rankBy: 'streak', start: '2030-01-01', status: 'active' },
  ],
  streaks: { enabled: true, frequency: 'daily', metrics: [{ metricKey: 'visits', threshold: 1 }] },
};

const laurel = opened(() => startLaurel({ workers: true, testClock: true, configuration: CONFIGURATION }));

let user: string;
let month = 0;
beforeEach(() => {
  user = `user ${(month += 1)}`;
});

/** Each test has a month of its own. */
const day = (date: string): string => `2030-${String(month).padStart(2, '0')}-${date}`;
const to = async (time: string): Promise<void> =>
  expect((await laurel.admin.put('/v1/clock', { now: `${day(time)}:00.000Z` })).status).toBe(200);

async function event(metric: string, value: number, more: { of?: string; occurredAt?: string; gift?: true } = {}) {
  const { of = user, occurredAt, gift } = more;
  const { status, body } = await laurel.app.post(`/v1/metrics/${metric}/event`, {
    user: { id: of },
    value,
    ...(occurredAt !== undefined && { occurredAt: `${day(occurredAt)}:00.000Z` }),
    ...(gift && { attributes: { kind: 'gift' } }),
  });
  expect(status).toBe(201);
  return body;
}
const reverse = async (id: string, body: object = {}) => {
  const answer = await laurel.admin.post(`/v1/events/${id}/reverse`, body);
  expect(answer.status).toBe(200);
  return answer.body;
};
/** The user's score in the run of a day. */
async function score(board: string, date: string, of = user): Promise<number | null> {
  const path = `/v1/users/${encodeURIComponent(of)}/leaderboards/${board}?run=${date}`;
  return (await laurel.app.get(path)).body.value;
}
const points = async (): Promise<number> =>
  (await laurel.app.get(`/v1/users/${encodeURIComponent(user)}/points/xp`)).body.total;
const differences = () => differencesIn(laurel);

test('a late event moves a leaderboard of streaks like one in time', async () => {
  const twin = `${user} in time`;
  for (const date of ['03', '04', '05', '07', '08']) {
    await to(`${date}T12:00`);
    for (const of of date === '05' ? [twin] : [user, twin]) await event('visits', 1, { of });
  }
  await event('visits', 1, { occurredAt: '06T10:00' });
  expect(await score('streaks', '2030-01-01')).toBe(3);
  expect(await score('streaks', '2030-01-01', twin)).toBe(2);
  await event('visits', 1, { of: twin, occurredAt: '06T10:00' });
  const late = await event('visits', 1, { occurredAt: '05T10:00' });
  expect(late.leaderboards.streaks).toMatchObject({ rank: 1, previousRank: 2 });
  for (const of of [user, twin]) expect(await score('streaks', '2030-01-01', of)).toBe(6);
  const { body } = await laurel.app.get('/v1/leaderboards/streaks');
  expect(body.rankings.map(({ rank, value }: { rank: number; value: number }) => [rank, value])).toEqual([
    [1, 6],
    [1, 6],
  ]);

  // A streak that ended stays ended: the leaderboard shows the open streak.
  await to('12T12:00');
  await event('visits', 1);
  expect(await score('streaks', '2030-01-01')).toBe(1);
  await event('visits', 1, { occurredAt: '10T12:00' });
  expect(await score('streaks', '2030-01-01')).toBe(1);
  await event('visits', 1, { occurredAt: '11T12:00' });
  expect(await score('streaks', '2030-01-01')).toBe(3);
  const last = await event('visits', 1, { occurredAt: '09T12:00' });
  expect(await score('streaks', '2030-01-01')).toBe(10);
  await reverse(last.eventId);
  expect(await score('streaks', '2030-01-01')).toBe(3);
  expect(await differences()).toEqual([]);
});

test('points of a revoked composite leave the day on which they were awarded, and come back to it', async () => {
  await to('10T12:00');
  const { eventId } = await event('visits', 10);
  await to('11T08:00');
  await event('orders', 10);
  expect([await score('points', day('10')), await score('points', day('11'))]).toEqual([10, 100]);
  const { reversalId, revokedAchievements } = await reverse(eventId, { revokeAchievements: true });
  expect(revokedAchievements.toSorted()).toEqual(['both', 'visitor']);
  expect([await points(), await score('points', day('10')), await score('points', day('11'))]).toEqual([0, null, null]);
  await reverse(reversalId);
  expect([await score('points', day('10')), await score('points', day('11'))]).toEqual([10, 100]);

  // The run of the 10th is final by then, that of the 11th is not.
  await to('11T12:01');
  const again = await reverse(eventId, { revokeAchievements: true });
  expect([await points(), await score('points', day('10')), await score('points', day('11'))]).toEqual([0, 10, null]);
  // A leaderboard filled from history agrees.
  const { leaderboards } = CONFIGURATION;
  const filled = { ...leaderboards![0]!, key: 'filled', name: 'Filled' };
  await laurel.admin.put('/v1/configuration', { leaderboards: [...leaderboards!, filled] });
  const fillings = async () =>
    (await laurel.admin.get('/v1/leaderboard-fillings')).body.map(({ status }: { status: string }) => status);
  await expect.poll(fillings).toEqual(['done']);
  expect(await score('filled', day('11'))).toBe(null);
  await to('12T09:00');
  await reverse(again.reversalId);
  expect([await points(), await score('points', day('10')), await score('points', day('11'))]).toEqual([110, 10, 100]);
  expect(await score('points', day('12'))).toBe(null);
  expect(await differences()).toEqual([]);
});

test('reverses a late event on its own day, and its awards on the day of the award', async () => {
  await to('10T12:00');
  await event('visits', 1);
  await to('11T08:00');
  const { eventId } = await event('visits', 5, { occurredAt: '10T20:00' });
  expect([await score('visits', day('10')), await score('visits', day('11'))]).toEqual([6, null]);
  expect([await score('points', day('10')), await score('points', day('11'))]).toEqual([1, 5]);
  const { body } = await laurel.admin.get(`/v1/users/${encodeURIComponent(user)}/timeline?kind=event&limit=1`);
  expect(body.entries).toMatchObject([
    {
      id: eventId,
      at: `${day('11')}T08:00:00.000Z`,
      late: true,
      occurredAt: `${day('10')}T20:00:00.000Z`,
      localDate: day('10'),
      caused: expect.arrayContaining([expect.objectContaining({ kind: 'award', awarded: 5 })]),
    },
  ]);
  await to('11T12:01');
  const { reversalId } = await reverse(eventId);
  expect([await score('visits', day('10')), await score('points', day('10'))]).toEqual([6, 1]);
  expect([await points(), await score('points', day('11'))]).toEqual([1, null]);
  await reverse(reversalId);
  expect([await points(), await score('points', day('11'))]).toEqual([6, 5]);
  expect(await differences()).toEqual([]);
});

test('reversing an event of last month whose runs are final removes totals and points, and keeps final runs', async () => {
  await to('10T12:00');
  const { eventId } = await event('visits', 12);
  month += 1;
  await to('10T12:00');
  await event('visits', 1);
  const { reversalId } = await reverse(eventId, { revokeAchievements: true });
  expect(await points()).toBe(1);
  month -= 1;
  expect([await score('visits', day('10')), await score('points', day('10'))]).toEqual([12, 12]);
  const { body } = await laurel.app.get(
    `/v1/users/${encodeURIComponent(user)}/metrics/visits/event-summary?aggregation=daily&startDate=${day('10')}&endDate=${day('10')}`,
  );
  expect(body).toMatchObject([{ change: 0 }]);
  month += 1;
  expect([await score('visits', day('10')), await score('points', day('10'))]).toEqual([1, 1]);
  await reverse(reversalId);
  expect([await points(), await score('points', day('10'))]).toEqual([13, 1]);
  expect(await differences()).toEqual([]);
});

test('a trigger that is off while an event is reversed does not count the event when it is on again', async () => {
  await to('10T12:00');
  const { eventId } = await event('orders', 6, { gift: true });
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const { body: triggers } = await laurel.admin.get(`/v1/points/${system.id}/triggers`);
  const trigger = triggers.find(({ points: paid }: { points: number }) => paid === 7);
  const set = (status: string) => laurel.admin.patch(`/v1/points/${system.id}/triggers`, [{ id: trigger.id, status }]);
  await to('10T12:01');
  expect((await set('inactive')).body.issues).toEqual([]);
  await reverse(eventId);
  await to('10T12:02');
  expect((await set('active')).body.issues).toEqual([]);
  expect((await event('orders', 6, { gift: true })).points).toEqual({});
  expect((await event('orders', 4, { gift: true })).points.xp).toMatchObject({ added: 7 });

  // Nor does it count an event backwards that it never counted.
  await to('10T12:03');
  await set('inactive');
  const missed = await event('orders', 5, { gift: true });
  await to('10T12:04');
  await set('active');
  await reverse(missed.eventId);
  expect((await event('orders', 10, { gift: true })).points.xp).toMatchObject({ added: 7 });
  expect(await differences()).toEqual([]);
});

test('revokes what a deleted metric, trigger or achievement gave', async () => {
  await to('10T12:00');
  await laurel.admin.post('/v1/metrics', [{ key: 'games', name: 'Games' }]);
  const [metric] = (await laurel.admin.get('/v1/metrics?limit=100')).body.filter(
    ({ key }: { key: string }) => key === 'games',
  );
  const [system] = (await laurel.admin.get('/v1/points')).body;
  const { body: made } = await laurel.admin.post(`/v1/points/${system.id}/triggers`, [
    { type: 'metric', metricId: metric.id, metricThreshold: 1, points: 3, status: 'active' },
  ]);
  expect(made.issues).toEqual([]);
  const { body: won } = await laurel.admin.post('/v1/achievements', [
    { key: 'winner', name: 'Winner', trigger: 'metric', metricId: metric.id, metricValue: 2, status: 'active' },
  ]);
  expect(won.issues).toEqual([]);
  const first = await event('games', 2);
  expect([first.points.xp.added, first.achievements.length]).toEqual([6, 1]);
  const second = await event('games', 1);

  await laurel.admin.delete(`/v1/points/${system.id}/triggers?ids=${made.created[0].id}`);
  await laurel.admin.delete(`/v1/achievements?ids=${won.created[0].id}`);
  expect(await reverse(second.eventId)).toMatchObject({ metricKey: 'games', points: [{ changed: -3, total: 6 }] });
  await laurel.admin.delete(`/v1/metrics?ids=${metric.id}`);
  const answer = await reverse(first.eventId, { revokeAchievements: true });
  expect(answer).toMatchObject({ status: 'reversed', value: -2, total: 0, points: [{ changed: -6, total: 0 }] });
  expect(await points()).toBe(0);
  expect(await reverse(answer.reversalId)).toMatchObject({ status: 'restored', points: [{ changed: 6, total: 6 }] });
  expect(await differences()).toEqual([]);
});
