import type { Pool, PoolClient } from 'pg';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { createRecomputing } from '../../../src/engine/recomputations/recomputation-job.ts';
import { JobRunner } from '../../../src/engine/schedule/job-runner.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { emptyRedis } from '../../stack/all-servers.ts';
import { stored } from '../../model/stored.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { dump } from '../rebuild/dump.ts';
import { backdated, make, plan } from '../recomputations/recompute-laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const QUEST = { trigger: 'metric', metricKey: 'cards', metricValue: 10, status: 'active' } as const;
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'deck', name: 'Deck', type: 'event' }],
  metrics: [{ key: 'cards', name: 'Cards' }],
  achievements: [
    { ...QUEST, key: 'day', name: 'Every day', repeat: 'daily' },
    {
      ...QUEST,
      key: 'verbs',
      name: 'Verbs',
      metricValue: 2.5,
      eventAttributes: [{ key: 'deck', value: 'verbs' }],
      repeat: { days: 3 },
    },
    { ...QUEST, key: 'week', name: 'Every week', metricValue: 30, repeat: 'weekly', status: 'inactive' },
    { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['day', 'verbs'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'achievement', achievementKey: 'day', points: 5, status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: 100, status: 'active' },
      ],
    },
  ],
};

let redis: TestLaurel['redis'];
const laurel = opened(() => startLaurel({ testClock: true, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  await redisReady(redis);
  await to('2030-03-01T12:00:00Z');
  await laurel.admin.put('/v1/configuration', CONFIGURATION);
  await backdated(laurel);
});

const to = async (now: string): Promise<void> =>
  expect((await laurel.admin.put('/v1/clock', { now })).status).toBe(200);

// oxlint-disable-next-line typescript/no-explicit-any -- answers of the API
type Answer = any;

async function event(id: string, value: number, more: Record<string, unknown> = {}): Promise<Answer> {
  const { tz, ...rest } = more;
  const sent = { user: { id, ...(tz !== undefined && { tz }) }, value, ...rest };
  const { status, body } = await laurel.app.post('/v1/metrics/cards/event', sent);
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
}

async function quest(id: string, key: string): Promise<Answer> {
  const { body } = await laurel.app.get(`/v1/users/${id}/achievements?includeIncomplete=true`);
  return body.find((one: { key: string }) => one.key === key);
}

const completedBy = ({ achievements }: Answer): string[] => achievements.map(({ key }: { key: string }) => key).sort();

const progressOf = ({ achievementProgress }: Answer, key: string): Answer =>
  achievementProgress.find((one: { key: string }) => one.key === key);

const points = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total;

async function idOf(key: string): Promise<string> {
  const { body } = await laurel.admin.get('/v1/achievements');
  return body.find((one: { key: string }) => one.key === key).id;
}

async function change(key: string, fields: object): Promise<void> {
  const { body } = await laurel.admin.patch('/v1/achievements', [{ id: await idOf(key), ...fields }]);
  expect(body.issues).toEqual([]);
}

const differences = () => differencesIn({ redis, pool: laurel.pool });

/** Redis holds what Postgres does, also after a rebuild. */
async function rebuilt(): Promise<void> {
  await expect.poll(differences).toEqual([]);
  const before = await dump(redis);
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  expect(await dump(redis)).toEqual(before);
}

test('completes once a period, counts completions, shows progress and pays each', async () => {
  await to('2030-03-02T12:00:00Z');
  const first = await event('ana', 7.5);
  expect(first.achievements).toEqual([]);
  expect(first.achievementProgress).toEqual([
    {
      id: await idOf('day'),
      key: 'day',
      name: 'Every day',
      metricValue: 10,
      repeat: 'daily',
      timesCompleted: 0,
      period: { start: '2030-03-02', end: '2030-03-02', progress: 7.5, completed: false },
    },
  ]);
  const second = await event('ana', 2.5, { attributes: { deck: 'verbs' } });
  expect(completedBy(second)).toEqual(['both', 'day', 'verbs']);
  expect(second.achievements.find((one: Answer) => one.key === 'day')).toMatchObject({
    achievedAt: '2030-03-02T12:00:00.000Z',
    repeat: 'daily',
    timesCompleted: 1,
    period: { progress: 10, completed: true },
  });
  const third = await event('ana', 20, { attributes: { deck: 'verbs' } });
  expect(completedBy(third)).toEqual([]);
  expect(progressOf(third, 'day')).toMatchObject({ timesCompleted: 1, period: { progress: 30, completed: true } });
  expect(await points('ana')).toBe(105);

  await to('2030-03-03T12:00:00Z');
  expect(await quest('ana', 'day')).toMatchObject({
    timesCompleted: 1,
    period: { start: '2030-03-03', progress: 0, completed: false },
    completions: 1,
  });
  const next = await event('ana', 10);
  expect(completedBy(next)).toEqual(['day']);
  expect(await points('ana')).toBe(110);
  expect(await quest('ana', 'day')).toMatchObject({
    achievedAt: '2030-03-03T12:00:00.000Z',
    timesCompleted: 2,
    // Users, not completions.
    completions: 1,
  });
  const once = await quest('ana', 'both');
  expect(once).not.toHaveProperty('timesCompleted');
  expect(once).not.toHaveProperty('repeat');
  await rebuilt();
  expect(await quest('ana', 'day')).toMatchObject({ timesCompleted: 2, period: { progress: 10, completed: true } });
});

test('a traveller finds the day again that was completed before', async () => {
  await to('2030-03-05T11:00:00Z');
  expect(completedBy(await event('leo', 10, { tz: 'Pacific/Kiritimati' }))).toEqual(['day']);
  const west = await event('leo', 10, { tz: 'Etc/GMT+12' });
  expect(progressOf(west, 'day').period).toEqual({
    start: '2030-03-04',
    end: '2030-03-04',
    progress: 10,
    completed: true,
  });
  expect(completedBy(west)).toEqual(['day']);
  for (const tz of ['Pacific/Kiritimati', 'UTC', 'Etc/GMT+12', 'UTC', 'Pacific/Kiritimati'])
    await event('leo', 10, { tz });
  // One for each local day, however often the user comes back to it.
  expect(await quest('leo', 'day')).toMatchObject({ timesCompleted: 3, period: { start: '2030-03-06', progress: 30 } });
});

test('late events count in their own period, however long ago', async () => {
  for (let day = 10; day <= 15; day += 1) {
    await to(`2030-03-${day}T12:00:00Z`);
    await event('mia', 6);
  }
  const late = await event('mia', 4, { occurredAt: '2030-03-10T13:00:00Z' });
  expect(completedBy(late)).toEqual(['day']);
  expect(progressOf(late, 'day').period).toEqual({
    start: '2030-03-10',
    end: '2030-03-10',
    progress: 10,
    completed: true,
  });
  expect(completedBy(await event('mia', 4, { occurredAt: '2030-03-10T14:00:00Z' }))).toEqual([]);
  expect(completedBy(await event('mia', 4, { occurredAt: '2030-03-14T14:00:00Z' }))).toEqual(['day']);
  expect(await quest('mia', 'day')).toMatchObject({ timesCompleted: 2, period: { progress: 6, completed: false } });
  await rebuilt();
});

test('a reversal lowers the sum of the period and, if asked, takes its completion back', async () => {
  await to('2030-04-01T12:00:00Z');
  await event('kim', 6);
  const { eventId: old } = await event('kim', 4);
  for (let day = 2; day <= 5; day += 1) {
    await to(`2030-04-0${day}T12:00:00Z`);
    await event('kim', 3);
  }
  const { eventId } = await event('kim', 7);
  expect([await points('kim'), (await quest('kim', 'day')).timesCompleted]).toEqual([10, 2]);
  const reverse = async (id: string, revokeAchievements: boolean): Promise<Answer> => {
    const { status, body } = await laurel.admin.post(`/v1/events/${id}/reverse`, { revokeAchievements });
    expect([status, body.error]).toEqual([200, undefined]);
    return body;
  };
  const kept = await reverse(eventId, false);
  expect(kept.revokedAchievements).toEqual([]);
  expect(await quest('kim', 'day')).toMatchObject({ timesCompleted: 2, period: { progress: 3, completed: true } });
  await reverse(kept.reversalId, false);
  const taken = await reverse(eventId, true);
  expect(taken.revokedAchievements).toEqual(['day']);
  expect(await quest('kim', 'day')).toMatchObject({
    achievedAt: '2030-04-01T12:00:00.000Z',
    timesCompleted: 1,
    period: { progress: 3, completed: false },
    completions: expect.any(Number),
  });
  expect(await points('kim')).toBe(5);
  await reverse(taken.reversalId, false);
  expect(await quest('kim', 'day')).toMatchObject({
    achievedAt: '2030-04-05T12:00:00.000Z',
    timesCompleted: 2,
    period: { progress: 10, completed: true },
  });
  // A period that the user's state no longer keeps.
  const earlier = await reverse(old, true);
  expect(earlier.revokedAchievements).toEqual(['day']);
  expect(await quest('kim', 'day')).toMatchObject({ timesCompleted: 1, achievedAt: '2030-04-05T12:00:00.000Z' });
  await reverse(earlier.reversalId, false);
  expect((await quest('kim', 'day')).timesCompleted).toBe(2);
  expect(await points('kim')).toBe(10);
  await rebuilt();
});

test('an achievement that becomes active counts the events of the current period', async () => {
  await to('2030-04-10T12:00:00Z');
  await event('ben', 25);
  await to('2030-04-11T12:00:00Z');
  await event('ben', 6, { attributes: { deck: 'nouns' } });
  await change('week', { status: 'active' });
  await backdated(laurel);
  expect(await quest('ben', 'week')).toMatchObject({
    timesCompleted: 1,
    period: { start: '2030-04-07', end: '2030-04-13', progress: 31, completed: true },
  });
  await to('2030-04-15T12:00:00Z');
  expect(completedBy(await event('ben', 30))).toEqual(['day', 'week']);
  await rebuilt();
});

test('a recomputation completes and takes back past periods by the current rules', async () => {
  await to('2030-05-01T12:00:00Z');
  for (let day = 1; day <= 6; day += 1) {
    await to(`2030-05-0${day}T12:00:00Z`);
    await event('zoe', day === 1 ? 12 : 6);
  }
  expect([(await quest('zoe', 'day')).timesCompleted, await points('zoe')]).toEqual([1, 5]);
  const before = await quest('zoe', 'day');
  await change('day', { metricValue: 6 });
  await backdated(laurel);
  // Today's period at once.
  expect(await quest('zoe', 'day')).toMatchObject({ timesCompleted: 2, period: { completed: true } });
  const since = '2030-05-01';
  const planned = await plan(laurel, { what: ['achievements', 'points'], since });
  expect(planned.samples.gaining).toMatchObject([
    { userId: 'zoe', gained: ['day'], lost: [], points: [{ key: 'xp', from: 10, to: 30 }] },
  ]);
  await make(laurel, planned.id, 'apply');
  expect([(await quest('zoe', 'day')).timesCompleted, await points('zoe')]).toEqual([6, 30]);
  expect((await event('zoe', 1)).achievements).toEqual([]);
  await rebuilt();
  await make(laurel, planned.id, 'revert');
  expect(await quest('zoe', 'day')).toMatchObject({ timesCompleted: 2, achievedAt: '2030-05-06T12:00:00.000Z' });
  expect(await points('zoe')).toBe(10);
  await rebuilt();

  await change('day', { metricValue: 10 });
  await backdated(laurel);
  for (const what of [['achievements' as const], ['achievements' as const, 'points' as const]]) {
    const taken = await plan(laurel, { what, since, mayRevoke: true });
    expect(taken.samples.losing).toMatchObject([
      { userId: 'zoe', gained: [], lost: ['day'], points: [{ key: 'xp', from: 10, to: 5 }] },
    ]);
    await make(laurel, taken.id, 'apply');
    expect([(await quest('zoe', 'day')).timesCompleted, await points('zoe')]).toEqual([1, 5]);
    expect((await quest('zoe', 'day')).achievedAt).toBe(before.achievedAt);
    await rebuilt();
    await make(laurel, taken.id, 'revert');
    expect([(await quest('zoe', 'day')).timesCompleted, await points('zoe')]).toEqual([2, 10]);
  }
  await rebuilt();
});

test('an import brings a completion for each period, and the sums of the latest ones', async () => {
  await to('2030-06-05T12:00:00Z');
  const user = {
    id: 'new',
    metrics: { cards: { total: 40, days: { '2030-06-03': 12, '2030-06-04': 14, '2030-06-05': 4 } } },
    achievements: [
      { key: 'day', achievedAt: '2030-06-03T10:00:00Z' },
      { key: 'day', achievedAt: '2030-06-04T10:00:00Z' },
    ],
  };
  const { status, body } = await laurel.admin.post('/v1/imports?import=other', [user]);
  expect([status, body.issues]).toEqual([201, []]);
  expect(await quest('new', 'day')).toMatchObject({
    achievedAt: '2030-06-04T10:00:00.000Z',
    timesCompleted: 2,
    period: { start: '2030-06-05', progress: 4, completed: false },
  });
  expect(completedBy(await event('new', 6))).toContain('day');
  await rebuilt();
});

test('the preview counts users who would complete the current period', async () => {
  await to('2030-06-10T12:00:00Z');
  await event('kai', 3);
  await event('lou', 2);
  const body = { name: 'Three', trigger: 'metric', metricId: (await laurel.admin.get('/v1/metrics')).body[0].id };
  const preview = async (metricValue: number): Promise<Answer> =>
    (await laurel.admin.post('/v1/achievements/preview', { ...body, metricValue, repeat: 'daily' })).body;
  await expect.poll(() => preview(3)).toMatchObject({ users: 1, sample: ['kai'] });
  await to('2030-06-11T12:00:00Z');
  expect(await preview(3)).toMatchObject({ users: 0 });
});

test('weeks that begin on another day are counted again', async () => {
  await to('2030-06-15T12:00:00Z');
  await event('ivy', 20);
  await to('2030-06-16T12:00:00Z');
  await event('ivy', 12);
  expect((await quest('ivy', 'week')).period).toEqual({
    start: '2030-06-16',
    end: '2030-06-22',
    progress: 12,
    completed: false,
  });
  expect((await laurel.admin.patch('/v1/streaks/settings', { weekStart: 'monday' })).status).toBe(200);
  await backdated(laurel);
  expect(await quest('ivy', 'week')).toMatchObject({
    timesCompleted: 1,
    period: { start: '2030-06-10', end: '2030-06-16', progress: 32, completed: true },
  });
  await rebuilt();
});

test('only metrics repeat, and how often cannot change', async () => {
  const create = async (fields: object): Promise<Answer> =>
    (await laurel.admin.post('/v1/achievements', [{ name: 'Bad', ...fields }])).body.issues;
  expect(await create({ trigger: 'streak', streakLength: 3, repeat: 'daily' })).toMatchObject([
    { message: expect.stringContaining("repeat: only for trigger 'metric'") },
  ]);
  const { body } = await laurel.admin.patch('/v1/achievements', [{ id: await idOf('day'), repeat: 'weekly' }]);
  expect(JSON.stringify(body)).toContain('repeat');
  expect((await quest('ana', 'day')).repeat).toBe('daily');
  const changed = structuredClone(CONFIGURATION);
  changed.achievements![0]!.repeat = 'weekly';
  const { status, body: answer } = await laurel.admin.put('/v1/configuration', changed);
  expect([status, JSON.stringify(answer)]).toEqual([422, expect.stringContaining('repeat')]);
});

test('verify finds a lost completion and a wrong sum', async () => {
  await to('2030-06-20T12:00:00Z');
  await event('pia', 10);
  await expect.poll(differences).toEqual([]);
  await laurel.pool.query("UPDATE completions SET period = period - 1 WHERE user_id = 'pia'");
  const found = await differences();
  expect(found).toHaveLength(1);
  expect(found[0]!.part).toMatch(/^achievement \d+$/);
  expect(found[0]!.redis).toMatch(/^completed 1 times; \d+: 10, completed$/);
  expect(found[0]!.postgres).toMatch(/^completed 1 times; \d+: 10$/);
  await laurel.pool.query("UPDATE completions SET period = period + 1 WHERE user_id = 'pia'");
  await laurel.pool.query("UPDATE events SET value = 11 WHERE user_id = 'pia'");
  expect((await differences()).map(({ postgres }) => postgres)).toEqual([
    expect.stringMatching(/: 11, completed/),
    // The weekly one.
    expect.stringMatching(/: 11$/),
  ]);
  await laurel.pool.query("UPDATE events SET value = 10 WHERE user_id = 'pia'");
  expect(await differences()).toEqual([]);
});

test('a season counts only the events of its days, and completes within it', async () => {
  await to('2030-07-01T12:00:00Z');
  const season = { ...QUEST, name: 'Summer', key: 'summer', startDate: '2030-07-03', endDate: '2030-07-05' };
  const { metricKey: _, ...fields } = season;
  const metricId = (await laurel.admin.get('/v1/metrics')).body[0].id as string;
  const { body } = await laurel.admin.post('/v1/achievements', [{ ...fields, metricId }]);
  expect(body.issues).toEqual([]);
  await backdated(laurel);
  expect((await event('sam', 9)).achievementProgress.map(({ key }: Answer) => key)).not.toContain('summer');
  expect(await quest('sam', 'summer')).toMatchObject({
    startDate: '2030-07-03',
    endDate: '2030-07-05',
    achievedAt: null,
  });
  expect(await quest('sam', 'summer')).not.toHaveProperty('period');
  await to('2030-07-04T12:00:00Z');
  const inside = await event('sam', 9);
  expect(progressOf(inside, 'summer')).toMatchObject({
    period: { start: '2030-07-03', end: '2030-07-05', progress: 9, completed: false },
  });
  expect(progressOf(inside, 'summer')).not.toHaveProperty('timesCompleted');
  await event('tom', 9);
  await to('2030-07-10T12:00:00Z');
  expect(completedBy(await event('tom', 9))).not.toContain('summer');
  expect(completedBy(await event('sam', 1, { occurredAt: '2030-07-05T09:00:00Z' }))).toContain('summer');
  expect(completedBy(await event('sam', 9, { occurredAt: '2030-07-05T10:00:00Z' }))).not.toContain('summer');
  await change('summer', { endDate: '2030-07-10' });
  await backdated(laurel);
  expect((await quest('tom', 'summer')).achievedAt).toBe('2030-07-10T12:00:00.000Z');
  expect((await quest('sam', 'summer')).period).toMatchObject({ progress: 19, completed: true });
  const none = await laurel.admin.patch('/v1/achievements', [
    { id: await idOf('summer'), startDate: null, endDate: null },
  ]);
  expect(JSON.stringify(none.body)).toContain('cannot get its first date');
  await rebuilt();
});

test('a secret achievement shows neither name nor rule nor progress until it is completed, except to admin keys', async () => {
  await to('2030-08-01T12:00:00Z');
  const metricId = (await laurel.admin.get('/v1/metrics')).body[0].id as string;
  const { metricKey: _, ...fields } = QUEST;
  const hidden = { ...fields, metricId, key: 'hidden-gem', name: 'Hidden gem', repeat: 'daily', secret: true };
  const { body } = await laurel.admin.post('/v1/achievements', [{ ...hidden, description: 'A gem' }]);
  expect(body.issues).toEqual([]);
  const { id } = body.created[0];
  const systemId = (await laurel.admin.get('/v1/points')).body[0].id as string;
  const trigger = { type: 'achievement', achievementId: id, points: 1, status: 'active' };
  expect((await laurel.admin.post(`/v1/points/${systemId}/triggers`, [trigger])).body.issues).toEqual([]);
  await backdated(laurel);
  const answer = await event('eve', 9);
  expect(JSON.stringify(answer)).not.toContain('gem');
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'eve' }])).body.created[0];
  const paths = [
    '/v1/achievements',
    '/v1/users/eve/achievements?includeIncomplete=true',
    '/v1/users/eve/metrics',
    '/v1/users/eve/metrics/cards',
    '/v1/users/eve/points/xp',
    '/v1/points/xp',
  ];
  const read = async (path: string, by?: string): Promise<string> =>
    JSON.stringify((await laurel.app.get(path, by === undefined ? {} : { key: by })).body);
  await created({ key: 'next', name: 'Next', metricValue: 1000, requires: [id] });
  for (const path of paths) expect(`${path} ${await read(path, key)}`).not.toContain('gem');
  expect(JSON.parse(await read(paths[0]!, key)).find((one: Answer) => one.key === 'next')).not.toHaveProperty(
    'requires',
  );
  const shown = JSON.parse(await read(paths[1]!, key)).find((one: Answer) => one.id === id);
  expect(shown).toEqual({
    id,
    name: 'Secret',
    trigger: 'metric',
    description: null,
    badgeUrl: null,
    secret: true,
    userAttributes: [],
    achievedAt: null,
    completions: 0,
    rarity: 0,
  });
  for (const path of [paths[0]!, paths[1]!, paths[2]!, paths[5]!]) expect(await read(path)).toContain('Hidden gem');
  expect(completedBy(await event('eve', 1))).toContain('hidden-gem');
  for (const path of [paths[1]!, paths[2]!]) expect(await read(path, key)).toContain('Hidden gem');
  expect(await read(paths[0]!, key)).not.toContain('gem');
});

