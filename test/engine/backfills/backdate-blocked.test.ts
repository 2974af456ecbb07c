import { beforeAll, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: '2040-01-01T12:00:00.000Z' });
});

const send = (id: string, metric: string, value: number, attributes?: Record<string, string>) =>
  laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id }, value, ...(attributes && { attributes }) });

const completed = async (id: string): Promise<string[]> => {
  const { body } = await laurel.app.get(`/v1/users/${id}/achievements`);
  return body.map(({ key }: { key: string }) => key).toSorted();
};
const points = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/points/coins`)).body.total;

test('backdating: a user who cannot pay a blocking trigger completes nothing, until an event finds enough points', async () => {
  const metric = { trigger: 'metric', metricKey: 'm', status: 'active' } as const;
  const paidFor = { type: 'achievement', points: -30, blockIfOutOfPoints: true, status: 'active' } as const;
  const base = {
    attributes: [{ key: 'subject', name: 'Subject', type: 'event' }],
    metrics: [
      { key: 'm', name: 'M' },
      { key: 'earn', name: 'Earn' },
    ],
  } as const;
  const earning = { type: 'metric', metricKey: 'earn', metricThreshold: 1, points: 1, status: 'active' } as const;
  const system = { key: 'coins', name: 'Coins', triggers: [earning] };
  expect((await laurel.admin.put('/v1/configuration', { ...base, pointsSystems: [system] })).status).toBe(200);
  for (const [id, coins] of Object.entries({ rich: 50, poor: 20, none: 0 })) {
    if (coins > 0) await send(id, 'earn', coins);
    await send(id, 'm', 10, { subject: 'maths' });
  }

  const { status, body } = await laurel.admin.put('/v1/configuration', {
    ...base,
    achievements: [
      { key: 'total', name: 'Total', metricValue: 10, ...metric },
      {
        key: 'maths',
        name: 'Maths',
        metricValue: 10,
        eventAttributes: [{ key: 'subject', value: 'maths' }],
        ...metric,
      },
    ],
    pointsSystems: [{ ...system, triggers: [earning, { ...paidFor, achievementKey: 'maths' }] }],
  });
  expect({ status, body }).toMatchObject({ status: 200 });
  await laurel.admin.put('/v1/clock', { now: '2040-01-01T12:00:10.000Z' });

  // 'total' costs nothing, and is a request of its own.
  expect([await completed('rich'), await points('rich')]).toEqual([['maths', 'total'], 20]);
  expect([await completed('poor'), await points('poor')]).toEqual([['total'], 20]);
  expect([await completed('none'), await points('none')]).toEqual([['total'], 0]);

  // The past counts anyway: as in any event, an unaffordable trigger refuses everything.
  expect((await send('poor', 'm', 1)).status).toBe(422);
  await send('poor', 'earn', 10);
  const { body: paid } = await send('poor', 'm', 1);
  expect(paid.achievements.map(({ key }: { key: string }) => key)).toEqual(['maths']);
  expect([await completed('poor'), await points('poor')]).toEqual([['maths', 'total'], 0]);
});
