import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type UpdateUserPreferencesRequest,
  UserPreferencesResponse,
} from '../../../src/domain/notifications/preferences.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { expectFit, TestUsers } from './test-users.ts';
import { opened } from '../../stack/opened.ts';

const builder = new CatalogBuilder();
const flips = builder.metric('flips');
builder.metric('minutes');
builder.streaks({ personalization: true, metrics: [{ metricId: flips.id, threshold: 10 }] });
const BOTH = ['email', 'push'];
const ALL = { achievement_completed: BOTH, recap: BOTH, reactivation: BOTH, streak_reminder: BOTH };

const stack = opened(() => testStack({ database: 'none' }));
const laurel = opened(() => new TestUsers(stack.redisUrl, builder.catalog));
beforeAll(async () => {
  await laurel.ready();
});
beforeEach(() => {
  laurel.catalog = builder.catalog;
});

async function prefer(id: string, request: UpdateUserPreferencesRequest): Promise<UserPreferencesResponse> {
  const answer = await laurel.profiles.updatePreferences(laurel.compiled(), id, request);
  expectFit(UserPreferencesResponse, answer);
  expect(await laurel.profiles.preferences(laurel.compiled(), id)).toEqual(answer);
  return answer;
}
const extended = async (id: string, metric: string, value: number): Promise<boolean> =>
  (await laurel.event(metric, id, value)).currentStreak.extended;

test('notifications: every channel by default; sent fields replace, the rest stays', async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'a', {});
  expect(await laurel.profiles.preferences(laurel.compiled(), 'a')).toEqual({
    notifications: ALL,
    streak: { enabled: true },
  });
  expect((await prefer('a', { notifications: { recap: ['push'], reactivation: [] } })).notifications).toEqual({
    ...ALL,
    recap: ['push'],
    reactivation: [],
  });
  const request = { notifications: { recap: ['email' as const], streak_reminder: ['push' as const] } };
  expect((await prefer('a', request)).notifications).toEqual({
    achievement_completed: BOTH,
    recap: ['email'],
    reactivation: [],
    streak_reminder: ['push'],
  });
  expect((await prefer('a', {})).notifications).toMatchObject({ recap: ['email'] });
});

test('an unknown user is 404 and is not created', async () => {
  await expect(prefer('nobody', { notifications: {} })).rejects.toMatchObject({ status: 404 });
  await expect(laurel.profiles.preferences(laurel.compiled(), 'nobody')).rejects.toMatchObject({ status: 404 });
});

test("a user's own streak rule decides which events count, and an empty list removes it", async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'b', {});
  expect(await prefer('b', { streak: { metrics: [{ key: 'minutes', threshold: 0.5 }] } })).toMatchObject({
    streak: { enabled: true, metrics: [{ key: 'minutes', threshold: 0.5 }] },
  });
  expect(await extended('b', 'flips', 100)).toBe(false);
  expect(await extended('b', 'minutes', 0.25)).toBe(false);
  expect(await extended('b', 'minutes', 0.25)).toBe(true);
  await laurel.profiles.upsert(laurel.compiled(), 'b2', {});
  await prefer('b2', { streak: { metrics: [{ key: 'minutes', threshold: 1 }] } });
  expect((await prefer('b2', { streak: { metrics: [] } })).streak).toEqual({ enabled: true });
  expect(await extended('b2', 'minutes', 1)).toBe(false);
  expect(await extended('b2', 'flips', 10)).toBe(true);
});

test('AND asks for every metric; the mode alone can be set', async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'c', {});
  await prefer('c', { streak: { metrics: ['flips', 'minutes'].map((key) => ({ key, threshold: 2 })) } });
  expect((await prefer('c', { streak: { evaluationMode: 'AND' } })).streak).toEqual({
    enabled: true,
    evaluationMode: 'AND',
    metrics: [
      { key: 'flips', threshold: 2 },
      { key: 'minutes', threshold: 2 },
    ],
  });
  expect(await extended('c', 'flips', 5)).toBe(false);
  expect(await extended('c', 'minutes', 2)).toBe(true);
});

test('a metric that was deleted since does not count', async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'd', {});
  const metrics = ['flips', 'minutes'].map((key) => ({ key, threshold: 1 }));
  await prefer('d', { streak: { evaluationMode: 'AND', metrics } });
  laurel.catalog = { ...builder.catalog, metrics: [flips] };
  expect(await extended('d', 'flips', 1)).toBe(true);
  expect((await laurel.profiles.preferences(laurel.compiled(), 'd')).streak?.metrics).toEqual([metrics[0]]);
});

test('a user whose own metrics were all deleted has the common rule, and keeps the mode', async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'd2', {});
  await prefer('d2', { streak: { evaluationMode: 'AND', metrics: [{ key: 'minutes', threshold: 1 }] } });
  laurel.catalog = { ...builder.catalog, metrics: [flips] };
  expect((await laurel.profiles.preferences(laurel.compiled(), 'd2')).streak).toEqual({
    enabled: true,
    evaluationMode: 'AND',
  });
  expect(await extended('d2', 'flips', 9)).toBe(false);
  expect(await extended('d2', 'flips', 1)).toBe(true);
  // A metric that gets the key of a deleted one is another one.
  const other = { ...builder.catalog.metrics[1]!, id: '00000000-0000-7000-8000-000000000099', no: 99 };
  laurel.catalog = { ...builder.catalog, metrics: [flips, other] };
  expect((await laurel.profiles.preferences(laurel.compiled(), 'd2')).streak).not.toHaveProperty('metrics');
});

