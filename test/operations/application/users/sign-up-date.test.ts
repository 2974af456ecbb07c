import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../../src/domain/configuration.ts';
import { startLaurel } from '../../../laurel.ts';
import { opened } from '../../../stack/opened.ts';

const anniversary = (years: number, more: object = {}) => ({
  key: `years-${years}`,
  name: `${years} years`,
  trigger: 'anniversary' as const,
  anniversaryYears: years,
  status: 'active' as const,
  ...more,
});
const CONFIGURATION: Configuration = {
  attributes: [{ key: 'plan', name: 'Plan', type: 'user' }],
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [
    anniversary(1),
    anniversary(3),
    anniversary(4, { status: 'inactive' }),
    anniversary(5, { userAttributes: [{ key: 'plan', value: 'pro' }] }),
    { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['years-1', 'years-3'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'achievement', achievementKey: 'years-1', points: 10, status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: 100, status: 'active' },
      ],
    },
  ],
};

const laurel = opened(() => startLaurel({ testClock: true, workers: true, configuration: CONFIGURATION }));
beforeAll(async () => {
  await clock('2030-03-01T12:00:00Z');
});

const clock = async (now: string): Promise<void> => {
  expect((await laurel.admin.put('/v1/clock', { now })).status).toBe(200);
};
const identify = (id: string, fields: object) => laurel.app.put(`/v1/users/${id}`, fields);
const act = (id: string, fields: object = {}) =>
  laurel.app.post('/v1/metrics/flips/event', { user: { id, ...fields }, value: 1 });