/** Creates active achievements and waits until they are backdated. Returns their IDs. */
async function created(...items: object[]): Promise<string[]> {
  const metricId = (await laurel.admin.get('/v1/metrics')).body[0].id as string;
  const { metricKey: _, ...fields } = QUEST;
  const sent = items.map((item: Answer) => ({
    ...((item.trigger ?? 'metric') === 'metric' ? { ...fields, metricId } : { status: 'active' }),
    ...item,
  }));
  const { body } = await laurel.admin.post('/v1/achievements', sent);
  expect(body.issues).toEqual([]);
  await backdated(laurel);
  return body.created.map(({ id }: { id: string }) => id);
}

const completeByCall = (id: string, key: string): Promise<Answer> =>
  laurel.app.post(`/v1/achievements/${key}/complete`, { user: { id } });

test('an achievement that requires others completes with the last of its own rule and these', async () => {
  await to('2030-09-01T12:00:00Z');
  const api = { trigger: 'api', name: 'By call' };
  const [first] = await created({ ...api, key: 'tutorial', name: 'Tutorial' });
  const [second, third] = await created(
    { key: 'hundred', name: 'Hundred', metricValue: 100, requires: [first] },
    { ...api, key: 'expert', name: 'Expert', requires: [first] },
  );
  await created({ key: 'two-hundred', name: 'Two hundred', metricValue: 200, requires: [second, third] });
  const own = ({ achievements }: Answer): string[] =>
    achievements
      .map(({ key }: Answer) => key)
      .filter((key: string) => /hundred|expert|tutorial/.test(key))
      .sort();
  expect(own(await event('uma', 250))).toEqual([]);
  const refused = await completeByCall('uma', 'expert');
  expect([refused.status, refused.body.error]).toEqual([
    409,
    "The user must complete these achievements first: 'tutorial'.",
  ]);
  expect((await completeByCall('uma', 'tutorial')).status).toBe(201);
  expect((await quest('uma', 'hundred')).achievedAt).toBe('2030-09-01T12:00:00.000Z');
  expect((await quest('uma', 'two-hundred')).achievedAt).toBeNull();
  expect((await completeByCall('uma', 'expert')).status).toBe(201);
  expect((await quest('uma', 'two-hundred')).achievedAt).toBe('2030-09-01T12:00:00.000Z');
  expect((await quest('uma', 'two-hundred')).requires).toEqual([second, third]);
  expect((await quest('uma', 'tutorial')).requires).toBeUndefined();
  // The same event completes what is required, and what requires it.
  expect((await completeByCall('vic', 'tutorial')).status).toBe(201);
  expect(own(await event('vic', 99.5))).toEqual([]);
  expect(own(await event('vic', 0.5))).toEqual(['hundred']);
  await rebuilt();

  const { body } = await laurel.admin.patch('/v1/achievements', [{ id: first, requires: [second] }]);
  expect(body.issues).toMatchObject([{ reason: 'requires: form a cycle: tutorial → hundred → tutorial' }]);
  const gone = await laurel.admin.delete(`/v1/achievements?ids=${first}`);
  expect(gone.body.issues).toHaveLength(1);
  const { body: stored } = await laurel.admin.get('/v1/achievements');
  expect(stored.find(({ id }: Answer) => id === second).requires).toEqual([first]);
  expect(stored.find(({ id }: Answer) => id === first)).not.toHaveProperty('requires');
  const { body: document } = await laurel.admin.get('/v1/configuration');
  expect(document.achievements.find(({ key }: Answer) => key === 'two-hundred')).toMatchObject({
    requiresKeys: ['hundred', 'expert'],
  });
  expect((await laurel.admin.post('/v1/configuration/diff', document)).body.changes).toEqual([]);
});

