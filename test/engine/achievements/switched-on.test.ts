import { beforeAll, expect, test } from 'vitest';
import type { ConfiguredAchievement } from '../../../src/domain/configuration.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

type Metric = Partial<ConfiguredAchievement> & { key: string };
const metric = (fields: Metric): ConfiguredAchievement => ({
  name: fields.key,
  trigger: 'metric',
  metricKey: 'm',
  metricValue: 10,
  status: 'active',
  ...fields,
});

let now = Date.parse('2040-01-01T12:00:00Z');
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  await laurel.admin.put('/v1/clock', { now: new Date(now).toISOString() });
});

/** Sets the achievements, and waits until activated ones are backdated. */
async function achievements(...list: ConfiguredAchievement[]): Promise<void> {
  const { status, body } = await laurel.admin.put('/v1/configuration', {
    attributes: [{ key: 'subject', name: 'Subject', type: 'event' }],
    metrics: [{ key: 'm', name: 'M' }],
    achievements: list,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  await laurel.admin.put('/v1/clock', { now: new Date((now += 1_000)).toISOString() });
}

const completed = async (user: string): Promise<string[]> => {
  const { body } = await laurel.app.get(`/v1/users/${user}/achievements`);
  return body.map(({ key }: { key: string }) => key).toSorted();
};

test('backdating: matching past events count, also for streaks; a locked achievement is not backdated; an edit revokes nothing', async () => {
  const total = metric({ key: 'total' });
  const filtered = metric({ key: 'filtered', eventAttributes: [{ key: 'subject', value: 'maths' }] });
  const locked = metric({ key: 'locked', status: 'locked' });
  const streak: ConfiguredAchievement = { key: 's', name: 's', trigger: 'streak', streakLength: 1, status: 'active' };
  await achievements();
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'a' }, value: 9, attributes: { subject: 'maths' } });
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'a' }, value: 1 });
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'b' }, value: 10, attributes: { subject: 'maths' } });
  await laurel.app.post('/v1/metrics/m/event', { user: { id: 'c' }, value: -1 });
  await achievements(total, filtered, locked, streak);
  expect(await completed('a')).toEqual(['s', 'total']);
  expect(await completed('b')).toEqual(['filtered', 's', 'total']);
  expect(await completed('c')).toEqual([]);
  const { body: all } = await laurel.app.get('/v1/achievements');
  expect(all.map(({ key, completions, rarity }: Record<string, unknown>) => [key, completions, rarity])).toEqual([
    ['total', 2, 66.67],
    ['filtered', 1, 33.33],
    ['s', 2, 66.67],
  ]);
  // A raised threshold: nobody loses it. A lowered one: users in between get it. Unlocked again: it is backdated.
  await achievements(
    { ...total, metricValue: 1000 },
    { ...filtered, metricValue: 9 },
    { ...locked, status: 'active' },
    streak,
  );
  expect(await completed('a')).toEqual(['filtered', 'locked', 's', 'total']);
  expect(await completed('c')).toEqual([]);
});
