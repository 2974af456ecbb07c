import { describe, expect, test } from 'vitest';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP, workers: true }));

const PATH = '/v1/metrics/flips/event';

test.each([PATH, '/api/metrics/flips/event'])('%s processes an event and reports what changed', async (path) => {
  const user = { id: `first ${path}`, email: 'a@b.c', name: 'Ada', tz: 'Europe/Berlin', attributes: { plan: 'pro' } };
  const { status, body } = await laurel.app.post(path, { user, value: 10, attributes: { deck: 'verbs' } });
  expect(status).toBe(201);
  expect(body).toMatchObject({ total: 10, currentStreak: { length: 1, extended: true } });
  expect(body.achievements.map((achievement: { name: string }) => achievement.name)).toEqual([
    'Ten flips',
    'First day',
    'Ten and a day',
  ]);
  expect(body.points.xp).toMatchObject({ total: 150, added: 150, level: { key: 'novice' } });
  expect(Object.keys(body.leaderboards)).toEqual(['flips', 'weekly', 'plans']);
  expect(body).not.toHaveProperty('idempotencyKey');
});

test('an idempotency key: 201, then 202', async () => {
  const send = () =>
    laurel.app.post(PATH, { user: { id: 'idem' }, value: 1 }, { headers: { 'Idempotency-Key': 'key 1' } });
  const first = await send();
  const second = await send();
  expect([first.status, second.status]).toEqual([201, 202]);
  expect(second.body).toMatchObject({ eventId: first.body.eventId, total: 1, idempotentReplayed: true });
});

test('a replay with another body says so, and changes nothing', async () => {
  const first = { user: { id: 'conflict' }, value: 1, attributes: { deck: 'verbs' } };
  const send = (body: object, key = 'key') => laurel.app.post(PATH, body, { headers: { 'Idempotency-Key': key } });
  expect((await send(first)).body).not.toHaveProperty('idempotencyConflict');
  // The user is not compared: a retry may contain a newer profile.
  for (const same of [first, { ...first, user: { id: 'conflict', name: 'Ada' } }, { ...first, value: 1.0 }]) {
    const { status, body } = await send(same);
    expect([status, body.idempotentReplayed, body.idempotencyConflict]).toEqual([202, true, undefined]);
  }
  const occurredAt = new Date().toISOString();
  for (const other of [
    { ...first, value: 2 },
    { user: first.user, value: 1 },
    { ...first, attributes: { deck: 'nouns' } },
  ]) {
    const { status, body } = await send(other);
    expect([status, body.idempotentReplayed, body.idempotencyConflict, body.total]).toEqual([202, true, true, 1]);
  }
  const late = await laurel.admin.post(
    '/application' + PATH,
    { ...first, occurredAt },
    { headers: { 'Idempotency-Key': 'key' } },
  );
  expect([late.status, late.body.idempotencyConflict]).toEqual([202, true]);
  // The order of attributes does not matter.
  await laurel.admin.post('/v1/attributes', [{ type: 'event', key: 'mode', name: 'Mode' }]);
  const two = { user: first.user, value: 1, attributes: { deck: 'verbs', mode: 'quiz' } };
  await expect.poll(async () => (await send(two, 'two')).status).toBeLessThan(300);
  const turned = await send({ ...two, attributes: { mode: 'quiz', deck: 'verbs' } }, 'two');
  expect([turned.status, turned.body.idempotencyConflict]).toEqual([202, undefined]);
});