test('an anniversary that requires another completes with the year, or later with the required one', async () => {
  await to('2030-09-10T12:00:00Z');
  const [tour] = await created({ key: 'tour', name: 'Tour', trigger: 'api' });
  await created({ key: 'loyal', name: 'Loyal', trigger: 'anniversary', anniversaryYears: 1, requires: [tour] });
  for (const id of ['abe', 'bea'])
    expect((await laurel.app.post('/v1/users', { id, signUpDate: '2029-09-11' })).status).toBe(201);
  expect((await completeByCall('abe', 'tour')).status).toBe(201);
  await to('2030-09-11T12:00:00Z');
  await expect.poll(async () => (await quest('abe', 'loyal')).achievedAt).toBe('2030-09-11T00:00:00.000Z');
  expect((await quest('bea', 'loyal')).achievedAt).toBeNull();
  expect((await completeByCall('bea', 'tour')).status).toBe(201);
  expect((await quest('bea', 'loyal')).achievedAt).toBe('2030-09-11T12:00:00.000Z');
  await rebuilt();
});

test('an import keeps completions whatever they require; others follow with the next event', async () => {
  await to('2030-09-12T12:00:00Z');
  const achievedAt = '2030-09-01T10:00:00.000Z';
  const { status, body } = await laurel.admin.post('/v1/imports?import=chains', [
    {
      id: 'cal',
      metrics: { cards: { total: 120, days: { '2030-09-02': 120 } } },
      achievements: [{ key: 'tutorial', achievedAt }],
    },
    { id: 'dan', achievements: [{ key: 'expert', achievedAt }] },
  ]);
  expect([status, body.issues]).toEqual([201, []]);
  expect((await quest('dan', 'expert')).achievedAt).toBe(achievedAt);
  expect((await quest('dan', 'tutorial')).achievedAt).toBeNull();
  expect((await quest('cal', 'hundred')).achievedAt).toBeNull();
  expect(completedBy(await event('cal', 1))).toContain('hundred');
  expect(completedBy(await event('dan', 250))).not.toContain('hundred');
  expect((await completeByCall('dan', 'tutorial')).status).toBe(201);
  for (const key of ['hundred', 'two-hundred'])
    expect((await quest('dan', key)).achievedAt).toBe('2030-09-12T12:00:00.000Z');
  await rebuilt();
});

