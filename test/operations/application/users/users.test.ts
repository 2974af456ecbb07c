import { expect, test } from 'vitest';
import { RawConnection, rawRequest } from '../../../http/raw-connection.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { opened } from '../../../stack/opened.ts';

const laurel = opened(() => startLaurel({ configuration: STUDY_APP }));

const NOTHING = {
  email: null,
  name: null,
  tz: null,
  deviceTokens: null,
  subscribeToEmails: true,
  attributes: {},
  control: false,
};

test('users_create creates a user; repeated, it changes only the sent fields', async () => {
  const made = await laurel.app.post('/v1/users', { id: 'a/b c' });
  expect([made.status, made.body]).toMatchObject([201, { id: 'a/b c', ...NOTHING }]);
  const fields = { name: 'Ada', email: 'ada@example.org', tz: 'Asia/Tokyo', attributes: { plan: 'pro' } };
  const again = await laurel.app.post('/v1/users', { id: 'a/b c', ...fields });
  expect([again.status, again.body]).toMatchObject([201, { ...NOTHING, ...fields, created: made.body.created }]);
  const third = await laurel.app.post('/v1/users', { id: 'a/b c', tz: null, name: null, attributes: {} });
  expect(third.body).toMatchObject({ ...fields, id: 'a/b c' });
  expect((await laurel.app.get('/v1/users/a%2Fb%20c')).body).toEqual(third.body);
});

test.each(['.', '..'])("refuses the ID '%s', which no URL can contain, everywhere", async (id) => {
  const text = "must not be '.' or '..', which no URL can contain";
  const refused = async (sent: Promise<{ status: number; body: unknown }>, field: string) => {
    const { status, body } = await sent;
    expect([status, body]).toEqual([422, { error: `${field} ${text}`, code: 'unprocessable' }]);
  };
  const event = { user: { id }, value: 1 };
  await refused(laurel.app.post('/v1/users', { id }), 'id');
  await refused(laurel.app.post('/v1/metrics/flips/event', event), 'user.id');
  await refused(laurel.admin.post('/v1/metrics/events', [{ key: 'flips', ...event }]), '[0].user.id');
  await refused(laurel.app.post('/v1/achievements/any/complete', { user: { id } }), 'user.id');
  for (const [path, item, field] of [
    ['/v1/imports?import=one', { id }, 'id'],
    ['/v1/application-api-keys', { userId: id }, 'userId'],
    ['/v1/streaks/freezes', { userId: id }, 'userId'],
  ] as const) {
    const { body } = await laurel.admin.post(path, path.includes('streaks') ? { freezes: [item] } : [item]);
    expect([path, JSON.stringify(body)]).toEqual([path, expect.stringContaining(`${field} ${text}`)]);
  }
  // `fetch` normalises the path, a socket does not.
  const connection = await RawConnection.open(Number(new URL(laurel.appUrl).port));
  const headers = [`X-API-KEY: ${laurel.adminKey}`, 'Content-Type: application/json'];
  connection.send(rawRequest('PUT', `/v1/users/${id}`, { headers, body: '{}' }));
  await connection.until(({ received }) => received.includes('}'));
  expect([connection.statuses, connection.received]).toEqual([[422], expect.stringContaining(`id ${text}`)]);
  connection.destroy();
  for (const good of ['...', '.a', 'a.', '..a'])
    expect([good, (await laurel.app.post('/v1/users', { id: good })).status]).toEqual([good, 201]);
});

test('a changed attribute of a breakdown lists the leaderboards on which the next event moves the user', async () => {
  const event = { user: { id: 'mover', attributes: { plan: 'free' } }, value: 3 };
  await laurel.app.post('/v1/metrics/flips/event', event);
  const board = STUDY_APP.leaderboards!.find(({ breakdownAttributes }) => breakdownAttributes?.[0] === 'plan')!.key;
  const same = await laurel.app.patch('/v1/users/mover', { attributes: { plan: 'free' } });
  expect(same.body).not.toHaveProperty('pendingLeaderboards');
  for (const changed of [
    await laurel.app.patch('/v1/users/mover', { attributes: { plan: 'pro' } }),
    await laurel.app.put('/v1/users/mover', { name: 'Mo' }),
    await laurel.app.post('/v1/users', { id: 'mover' }),
  ])
    expect(changed.body).toMatchObject({ attributes: { plan: 'pro' }, pendingLeaderboards: [board] });
  expect((await laurel.app.get('/v1/users/mover')).body).not.toHaveProperty('pendingLeaderboards');
  await laurel.app.post('/v1/metrics/flips/event', { user: { id: 'mover' }, value: 1 });
  expect((await laurel.app.put('/v1/users/mover', {})).body).not.toHaveProperty('pendingLeaderboards');
});

