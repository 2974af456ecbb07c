import { beforeAll, describe, expect, test } from 'vitest';
import type { TestClient } from '../../http/client.ts';
import { startLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

// What an application key may write of its user, and read of the others.

const laurel = opened(async () => {
  const paid = { type: 'user_creation', points: 50_000, status: 'active' } as const;
  return startLaurel({
    workers: true,
    configuration: {
      attributes: [
        { key: 'plan', name: 'Plan', type: 'user' },
        { key: 'staff', name: 'Staff', type: 'user', writableBy: 'server' },
        { key: 'city', name: 'City', type: 'user', writableBy: 'user' },
        { key: 'theme', name: 'Theme', type: 'user' },
        { key: 'deck', name: 'Deck', type: 'event' },
      ],
      metrics: [{ key: 'flips', name: 'Flips' }],
      achievements: [
        { key: 'tour', name: 'Tour', trigger: 'api', status: 'active' },
        { key: 'veteran', name: 'Veteran', trigger: 'anniversary', anniversaryYears: 50, status: 'active' },
      ],
      pointsSystems: [
        { key: 'xp', name: 'XP', triggers: [{ ...paid, userAttributes: [{ key: 'plan', value: 'pro' }] }] },
      ],
      leaderboards: [
        {
          key: 'cities',
          name: 'By city',
          rankBy: 'metric',
          metricKey: 'flips',
          start: '2026-01-01',
          breakdownAttributes: ['city'],
          status: 'active',
        },
      ],
    },
  });
});

const keyOf = async (userId: string, scope = 'all'): Promise<string> =>
  (await laurel.admin.post('/v1/application-api-keys', [{ userId, scope }])).body.created[0].key;

interface Said {
  id: string;
  key: string;
}
const EVENT = '/v1/metrics/flips/event';

/** Every way in which an application key sends fields of its user. */
const WAYS: Record<string, (said: Said, fields: object) => ReturnType<TestClient['post']>> = {
  'an event': ({ id, key }, fields) => laurel.app.post(EVENT, { user: { id, ...fields }, value: 1 }, { key }),
  'an event by its other path': ({ id, key }, fields) =>
    laurel.app.post(`/api${EVENT.slice(3)}`, { user: { id, ...fields }, value: 1 }, { key }),
  'an event with its time': ({ id, key }, fields) =>
    laurel.app.post(EVENT, { user: { id, ...fields }, value: 1, occurredAt: new Date().toISOString() }, { key }),
  'a completion': ({ id, key }, fields) =>
    laurel.app.post('/v1/achievements/tour/complete', { user: { id, ...fields } }, { key }),
  POST: ({ id, key }, fields) => laurel.app.post('/v1/users', { id, ...fields }, { key }),
  PUT: ({ id, key }, fields) => laurel.app.send('PUT', `/v1/users/${id}`, { body: fields, key }),
  PATCH: ({ id, key }, fields) => laurel.app.patch(`/v1/users/${id}`, fields, { key }),
};

const serverOnly = (field: string) => [422, `user.${field} may be changed with admin keys only (writableBy 'server').`];
const outcome = ({ status, body }: Awaited<ReturnType<TestClient['post']>>) => [status, body.error];

describe.each(Object.entries(WAYS))('with %s a user', (way, send) => {
  beforeAll(() => laurel.admin.patch('/v1/events/settings', { clientsMaySendLate: true }));
  const name = way.replaceAll(' ', '-');

  test('may not write what rules refer to, server-side fields, or the sign-up date', async () => {
    const said = { id: name, key: await keyOf(name) };
    // PATCH changes an existing user; the others create one.
    if (way === 'PATCH') await laurel.app.post('/v1/users', { id: name });
    expect(outcome(await send(said, { attributes: { plan: 'pro' } }))).toEqual(serverOnly('attributes.plan'));
    expect(outcome(await send(said, { attributes: { theme: 'dark', staff: 'x' } }))).toEqual(
      serverOnly('attributes.staff'),
    );
    expect(outcome(await send(said, { signUpDate: '1970-01-01' }))).toEqual(serverOnly('signUpDate'));
    expect((await laurel.app.get(`/v1/users/${name}`)).status).toBe(way === 'PATCH' ? 200 : 404);
    expect((await send(said, { tz: 'Europe/Oslo', attributes: { theme: 'dark', city: 'Oslo' } })).status).toBeLessThan(
      300,
    );
    const { body } = await laurel.app.get(`/v1/users/${name}`);
    expect(body).toMatchObject({ attributes: { theme: 'dark', city: 'Oslo' }, signUpDate: null });
    expect((await laurel.app.get(`/v1/users/${name}/points/xp`)).body.total).toBe(0);
  });

  test('may repeat stored values, and change none of them', async () => {
    const id = `${name}-again`;
    const said = { id, key: await keyOf(id) };
    const stored = { signUpDate: '2020-02-29', attributes: { plan: 'pro', staff: '' } };
    expect((await laurel.app.post('/v1/users', { id, ...stored })).status).toBe(201);
    expect((await send(said, stored)).status).toBeLessThan(300);
    expect((await send(said, { signUpDate: '2020-02-29T23:00:00-05:00' })).status).toBe(422);
    expect(outcome(await send(said, { signUpDate: '2020-02-28' }))).toEqual(serverOnly('signUpDate'));
    expect(outcome(await send(said, { attributes: { plan: 'pro', staff: 'x' } }))).toEqual(
      serverOnly('attributes.staff'),
    );
    expect((await laurel.app.get(`/v1/users/${id}`)).body).toMatchObject(stored);
  });
});

test('a retry of a counted event is a replay, whatever user data it contains', async () => {
  const key = await keyOf('retry');
  const event = { user: { id: 'retry' }, value: 1 };
  const sent = (name: string) => ({ key, headers: { 'Idempotency-Key': name } });
  const first = await laurel.app.post(EVENT, event, sent('once'));
  const again = { ...event, user: { id: 'retry', attributes: { plan: 'pro' } } };
  const second = await laurel.app.post(EVENT, again, sent('once'));
  expect([second.status, second.body.eventId]).toEqual([202, first.body.eventId]);
  expect((await laurel.app.post(EVENT, again, sent('other'))).status).toBe(422);
  expect((await laurel.app.post(EVENT, event, sent('other'))).status).toBe(201);
});

test('a refused event beside others of the same user leaves nothing behind', async () => {
  const key = await keyOf('beside');
  const fields = [{}, { attributes: { theme: 'x', plan: 'pro' } }, { tz: 'Asia/Tokyo' }, { signUpDate: '2000-01-01' }];
  const sent = await Promise.all(
    fields.map((user) => laurel.app.post(EVENT, { user: { id: 'beside', ...user }, value: 1 }, { key })),
  );
  expect(sent.map(({ status }) => status)).toEqual([201, 422, 201, 422]);
  const { body } = await laurel.app.get('/v1/users/beside');
  expect(body).toMatchObject({ attributes: {}, tz: 'Asia/Tokyo', signUpDate: null });
  expect((await laurel.app.get('/v1/users/beside/metrics/flips')).body.current).toBe(2);
});

test('the rules and the settings decide what users may write', async () => {
  const key = await keyOf('follows');
  const set = (fields: object) => laurel.app.send('PUT', '/v1/users/follows', { body: fields, key });
  const themed = async () => (await set({ attributes: { theme: String(Math.random()) } })).status;
  expect(await themed()).toBe(200);
  const { body: attributes } = await laurel.admin.get('/v1/attributes');
  const theme = attributes.find((one: { key: string }) => one.key === 'theme');
  expect(theme).toMatchObject({ writableBy: null, effectiveWritableBy: 'user' });
  const [achievement] = (
    await laurel.admin.post('/v1/achievements', [
      {
        name: 'Dark',
        key: 'dark',
        trigger: 'api',
        status: 'inactive',
        userAttributes: [{ attributeId: theme.id, attributeValue: 'dark' }],
      },
    ])
  ).body.created;
  await expect.poll(themed).toBe(422);
  expect((await laurel.admin.get(`/v1/attributes/${theme.id}`)).body).toMatchObject({
    writableBy: null,
    effectiveWritableBy: 'server',
  });
  const change = async (writableBy: string | null) =>
    (await laurel.admin.patch('/v1/attributes', [{ id: theme.id, writableBy }])).body.updated[0];
  expect(await change('user')).toMatchObject({ writableBy: 'user', effectiveWritableBy: 'user' });
  await expect.poll(themed).toBe(200);
  expect(await change(null)).toMatchObject({ writableBy: null, effectiveWritableBy: 'server' });
  await laurel.admin.delete(`/v1/achievements?ids=${achievement.id}`);
  await expect.poll(themed).toBe(200);

  expect((await set({ signUpDate: '2001-01-01' })).status).toBe(422);
  await laurel.admin.patch('/v1/events/settings', { signUpDateWritableBy: 'user' });
  await expect.poll(async () => (await set({ signUpDate: '2001-01-01' })).status).toBe(200);
  const { body: document } = await laurel.admin.get('/v1/configuration');
  expect(document.events).toMatchObject({ signUpDateWritableBy: 'user' });
  expect(document.attributes).toEqual([
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'staff', name: 'Staff', type: 'user', writableBy: 'server' },
    { key: 'city', name: 'City', type: 'user', writableBy: 'user' },
    { key: 'theme', name: 'Theme', type: 'user' },
    { key: 'deck', name: 'Deck', type: 'event' },
  ]);
  await laurel.admin.patch('/v1/events/settings', { signUpDateWritableBy: 'server' });
});