test('a repeating achievement that requires another completes its current period, and no earlier one', async () => {
  await to('2030-10-01T12:00:00Z');
  const [start] = await created({ key: 'start', name: 'Start', trigger: 'api' });
  const [daily] = await created({ key: 'after-start', name: 'After start', repeat: 'daily', requires: [start] });
  await created({ key: 'after-daily', name: 'After daily', repeat: 'weekly', requires: [daily] });
  await event('wes', 12);
  await to('2030-10-02T12:00:00Z');
  await event('wes', 12);
  expect(await quest('wes', 'after-start')).toMatchObject({
    timesCompleted: 0,
    period: { progress: 12, completed: false },
  });
  expect((await completeByCall('wes', 'start')).status).toBe(201);
  for (const key of ['after-start', 'after-daily'])
    expect(await quest('wes', key)).toMatchObject({ timesCompleted: 1, period: { completed: true } });
  await rebuilt();
  await to('2030-10-03T12:00:00Z');
  expect(completedBy(await event('wes', 12))).toContain('after-start');
  expect((await quest('wes', 'after-start')).timesCompleted).toBe(2);
  const planned = await plan(laurel, { what: ['achievements'], mayRevoke: true, since: '2030-10-01' });
  expect(JSON.stringify(planned.samples)).not.toContain('wes');
  await rebuilt();
});

