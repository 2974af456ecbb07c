import { expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() =>
  startLaurel({
    workers: true,
    testClock: true,
    configuration: {
      metrics: [{ key: 'flips', name: 'Flips' }],
      pointsSystems: [
        {
          key: 'xp',
          name: 'XP',
          triggers: [{ type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 1, status: 'active' }],
        },
      ],
      leaderboards: [
        {
          key: 'daily',
          name: 'Daily',
          rankBy: 'metric',
          metricKey: 'flips',
          start: '2030-01-01',
          runUnit: 'day',
          runInterval: 1,
          status: 'active',
        },
        { key: 'ever', name: 'Ever', rankBy: 'metric', metricKey: 'flips', start: '2030-01-01', status: 'active' },
      ],
      streaks: { enabled: true, frequency: 'daily', freezes: { enabled: true, initial: 1, max: 1 } },
    },
  }),
);

const to = async (time: string): Promise<void> =>
  expect((await laurel.admin.put('/v1/clock', { now: `${time}:00.000Z` })).status).toBe(200);
const flip = async (user: string): Promise<string> =>
  (await laurel.app.post('/v1/metrics/flips/event', { user: { id: user }, value: 3 })).body.eventId as string;
const reverse = async (id: string) => (await laurel.admin.post(`/v1/events/${id}/reverse`, {})).body;
const streak = async (user: string) => {
  const { body } = await laurel.app.get(`/v1/users/${user}/streak?historyPeriods=4`);
  return {
    length: body.length as number,
    freezes: body.freezes as number,
    history: (body.streakHistory as { length: number }[]).map(({ length }) => length),
  };
};
const places = async (board: string, day: string): Promise<[string, number][]> => {
  const { body } = await laurel.app.get(`/v1/leaderboards/${board}?run=${day}`);
  return (body.rankings as { userId: string; value: number }[]).map(({ userId, value }) => [userId, value]);
};

test('a day within a streak that nothing meets any more takes a freeze or ends the streak; restoring it gives the freeze back', async () => {
  const days = ['2030-01-10T12:00', '2030-01-11T12:00', '2030-01-12T12:00', '2030-01-13T12:00'];
  const ids: string[] = [];
  for (const day of days) {
    await to(day);
    ids.push(await flip('ada'));
  }
  const whole = { length: 4, freezes: 1, history: [1, 2, 3, 4] };
  expect(await streak('ada')).toEqual(whole);

  const second = await reverse(ids[1]!);
  expect(second).toMatchObject({ status: 'reversed', streak: 3 });
  expect(await streak('ada')).toMatchObject({ length: 3, freezes: 0 });
  const third = await reverse(ids[2]!);
  expect(third).toMatchObject({ status: 'reversed', streak: 1 });
  expect(await streak('ada')).toMatchObject({ length: 1 });

  expect(await reverse(second.reversalId)).toMatchObject({ status: 'restored', total: 9 });
  expect(await reverse(third.reversalId)).toMatchObject({ status: 'restored', streak: 4, total: 12 });
  expect(await streak('ada')).toEqual(whole);
});

test('final runs never move, others do; Redis agrees with Postgres', async () => {
  await to('2030-02-01T12:00');
  const old = await flip('bob');
  await to('2030-02-10T12:00');
  const today = await flip('bob');
  await flip('bob');
  const final = await places('daily', '2030-02-01');
  expect(final).toEqual([['bob', 3]]);
  expect((await places('ever', '2030-01-01')).find(([id]) => id === 'bob')).toEqual(['bob', 9]);
  await reverse(old);
  await reverse(today);
  expect(await places('daily', '2030-02-01')).toEqual(final);
  expect(await places('daily', '2030-02-10')).toEqual([['bob', 3]]);
  expect((await places('ever', '2030-01-01')).find(([id]) => id === 'bob')).toEqual(['bob', 3]);

  await to('2030-02-10T12:01');
  expect(await differencesIn(laurel)).toEqual([]);
});