test('nobody can set an attribute of events', async () => {
  const { body } = await laurel.admin.post('/v1/attributes', [
    { key: 'tag', name: 'Tag', type: 'event', writableBy: 'user' },
  ]);
  expect(body.issues[0].message).toContain('writableBy: only for attributes of users');
});

test('a key of the scope events sends nothing of its user but the ID', async () => {
  const id = 'scoped';
  const key = await keyOf(id, 'events');
  const send = (user: object, path = EVENT) => laurel.app.post(path, { user: { id, ...user }, value: 1 }, { key });
  const FIELDS = {
    email: 'x@example.com',
    name: 'X',
    tz: 'Asia/Tokyo',
    signUpDate: '2020-01-01',
    deviceTokens: ['token'],
    subscribeToEmails: false,
    attributes: { theme: 'dark' },
  };
  await laurel.app.post('/v1/users', { id, name: 'X' });
  for (const [field, value] of Object.entries(FIELDS))
    for (const path of [EVENT, `/api${EVENT.slice(3)}`])
      expect(outcome(await send({ [field]: value }, path))).toEqual([
        422,
        `user.${field} may not be sent with this API key: its scope 'events' allows no field of the user but the ID.`,
      ]);
  expect((await send({ name: '' })).status).toBe(422);
  // Clients write what they do not set as null.
  const unset = Object.fromEntries(Object.keys(FIELDS).map((field) => [field, null]));
  expect((await send(unset)).status).toBe(201);
  expect((await send({ attributes: {} })).status).toBe(201);
  expect((await laurel.app.get(`/v1/users/${id}`)).body).toMatchObject({
    name: 'X',
    email: null,
    tz: null,
    attributes: {},
  });
});