test('a reversal takes back what required the completion that it takes back', async () => {
  await to('2030-11-01T12:00:00Z');
  const [five] = await created({ key: 'five', name: 'Five', metricValue: 5 });
  await created({ key: 'three', name: 'Three', metricValue: 3, requires: [five] });
  await event('xia', 4);
  const { eventId, achievements } = await event('xia', 1);
  expect(completedBy({ achievements })).toEqual(expect.arrayContaining(['five', 'three']));
  const { body } = await laurel.admin.post(`/v1/events/${eventId}/reverse`, { revokeAchievements: true });
  expect(body.revokedAchievements).toEqual(expect.arrayContaining(['five', 'three']));
  expect((await quest('xia', 'three')).achievedAt).toBeNull();
  await laurel.admin.post(`/v1/events/${body.reversalId}/reverse`, {});
  expect((await quest('xia', 'three')).achievedAt).not.toBeNull();
  await rebuilt();
});

test('reverting a recomputation does not restore a period that a late event has completed since', async () => {
  for (let day = 1; day <= 5; day += 1) {
    await to(`2030-12-0${day}T12:00:00Z`);
    await event('yan', day === 1 ? 12 : 6);
  }
  await change('day', { metricValue: 15 });
  await backdated(laurel);
  const taken = await plan(laurel, { what: ['achievements'], since: '2030-12-01', mayRevoke: true });
  await make(laurel, taken.id, 'apply');
  expect((await quest('yan', 'day')).timesCompleted).toBe(0);
  expect(completedBy(await event('yan', 4, { occurredAt: '2030-12-01T13:00:00Z' }))).toContain('day');
  const paid = await points('yan');
  await make(laurel, taken.id, 'revert');
  expect([(await quest('yan', 'day')).timesCompleted, await points('yan')]).toEqual([1, paid]);
  await rebuilt();
});