test('users_identify creates or changes the user of the path, ignoring the ID in the body', async () => {
  const made = await laurel.app.put('/v1/users/put', { id: 'other', name: 'Put' });
  expect([made.status, made.body]).toMatchObject([200, { ...NOTHING, id: 'put', name: 'Put' }]);
  expect((await laurel.app.put('/v1/users/put', { deviceTokens: ['x'] })).body).toMatchObject({
    name: 'Put',
    deviceTokens: ['x'],
  });
  expect((await laurel.app.get('/v1/users/other')).status).toBe(404);
});

test('users_update changes an existing user', async () => {
  expect((await laurel.app.patch('/v1/users/nobody', { name: 'x' })).status).toBe(404);
  await laurel.app.post('/v1/users', { id: 'patched', name: 'Before', email: 'p@example.org' });
  const { status, body } = await laurel.app.patch('/v1/users/patched', { name: 'After' });
  expect([status, body]).toMatchObject([200, { name: 'After', email: 'p@example.org' }]);
});

test('accepts an ID of 255 characters, and answers 400 for an empty or longer one', async () => {
  const id = '😀'.repeat(255);
  expect((await laurel.app.post('/v1/users', { id })).status).toBe(201);
  expect((await laurel.app.get(`/v1/users/${encodeURIComponent(id)}`)).body.id).toBe(id);
  const long = 'x'.repeat(256);
  const answers = await Promise.all([
    laurel.app.post('/v1/users', { id: '' }),
    laurel.app.post('/v1/users', { id: long }),
    laurel.app.get(`/v1/users/${long}`),
    laurel.app.put(`/v1/users/${long}`, {}),
    laurel.app.patch(`/v1/users/${long}`, {}),
    laurel.app.post('/v1/metrics/flips/event', { user: { id: long }, value: 1 }),
    laurel.app.post('/v1/achievements/tour/complete', { user: { id: long } }),
  ]);
  for (const { status, body } of answers) expect([status, body.error]).toEqual([400, expect.stringMatching(/\bid /)]);
});

test('a refused change changes nothing and says what is wrong', async () => {
  await laurel.app.post('/v1/users', { id: 'same', name: 'Same' });
  for (const [change, status, text] of [
    [{ name: 'x', tz: 'Mars/Olympus' }, 422, /Mars\/Olympus/],
    [
      { name: 'x', attributes: { plan: 'p', nope: '1', deck: '2' } },
      422,
      /^Invalid attribute keys: nope, deck\. Attribute keys must match those set up in the dashboard\.$/,
    ],
    [{ name: 'x', subscribeToEmails: true }, 422, /e-mail/],
    [{ name: 'x', attributes: { plan: 1 } }, 400, /attributes\.plan/],
    [{ name: 'x', email: 7 }, 400, /email/],
  ] as const) {
    const answers = await Promise.all([
      laurel.app.patch('/v1/users/same', change),
      laurel.app.put('/v1/users/same', change),
      laurel.app.post('/v1/users', { id: 'same', ...change }),
      laurel.app.post('/v1/metrics/flips/event', { user: { id: 'same', ...change }, value: 1 }),
    ]);
    for (const { status: got, body } of answers)
      expect([change, got, body.error]).toEqual([change, status, expect.stringMatching(text)]);
  }
  expect((await laurel.app.get('/v1/users/same')).body).toMatchObject({ ...NOTHING, id: 'same', name: 'Same' });
  expect((await laurel.app.get('/v1/users/same/metrics/flips')).body.current).toBe(0);
});