describe('reading other users, a user', () => {
  let key: string;
  beforeAll(async () => {
    key = await keyOf('reader');
    for (const [id, city] of [
      ['reader', 'Oslo'],
      ['neighbour', 'Oslo'],
      ['victim', 'Rome'],
    ]) {
      const user = { id, attributes: { city, plan: 'pro' } };
      await laurel.app.post(EVENT, { user, value: 3 });
    }
  });
  const summary = (query: string, as?: string) =>
    laurel.app.get(`/v1/points/xp/summary${query}`, as === undefined ? {} : { key: as });

  test('cannot learn attributes and points by filters', async () => {
    for (const query of ['?userAttributes=city:Rome', '?userAttributes[]=city:Rome', '?userAttributes=city:Oslo'])
      expect(outcome(await summary(query, key))).toEqual([
        403,
        'userAttributes is for admin keys: with an application key the summary counts all users.',
      ]);
    expect((await summary('', key)).status).toBe(200);
    expect((await summary('?userAttributes=', key)).status).toBe(200);
    const { status, body } = await summary('?userAttributes=city:Rome');
    expect([status, body.reduce((sum: number, range: { users: number }) => sum + range.users, 0)]).toEqual([200, 1]);
  });

  test('reads the own group of a leaderboard only', async () => {
    const board = (city: string, as?: string) =>
      laurel.app.get(`/v1/leaderboards/cities?userAttributes=city:${city}`, as === undefined ? {} : { key: as });
    const own = await board('Oslo', key);
    expect(own.body.rankings.map(({ userId }: { userId: string }) => userId)).toEqual(
      expect.arrayContaining(['reader', 'neighbour']),
    );
    for (const city of ['Rome', 'Nowhere'])
      expect(outcome(await board(city, key))).toEqual([
        403,
        "userAttributes: an application key may only read its own user's group.",
      ]);
    expect((await board('Rome')).body.rankings).toMatchObject([{ userId: 'victim' }]);
    expect(outcome(await board('Oslo', await keyOf('never-seen')))).toEqual([403, expect.any(String)]);

    // Moved to Rome, the score stays in Oslo until the next event: both groups are the user's.
    expect((await laurel.app.patch('/v1/users/reader', { attributes: { city: 'Rome' } })).status).toBe(200);
    expect([(await board('Oslo', key)).status, (await board('Rome', key)).status]).toEqual([200, 200]);
    await laurel.app.post(EVENT, { user: { id: 'reader' }, value: 1 });
    expect([(await board('Oslo', key)).status, (await board('Rome', key)).status]).toEqual([403, 200]);
  });
});