test('a streak that is switched off is not extended', async () => {
  await laurel.profiles.upsert(laurel.compiled(), 'e', {});
  await prefer('e', { streak: { enabled: false } });
  expect(await extended('e', 'flips', 50)).toBe(false);
  await prefer('e', { streak: { enabled: true } });
  expect(await extended('e', 'flips', 50)).toBe(true);
});

describe('without personalization', () => {
  beforeEach(() => {
    laurel.catalog = { ...builder.catalog, streaks: { ...builder.catalog.streaks, personalization: false } };
  });

  test.each([
    { evaluationMode: 'AND' as const },
    { metrics: [{ key: 'flips', threshold: 1 }] },
    { metrics: [] },
    { daysOff: [0] },
    { enabled: false, daysOff: [] },
  ])('%j is 403 and changes nothing', async (streak) => {
    await laurel.profiles.upsert(laurel.compiled(), 'f', {});
    await expect(prefer('f', { streak })).rejects.toMatchObject({ status: 403 });
    expect(await laurel.profiles.preferences(laurel.compiled(), 'f')).toMatchObject({ streak: { enabled: true } });
  });

  test('a rule that was set before does not count', async () => {
    laurel.catalog = builder.catalog;
    await laurel.profiles.upsert(laurel.compiled(), 'f2', {});
    await prefer('f2', { streak: { metrics: [{ key: 'flips', threshold: 1000 }] } });
    laurel.catalog = { ...builder.catalog, streaks: { ...builder.catalog.streaks, personalization: false } };
    const { streak } = await laurel.profiles.preferences(laurel.compiled(), 'f2');
    expect(streak).toEqual({ enabled: true });
    expect(await extended('f2', 'flips', 10)).toBe(true);
  });

  test('a user switches the streak off and on again', async () => {
    await laurel.profiles.upsert(laurel.compiled(), 'f3', {});
    expect((await prefer('f3', { streak: { enabled: false } })).streak).toEqual({ enabled: false });
    expect(await extended('f3', 'flips', 50)).toBe(false);
    expect((await prefer('f3', { streak: { enabled: true } })).streak).toEqual({ enabled: true });
    expect(await extended('f3', 'flips', 50)).toBe(true);
  });
});

test.each([
  [{ key: 'nope', threshold: 1 }],
  [{ key: '__proto__', threshold: 1 }],
  [{ key: 'flips', threshold: 0 }],
  [{ key: 'flips', threshold: -1 }],
  [{ key: 'flips', threshold: 1e300 }],
  [
    { key: 'flips', threshold: 1 },
    { key: 'flips', threshold: 2 },
  ],
])('the metrics %j are 422', async (...metrics) => {
  await laurel.profiles.upsert(laurel.compiled(), 'g', {});
  await expect(prefer('g', { streak: { metrics } })).rejects.toMatchObject({ status: 422 });
});

test('days off: everyone’s, replaced by the user’s own from the next local midnight', async () => {
  const everyone = { ...builder.catalog.streaks, metrics: [], daysOff: [0, 6] };
  laurel.catalog = { ...builder.catalog, streaks: everyone };
  const streakOf = async (id: string) => (await laurel.event('flips', id, 1)).currentStreak;
  laurel.clock.set(Date.parse('2026-11-20T12:00:00Z')); // a Friday
  expect(await streakOf('off')).toMatchObject({ length: 1, expires: '2026-11-23' });
  laurel.clock.set(Date.parse('2026-11-21T12:00:00Z'));
  expect((await prefer('off', { streak: { daysOff: [1] } })).streak).toEqual({ enabled: true, daysOff: [1] });
  // Today stays off, as it began; from tomorrow on only Mondays are.
  laurel.clock.set(Date.parse('2026-11-22T12:00:00Z'));
  expect(await streakOf('off')).toMatchObject({ length: 2, started: '2026-11-20', expires: '2026-11-24' });
  laurel.clock.set(Date.parse('2026-11-24T12:00:00Z'));
  expect(await streakOf('off')).toMatchObject({ length: 3, expires: '2026-11-25' });
  // An event on a day off counts like on any other day.
  laurel.clock.set(Date.parse('2026-11-25T12:00:00Z'));
  await prefer('off', { streak: { daysOff: [] } });
  expect(await streakOf('off')).toMatchObject({ length: 4 });
  laurel.clock.set(Date.parse('2026-11-29T12:00:00Z'));
  expect(await streakOf('off')).toMatchObject({ length: 1, started: '2026-11-29' });
});

test('days off are refused unless streaks are daily, and not shown', async () => {
  await laurel.event('flips', 'weekly', 1);
  await prefer('weekly', { streak: { daysOff: [2] } });
  laurel.catalog = { ...builder.catalog, streaks: { ...builder.catalog.streaks, frequency: 'weekly' } };
  const refusal = { status: 422, message: 'streak.daysOff: only while the frequency of streaks is daily.' };
  await expect(prefer('weekly', { streak: { daysOff: [2] } })).rejects.toMatchObject(refusal);
  expect((await prefer('weekly', {})).streak).toEqual({ enabled: true });
});