describe('refuses bad input with a sentence, and changes nothing', () => {
  const user = { id: 'bad' };
  const long = 'x'.repeat(256);
  test.each([
    ['no value', { user }, 400, /value/],
    ['a value of the wrong type', { user, value: '5' }, 400, /value/],
    ['a value beyond the bounds', { user, value: 1e13 }, 400, /value/],
    ['no user', { value: 1 }, 400, /user/],
    ['no user ID', { user: {}, value: 1 }, 400, /id/],
    ['an empty user ID', { user: { id: '' }, value: 1 }, 400, /user.id/],
    ['a user ID of 256 characters', { user: { id: long }, value: 1 }, 400, /user.id/],
    ['a user ID of the wrong type', { user: { id: 18 }, value: 1 }, 400, /user.id/],
    ['a NUL in the user ID', { user: { id: 'a\0b' }, value: 1 }, 400, /NUL/],
    ['an unknown time zone', { user: { ...user, tz: 'Mars/Olympus' }, value: 1 }, 422, /Mars\/Olympus/],
    ['an offset as time zone', { user: { ...user, tz: '+02:00' }, value: 1 }, 422, /time zone/],
    ['unknown event attributes', { user, value: 1, attributes: { a: 'x', b: 'y', deck: 'z' } }, 422, /keys: a, b\./],
    [
      'unknown attributes of the event and of its user',
      { user: { ...user, attributes: { nope: 'x', a: 'x' } }, value: 1, attributes: { a: 'x' } },
      422,
      /^Invalid attribute keys: a, nope\. Attribute keys must match those set up in the dashboard\.$/,
    ],
    ['a user attribute on an event', { user, value: 1, attributes: { plan: 'pro' } }, 422, /plan/],
    ['unknown user attributes', { user: { ...user, attributes: { nope: 'x' } }, value: 1 }, 422, /nope/],
    ['an attribute that is no string', { user, value: 1, attributes: { deck: 5 } }, 400, /deck/],
    [
      'a key with a line feed and a value that is no string',
      { user, value: 1, attributes: { 'a\nb': 5 } },
      400,
      /attributes/,
    ],
    ['a subscription without e-mail', { user: { ...user, subscribeToEmails: true }, value: 1 }, 422, /mail/],
    ['an array', [], 400, /object/],
    ['null', null, 400, /object/],
  ])('%s', async (_, sent, status, message) => {
    const { status: answered, body } = await laurel.app.post(PATH, undefined, { rawBody: JSON.stringify(sent) });
    expect({ answered, error: body.error }).toEqual({ answered: status, error: expect.stringMatching(message) });
    expect((await laurel.app.get('/v1/users/bad/metrics/flips')).status).toBe(404);
  });

  test.each([
    ['cut off', '{"user":{"id":"bad"},"value":1'],
    ['NaN', '{"user":{"id":"bad"},"value":NaN}'],
    ['Infinity', '{"user":{"id":"bad"},"value":1e999}'],
    ['empty', ''],
    ['not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d])],
  ])('malformed JSON: %s', async (_, rawBody) => {
    const { status, body } = await laurel.app.post(PATH, undefined, {
      rawBody,
      headers: { 'Content-Type': 'application/json' },
    });
    expect([status, typeof body.error]).toEqual([400, 'string']);
  });

  test('an unknown metric', async () => {
    const { status, body } = await laurel.app.post('/v1/metrics/nope/event', { user, value: 1 });
    expect([status, body.error]).toEqual([
      422,
      "Unknown metric: there is none with the key 'nope'. An unknown metric is 422 for a single event and 404 in a batch.",
    ]);
  });

  test('a body over the limit', async () => {
    const { status } = await laurel.app.post(PATH, { user, value: 1, attributes: { deck: 'x'.repeat(1_100_000) } });
    expect(status).toBe(413);
  });

  test('an idempotency key of 256 characters, or none in the header', async () => {
    for (const key of [long, '']) {
      const { status } = await laurel.app.post(PATH, { user, value: 1 }, { headers: { 'Idempotency-Key': key } });
      expect(status).toBe(400);
    }
  });
});

test.each(['__proto__', 'constructor', 'ünï-✓-用户-👩‍🚀', 'x'.repeat(255), 'a/b?c#d%', ' '])('user ID %s', async (id) => {
  const attributes = JSON.parse('{"__proto__":"awkward"}') as Record<string, string>;
  expect((await laurel.app.post(PATH, { user: { id, attributes }, value: 2 })).status).toBe(201);
  expect((await laurel.app.post(PATH, { user: { id }, value: 2 })).body.total).toBe(4);
  const read = await laurel.app.get(`/v1/users/${encodeURIComponent(id)}/metrics/flips`);
  expect(read.body).toMatchObject({ key: 'flips', current: 4 });
});

test('an application key may send events of its user only, and ends everywhere with its deletion', async () => {
  const made = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'own' }]);
  const { key, id } = made.body.created[0];
  const send = (userId: string) => laurel.app.post(PATH, { user: { id: userId }, value: 1 }, { key });
  expect((await send('own')).status).toBe(201);
  expect((await send('other')).status).toBe(403);
  expect((await laurel.admin.get('/v1/configuration', { key })).status).toBe(403);
  const other = await laurel.another();
  const there = () => other.app.post(PATH, { user: { id: 'own' }, value: 1 }, { key });
  expect((await there()).status).toBe(201);
  await laurel.admin.delete(`/v1/application-api-keys?ids=${id}`);
  await expect.poll(async () => (await there()).status).toBe(401);
  await expect.poll(async () => (await send('own')).status).toBe(401);
});

test('every event is in Postgres exactly once', async () => {
  await Promise.all(
    Array.from({ length: 200 }, (_, n) => laurel.app.post(PATH, { user: { id: `kept ${n % 7}` }, value: 1.5 })),
  );
  const stored = async () => {
    const { rows } = await laurel.pool.query(
      `SELECT count(*)::int AS events, sum(value)::float8 AS total FROM events WHERE user_id LIKE 'kept %'`,
    );
    return rows[0];
  };
  await expect.poll(stored).toEqual({ events: 200, total: 300 });
});

test('with a full outbox events answer 503 with Retry-After', async () => {
  const full = await startLaurel({ configuration: STUDY_APP, backlogLimit: 3 });
  try {
    const send = async () => full.app.post(PATH, { user: { id: 'u' }, value: 1 });
    await expect.poll(async () => (await send()).status).toBe(503);
    const refused = await send();
    expect(refused.headers.get('Retry-After')).not.toBeNull();
  } finally {
    await full.close();
  }
});
