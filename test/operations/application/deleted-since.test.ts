import { beforeAll, describe, expect, test } from 'vitest';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const user = { id: 'ada' };

async function made(path: string, item: object): Promise<string> {
  const { status, body } = await laurel.admin.post(path, [item]);
  if (status !== 201) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`);
  return body.created[0].id as string;
}

async function gone(path: string, id: string): Promise<void> {
  const { body } = await laurel.admin.delete(`${path}?ids=${id}`);
  if (body.issues.length > 0) throw new Error(`${path} answered ${JSON.stringify(body)}`);
}

const laurel = opened(() => startLaurel({ workers: true }));
beforeAll(async () => {
  const metricId = await made('/v1/metrics', { name: 'Old flips', key: 'flips' });
  const achievement = { name: 'Old first', key: 'first', trigger: 'metric', metricId, metricValue: 1 };
  const achievementId = await made('/v1/achievements', { ...achievement, status: 'active' });
  const systemId = await made('/v1/points', {
    name: 'Old XP',
    key: 'xp',
    triggers: [{ type: 'metric', metricId, metricThreshold: 1, points: 2, status: 'active' }],
  });
  const { status } = await laurel.app.post('/v1/metrics/flips/event', { user, value: 3 });
  if (status !== 201) throw new Error(`the event was answered ${status}`);
  await gone('/v1/points', systemId);
  await gone('/v1/achievements', achievementId);
  await gone('/v1/metrics', metricId);
});

describe('a deleted resource', () => {
  test('is gone from GET and lists', async () => {
    for (const path of ['/v1/users/ada/metrics/flips', '/v1/points/xp', '/v1/users/ada/points/xp'])
      expect((await laurel.app.get(path)).status).toBe(404);
    for (const path of ['/v1/achievements', '/v1/users/ada/achievements', '/v1/users/ada/metrics'])
      expect((await laurel.app.get(path)).body).toEqual([]);
  });

  test('keeps its name in history: a wrapped year shows it', async () => {
    const { body } = await laurel.app.get('/v1/users/ada/wrapped');
    for (const period of [body.activity.entireYear, body.activity.mostActiveDay]) {
      expect(period.metrics).toMatchObject({ flips: { name: 'Old flips', changeThisPeriod: 3 } });
      expect(period.points).toMatchObject({ xp: { name: 'Old XP', changeThisPeriod: 6 } });
      expect(period.achievements).toMatchObject([{ name: 'Old first', metricName: 'Old flips' }]);
    }
  });

  test('leaves its key to a new one, whose name appears where both had values', async () => {
    await made('/v1/metrics', { name: 'New flips', key: 'flips' });
    const before = await laurel.app.get('/v1/users/ada/wrapped');
    expect(before.body.activity.entireYear.metrics.flips).toMatchObject({ name: 'Old flips', currentTotal: 3 });
    const { body } = await laurel.app.post('/v1/metrics/flips/event', { user, value: 5 });
    expect(body.total).toBe(5);
    const after = await laurel.app.get('/v1/users/ada/wrapped');
    expect(after.body.activity.entireYear.metrics).toMatchObject({ flips: { name: 'New flips', changeThisPeriod: 5 } });
  });
});