/** Key → when it was achieved. */
const completed = async (id: string): Promise<Record<string, string>> => {
  const { body } = await laurel.app.get(`/v1/users/${id}/achievements`);
  return Object.fromEntries(body.map(({ key, achievedAt }: { key: string; achievedAt: string }) => [key, achievedAt]));
};
const points = async (id: string): Promise<number> => (await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total;

test('a calendar day, not after the user’s today; an absent field stays', async () => {
  expect((await identify('s', {})).body).toMatchObject({ signUpDate: null });
  expect((await identify('s', { signUpDate: '2029-05-06T23:30:00-02:00' })).body).toMatchObject({
    signUpDate: '2029-05-07',
  });
  expect((await identify('s', { signUpDate: null, name: 'S' })).body).toMatchObject({ signUpDate: '2029-05-07' });
  expect((await laurel.app.get('/v1/users/s')).body).toMatchObject({ signUpDate: '2029-05-07', name: 'S' });

  // It is the 2nd already where the user is, or not yet the 1st.
  expect((await act('east', { tz: 'Pacific/Kiritimati', signUpDate: '2030-03-02' })).status).toBe(201);
  const future = { status: 422, body: { error: "user.signUpDate must not be after the user's local date." } };
  expect(await act('west', { signUpDate: '2030-03-02' })).toMatchObject(future);
  expect(await act('west', { tz: 'Etc/GMT+12', signUpDate: '2030-03-02' })).toMatchObject(future);
  expect((await act('west', { tz: 'Etc/GMT+12', signUpDate: '2030-03-01' })).status).toBe(201);
  expect(await identify('west', { signUpDate: '2030-03-02' })).toMatchObject(future);
  expect(await identify('west', { signUpDate: '2031-01-01' })).toMatchObject(future);
  expect(await act('nobody', { signUpDate: '2030-03-02' })).toMatchObject(future);
  expect((await laurel.app.get('/v1/users/nobody')).status).toBe(404);
  expect(await identify('west', { signUpDate: '2029-02-29' })).toMatchObject({
    status: 422,
    body: { error: "user.signUpDate '2029-02-29' is not a calendar day." },
  });
  expect((await identify('west', { signUpDate: 'yesterday' })).status).toBe(400);
  expect((await identify('west', { signUpDate: '' })).status).toBe(400);
  expect((await laurel.app.get('/v1/users/west')).body.signUpDate).toBe('2030-03-01');

  // An export has it too.
  const { body } = await laurel.admin.get('/v1/users/west/export');
  expect(body.user.signUpDate).toBe('2030-03-01');
});

test('a batch accepts it; refuses only events with a date after today', async () => {
  const events = [
    { key: 'flips', user: { id: 'batch', signUpDate: '2020-01-01' }, value: 1 },
    { key: 'flips', user: { id: 'batch', signUpDate: '2030-03-02' }, value: 1 },
    { key: 'flips', user: { id: 'batch', signUpDate: null }, value: 1 },
  ];
  expect((await laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
  await expect.poll(async () => (await laurel.app.get('/v1/users/batch')).body.signUpDate).toBe('2020-01-01');
  await expect.poll(async () => (await laurel.app.get('/v1/users/batch/metrics/flips')).body.current).toBe(2);
});

test('anniversaries complete at the local midnight, year after year, with points and composites', async () => {
  await identify('kiribati', { tz: 'Pacific/Kiritimati', signUpDate: '2028-02-29' });
  await identify('niue', { tz: 'Pacific/Niue', signUpDate: '2029-06-15' });
  await act('kiribati');
  // 29 February 2028 was a year ago on 1 March 2029, before it was known: it counted when it was set.
  await clock('2030-03-01T12:00:01Z');
  expect(await completed('kiribati')).toEqual({ 'years-1': '2030-03-01T12:00:00.000Z' });
  expect(await points('kiribati')).toBe(10);
  await clock('2030-06-15T10:59:59Z');
  expect(await completed('niue')).toEqual({});
  await clock('2030-06-15T11:00:00Z');
  expect(await completed('niue')).toEqual({ 'years-1': '2030-06-15T11:00:00.000Z' });

  // Three years are over on 1 March 2031, at local midnight; the composite follows at once.
  await clock('2031-02-28T09:59:59Z');
  expect(await completed('kiribati')).not.toHaveProperty('years-3');
  await clock('2031-02-28T10:00:00Z');
  const at = '2031-02-28T10:00:00.000Z';
  expect(await completed('kiribati')).toMatchObject({ 'years-3': at, both: at });
  expect(await points('kiribati')).toBe(110);
});

test('several years at once: each is dated on its day', async () => {
  await identify('early', { signUpDate: '2031-02-28' });
  await clock('2037-05-05T00:00:00Z');
  expect(await completed('early')).toEqual({
    'years-1': '2032-02-28T00:00:00.000Z',
    'years-3': '2034-02-28T00:00:00.000Z',
    both: '2034-02-28T00:00:00.000Z',
  });
  expect(await points('early')).toBe(110);
});

test("a date set late counts at the clock's next check; a later date revokes nothing", async () => {
  await act('late');
  await act('late', { signUpDate: '2033-01-01' });
  await clock('2037-05-05T00:00:01Z');
  const at = '2037-05-05T00:00:00.000Z';
  expect(await completed('late')).toEqual({ 'years-1': at, 'years-3': at, both: at });
  await identify('late', { signUpDate: '2037-05-05' });
  await clock('2037-05-06T00:00:00Z');
  expect(await completed('late')).toMatchObject({ 'years-1': at });
  expect(await points('late')).toBe(110);
});

test('conditions count at the midnight, and from then on with the next event', async () => {
  await identify('pro', { signUpDate: '2030-05-05' });
  await clock('2037-05-06T00:00:01Z');
  expect(await completed('pro')).not.toHaveProperty('years-5');
  await identify('pro', { attributes: { plan: 'pro' } });
  expect(await completed('pro')).not.toHaveProperty('years-5');
  const { body } = await act('pro');
  expect(body.achievements).toMatchObject([{ key: 'years-5', trigger: 'anniversary', anniversaryYears: 5 }]);
});

test('a later activation is backdated', async () => {
  const all = (await laurel.admin.get('/v1/achievements?limit=100')).body;
  const { id } = all.find(({ key }: { key: string }) => key === 'years-4');
  const before = await completed('late');
  expect((await laurel.admin.patch('/v1/achievements', [{ id, status: 'active' }])).body.issues).toEqual([]);
  await expect.poll(() => completed('early')).toHaveProperty('years-4');
  await expect.poll(() => completed('pro')).toHaveProperty('years-4');
  // A user whose date has changed does not get it.
  expect(await completed('late')).toEqual(before);
});