test('reverting an earlier recomputation does not take back a period that a later one has taken back', async () => {
  for (let day = 1; day <= 5; day += 1) {
    await to(`2031-01-0${day}T12:00:00Z`);
    await event('zac', 8);
  }
  const recompute = async (metricValue: number): Promise<string> => {
    await change('day', { metricValue });
    await backdated(laurel);
    const { id } = await plan(laurel, { what: ['achievements'], since: '2031-01-01', mayRevoke: true });
    await make(laurel, id, 'apply');
    return id;
  };
  const given = await recompute(8);
  expect((await quest('zac', 'day')).timesCompleted).toBe(5);
  await recompute(10);
  expect((await quest('zac', 'day')).timesCompleted).toBe(0);
  // A late event completes the first period again, which the user's state does not keep.
  await to('2031-01-05T13:00:00Z');
  expect(completedBy(await event('zac', 4, { occurredAt: '2031-01-01T13:00:00Z' }))).toContain('day');
  await make(laurel, given, 'revert');
  expect((await quest('zac', 'day')).timesCompleted).toBe(1);
  await rebuilt();
});

test('a recomputation takes what was paid for a completion, once; reverted, the last completion is again the one before', async () => {
  const since = '2031-03-01';
  const recompute = async (): Promise<string> => {
    const { id } = await plan(laurel, { what: ['achievements'], since, mayRevoke: true });
    await make(laurel, id, 'apply');
    return id;
  };
  const require = async (metricValue: number): Promise<void> => {
    await change('day', { metricValue });
    await backdated(laurel);
  };
  const ids: string[] = [];
  for (let day = 1; day <= 3; day += 1) {
    await to(`2031-03-0${day}T12:00:00Z`);
    ids.push((await event('nia', 8)).eventId);
  }
  await require(8);
  await recompute();
  expect([(await quest('nia', 'day')).timesCompleted, await points('nia')]).toEqual([3, 15]);
  // Two periods were paid at the same time, and one of them is lost.
  await laurel.admin.post(`/v1/events/${ids[0]}/reverse`, {});
  await recompute();
  expect([(await quest('nia', 'day')).timesCompleted, await points('nia')]).toEqual([2, 10]);
  await to('2031-03-04T12:00:00Z');
  const { eventId } = await event('nia', 12);
  // The reversal has taken the points, and the completion stays.
  await laurel.admin.post(`/v1/events/${eventId}/reverse`, {});
  await to('2031-03-05T12:00:00Z');
  await event('nia', 5);
  await to('2031-03-06T12:00:00Z');
  await require(5);
  expect([(await quest('nia', 'day')).timesCompleted, await points('nia')]).toEqual([3, 10]);
  const last = await recompute();
  expect([(await quest('nia', 'day')).timesCompleted, await points('nia')]).toEqual([3, 15]);
  await make(laurel, last, 'revert');
  expect(await quest('nia', 'day')).toMatchObject({ timesCompleted: 3, achievedAt: '2031-03-04T12:00:00.000Z' });
  expect(await points('nia')).toBe(10);
  await rebuilt();
});

