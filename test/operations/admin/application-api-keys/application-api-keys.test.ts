import { beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const PATH = '/v1/application-api-keys';
const NOW = Date.UTC(2026, 10, 18, 12);
const HOUR_MS = 3_600_000;
const inMs = (ms: number): string => new Date(NOW + ms).toISOString();
const clock = new FixedClock(NOW);

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, clock }));
beforeEach(async () => {
  clock.set(NOW);
  await laurel.pool.query('DELETE FROM application_keys');
});

const make = async (...items: object[]) => (await laurel.admin.post(PATH, items)).body;
const list = async (query = 'limit=100') => (await laurel.admin.get(`${PATH}?${query}`)).body;
const track = async (key: string): Promise<number> =>
  (await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'ada' }, value: 1 }, { key })).status;

test('creates a permanent key for all users and answers it as the contract says', async () => {
  const { created } = await make({ userId: 'ada' }, { userId: 'ada', scope: null, expiresAt: null });
  for (const key of created)
    expect(key).toEqual({
      id: expect.any(String),
      userId: 'ada',
      prefix: expect.stringMatching(/^app_/),
      key: expect.stringMatching(/^app_/),
    });
});

test('checks scope and end item by item', async () => {
  const { created, issues } = await make(
    { userId: 'ada', scope: 'events', expiresAt: '2026-11-18T14:00:00+01:00' },
    { userId: 'ada', scope: 'write' },
    { userId: 'ada', expiresAt: inMs(0) },
    { userId: 'ada', expiresAt: 'tomorrow' },
    { userId: 'ada', expiresAt: inMs(1) },
  );
  expect(created).toMatchObject([{ scope: 'events', expiresAt: inMs(HOUR_MS) }, { expiresAt: inMs(1) }]);
  expect(issues.map(({ message }: { message: string }) => message)).toEqual([
    'scope must be one of: all, read, events, profile',
    'expiresAt must be in the future',
    expect.stringContaining('expiresAt'),
  ]);
});

test('refuses a used key from its end on, by the clock', async () => {
  const { created } = await make({ userId: 'ada', expiresAt: inMs(HOUR_MS) });
  const [{ key }] = created;
  expect(await track(key)).toBe(201);
  clock.set(NOW + HOUR_MS - 1);
  expect(await track(key)).toBe(201);
  clock.set(NOW + HOUR_MS);
  expect(await track(key)).toBe(401);
});

test('the list: oldest first, of one user, paged, with the last use and without secrets', async () => {
  const { created } = await make(
    { userId: 'ada' },
    { userId: 'bob', scope: 'read', expiresAt: inMs(HOUR_MS) },
    { userId: 'ada' },
  );
  const [first, second, third] = created;
  expect(await list()).toEqual([
    {
      id: first.id,
      prefix: first.prefix,
      userId: 'ada',
      scope: 'all',
      expiresAt: null,
      rateLimit: null,
      created: inMs(0),
      lastUsed: null,
    },
    expect.objectContaining({ id: second.id, userId: 'bob', scope: 'read', expiresAt: inMs(HOUR_MS) }),
    expect.objectContaining({ id: third.id }),
  ]);
  expect(JSON.stringify(await list())).not.toContain(first.key.split('.')[1]);
  expect((await list('userId=ada')).map(({ id }: { id: string }) => id)).toEqual([first.id, third.id]);
  expect((await list('limit=1&skip=1')).map(({ id }: { id: string }) => id)).toEqual([second.id]);
  expect(await list('userId=nobody')).toEqual([]);
  expect((await laurel.admin.get(`${PATH}?limit=101`)).status).toBe(422);

  expect(await track(first.key)).toBe(201);
  await expect.poll(async () => (await list())[0].lastUsed).toBe(inMs(0));
  // Once a minute is enough.
  clock.set(NOW + 59_999);
  expect(await track(first.key)).toBe(201);
  clock.set(NOW + 60_000);
  expect(await track(third.key)).toBe(201);
  await expect.poll(async () => (await list())[2].lastUsed).toBe(inMs(60_000));
  expect((await list())[0].lastUsed).toBe(inMs(0));
  expect(await track(first.key)).toBe(201);
  await expect.poll(async () => (await list())[0].lastUsed).toBe(inMs(60_000));
});