test('an event that completes a period while a recomputation is being reverted counts once', async () => {
  const clock = new FixedClock(Date.parse('2031-02-01T12:00:00Z'));
  const own = await startLaurel({ configuration: CONFIGURATION, clock });
  onTestFinished(() => own.close());
  const flips = async (value: number, occurredAt?: string): Promise<Answer> =>
    (await own.app.post('/v1/metrics/cards/event', { user: { id: 'amy' }, value, ...(occurredAt && { occurredAt }) }))
      .body;
  const store = () => stored(own.redis, own.pool, 0);
  for (let day = 1; day <= 5; day += 1) {
    clock.set(Date.parse(`2031-02-0${day}T12:00:00Z`));
    await flips(12);
  }
  await store();
  const changed = structuredClone(CONFIGURATION);
  changed.achievements![0]!.metricValue = 15;
  expect((await own.admin.put('/v1/configuration', changed)).status).toBe(200);
  let meanwhile = async (): Promise<void> => undefined;
  const pool = afterReading(own.pool, 'FROM completions', () => meanwhile());
  const runner = new JobRunner({
    pool,
    works: [createRecomputing({ redis: own.redis, pool, clock, onWritten: () => undefined })],
  });
  const { body } = await own.admin.post('/v1/recomputations', {
    what: ['achievements'],
    mayRevoke: true,
    dryRun: false,
  });
  const until = async (wanted: string): Promise<Answer> => {
    for (;;) {
      await store();
      await runner.step();
      const now = (await own.admin.get(`/v1/recomputations/${body.id}`)).body;
      if (now.status === wanted) return now;
    }
  };
  await until('applied');
  const times = async (): Promise<number> =>
    (await own.app.get('/v1/users/amy/achievements?includeIncomplete=true')).body.find(
      ({ key }: Answer) => key === 'day',
    ).timesCompleted;
  expect(await times()).toBe(0);
  meanwhile = async () => {
    meanwhile = async () => undefined;
    expect(completedBy(await flips(3, '2031-02-01T13:00:00Z'))).toContain('day');
  };
  expect((await own.admin.post(`/v1/recomputations/${body.id}/revert`, undefined)).status).toBe(202);
  expect((await until('reverted')).outcome).toMatchObject({ reverted: 1, skipped: 0 });
  expect(await times()).toBe(5);
  await store();
  const rows = await own.pool.query("SELECT FROM completions WHERE user_id = 'amy' AND period <> 0");
  expect(rows.rowCount).toBe(5);
  expect(await differencesIn({ redis: own.redis, pool: own.pool })).toEqual([]);
});

test('what an event completes again right after a reversal is stored, also in the same transaction', async () => {
  const own = await startLaurel({ configuration: CONFIGURATION });
  onTestFinished(() => own.close());
  const store = () => stored(own.redis, own.pool, 0);
  const flips = async (): Promise<Answer> =>
    (await own.app.post('/v1/metrics/cards/event', { user: { id: 'max' }, value: 12 })).body;
  const { eventId } = await flips();
  await store();
  const { body } = await own.admin.post(`/v1/events/${eventId}/reverse`, { revokeAchievements: true });
  expect(body.revokedAchievements).toEqual(['day']);
  expect(completedBy(await flips())).toEqual(['day']);
  await store();
  expect((await own.pool.query("SELECT FROM completions WHERE user_id = 'max'")).rowCount).toBe(1);
  expect(await differencesIn({ redis: own.redis, pool: own.pool })).toEqual([]);
});

/** The pool, with work at the end of each transaction that made a query with a text. */
function afterReading(pool: Pool, text: string, work: () => Promise<void>): Pool {
  const connect = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    type Statement = string | { text: string };
    const query = client.query.bind(client) as (statement: Statement, values?: unknown[]) => Promise<unknown>;
    const release = client.release.bind(client);
    let isRead = false;
    return Object.assign(Object.create(client) as PoolClient, {
      query: async (statement: Statement, values?: unknown[]) => {
        const result = await query(statement, values);
        isRead ||= (typeof statement === 'string' ? statement : statement.text).includes(text);
        if (statement === 'COMMIT' && isRead) await work();
        return result;
      },
      release,
    });
  };
  return Object.assign(Object.create(pool) as Pool, { connect, query: pool.query.bind(pool) });
}

test('nobody can confirm the key of a secret achievement by guessing: calls that cannot complete it get 404', async () => {
  await to('2031-04-01T12:00:00Z');
  const [first] = await created({ trigger: 'api', key: 'open', name: 'Open' });
  await created({ key: 'by-cards', name: 'By cards', metricValue: 1_000, secret: true });
  await created({ trigger: 'api', key: 'by-call', name: 'By call', secret: true, requires: [first] });
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'guesser' }])).body.created[0];
  const complete = async (achievement: string, more: object, user: object = {}) => {
    const body = { user: { id: 'guesser', ...user } };
    const { status, body: answer } = await laurel.app.post(`/v1/achievements/${achievement}/complete`, body, more);
    return { status, code: answer.code, error: answer.error?.replaceAll(achievement, 'KEY') };
  };
  const unknown = await complete('no-such', { key });
  expect(unknown.status).toBe(404);
  for (const secret of ['by-cards', 'by-call']) expect(await complete(secret, { key })).toEqual(unknown);
  // Invalid fields are refused before any achievement is looked for.
  const invalid = { attributes: { nowhere: 'x' } };
  for (const any of ['no-such', 'by-cards', 'by-call'])
    expect(await complete(any, { key }, invalid)).toEqual(await complete('open', { key }, invalid));
  // An admin key gets the reason.
  expect([(await complete('by-cards', {})).status, (await complete('by-call', {})).status]).toEqual([422, 409]);
  expect([(await complete('open', { key })).status, (await complete('by-call', { key })).status]).toEqual([201, 201]);
});
