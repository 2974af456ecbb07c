import { beforeAll, describe, expect, test } from 'vitest';
import { otherPortHint, similarPathHint } from '../../src/http/paths.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { opened } from '../stack/opened.ts';

let userKey: string;
const laurel = opened(async () => {
  const [first, ...others] = STUDY_APP.leaderboards!;
  const hidden = { ...first!, key: 'secret-board', name: 'Secret', status: 'inactive' as const };
  return startLaurel({ configuration: { ...STUDY_APP, leaderboards: [first!, ...others, hidden] } });
});
beforeAll(async () => {
  userKey = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ada' }])).body.created[0].key;
});

const EVENT = '/v1/metrics/flips/event';
const event = { user: { id: 'ada' }, value: 1 };

describe('the key', () => {
  test('distinguishes a missing one from an invalid one', async () => {
    const missing = await laurel.app.post(EVENT, event, { key: null });
    const hint = 'Send the key in the header X-API-KEY.';
    expect([missing.status, missing.body]).toEqual([
      401,
      { error: 'The API key is missing', code: 'missing_key', hint },
    ]);
    for (const key of [`${userKey.split('.')[0]}.${'x'.repeat(40)}`, 'app_x.unknown']) {
      const { status, body } = await laurel.app.post(EVENT, event, { key });
      expect([status, body]).toEqual([401, { error: 'The API key is not valid', code: 'invalid_key' }]);
    }
  });

  test('says what form a key has, if the sent one has another', async () => {
    const answers = ['nonsense', `'${userKey}'`, `Bearer ${userKey}`, userKey.split('.')[0]!].map(async (key) => {
      const { status, body } = await laurel.app.post(EVENT, event, { key });
      return [status, body.code, body.hint];
    });
    const hint = expect.stringMatching(/one dot.*without quotes or Bearer/);
    for (const answer of await Promise.all(answers)) expect(answer).toEqual([401, 'invalid_key', hint]);
  });

  test('of an application on the admin port: what to do', async () => {
    const { status, body } = await laurel.admin.get('/v1/metrics', { key: userKey });
    expect([status, body.hint]).toEqual([403, 'Use an admin key here, or this key on the application port.']);
  });

  test('explains one in Authorization: Bearer, and never repeats it', async () => {
    const headers = { Authorization: `Bearer ${userKey}` };
    const { status, body } = await laurel.app.post(EVENT, event, { key: null, headers });
    expect([status, body.code, body.hint]).toEqual([401, 'missing_key', expect.stringContaining('without Bearer')]);
    expect(JSON.stringify(body)).not.toContain(userKey.slice(0, 8));
    const other = { Authorization: 'Basic YTpi' };
    expect((await laurel.app.post(EVENT, event, { key: null, headers: other })).body.hint).not.toContain('Bearer');
    // A key in the right header counts, regardless of other headers.
    expect((await laurel.app.post(EVENT, event, { headers })).status).toBe(201);
  });
});

describe('the port', () => {
  const admin = /^This is the application port; admin operations are on /;
  const application = /^This is the admin port; application operations are on /;

  test.each([
    ['app', 'GET', '/v1/metrics', 404, 'unknown_path', admin],
    ['app', 'POST', '/v1/metrics/events', 404, 'unknown_path', admin],
    ['app', 'DELETE', '/v1/users/ada', 405, 'method_not_allowed', admin],
    ['app', 'DELETE', '/v1/users/ada/wrapped', 405, 'method_not_allowed', null],
    ['app', 'GET', '/v1/organisation', 404, 'unknown_path', admin],
    ['admin', 'POST', '/v1/metrics/flips/event', 404, 'unknown_path', application],
    ['admin', 'POST', '/api/metrics/flips/event', 404, 'unknown_path', application],
    ['app', 'GET', '/v1/nothing', 404, 'unknown_path', null],
    ['app', 'PATCH', '/v1/organisation/', 404, 'unknown_path', null],
    ['admin', 'GET', '/v1/nothing', 404, 'unknown_path', null],
  ] as const)('%s: %s %s', async (surface, method, path, status, code, hint) => {
    const answer = await laurel[surface].send(method, path, { key: null });
    const hinted = hint === null ? {} : { hint: expect.stringMatching(hint) };
    expect([answer.status, answer.body]).toEqual([status, { error: expect.any(String), code, ...hinted }]);
  });
});

test('names the pages at the bare address', async () => {
  const answer = await laurel.admin.send('GET', '/', { key: null });
  expect([answer.status, answer.body.hint]).toEqual([404, expect.stringMatching(/^For a browser: \/\S+/)]);
});

test('asks for a list where an object was sent', async () => {
  const answer = await laurel.admin.post('/v1/metrics', { key: 'laps', name: 'Laps' } as never);
  expect([answer.status, answer.body]).toMatchObject([422, { hint: 'Put the object into a list: [{…}].' }]);
  expect((await laurel.admin.post('/v1/metrics', 'laps' as never)).body).not.toHaveProperty('hint');
});

test('asks for an object where a list was sent', async () => {
  const answer = await laurel.app.post(EVENT, [event] as never);
  expect([answer.status, answer.body]).toMatchObject([400, { hint: 'Send the object itself, not in a list.' }]);
});

test('names what is not known beside a missing field', async () => {
  const sent = async (body: unknown) => (await laurel.app.post(EVENT, body as never)).body;
  expect(await sent({ userId: 'ada', value: 1 })).toEqual({
    error: 'user is required',
    code: 'invalid',
    hint: 'Not known here: userId.',
  });
  expect(await sent({ user: { userId: 'ada' }, amount: 1, value: 1 })).toMatchObject({
    error: 'user.id is required',
    hint: 'Not known here: user.userId.',
  });
  expect(await sent({ user: { id: 'ada' } })).toEqual({ error: 'value is required', code: 'invalid' });
});

test('says how a time and a time zone are written', async () => {
  for (const occurredAt of ['2026-11-29', '2026-11-29T10:00:00', 'yesterday'])
    expect((await laurel.app.post(EVENT, { ...event, occurredAt })).body.error).toMatch(
      /^occurredAt must be a time with Z or an offset, such as \d{4}-\d\d-\d\dT/,
    );
  for (const tz of ['CEST', '+01:00', 'GMT+1'])
    expect((await laurel.app.post(EVENT, { ...event, user: { id: 'ada', tz } })).body).toMatchObject({
      code: 'unprocessable',
      hint: expect.stringContaining("such as 'Europe/Berlin'"),
    });
});

test('says that an ID in a path is not a key', async () => {
  const { status, body } = await laurel.admin.get('/v1/metrics/flips');
  expect([status, body.hint]).toEqual([404, 'In the path, id must be a UUID, not a key or name.']);
});

test('names the port if it is known', () => {
  const hintOf = otherPortHint('application', { operations: adminOperations, port: 8081 });
  expect(hintOf('get', '/v1/metrics')).toBe('This is the application port; admin operations are on port 8081.');
  expect(hintOf('head', '/v1/metrics')).toBe(hintOf('get', '/v1/metrics'));
  expect(hintOf('get', '/v1/metrics//')).toBeUndefined();
});

describe('a key that does not exist', () => {
  const similar = (key: string) => ({ hint: `Did you mean '${key}'?` });

  test('of a metric', async () => {
    const one = await laurel.app.post('/v1/metrics/flip/event', event);
    expect(one).toMatchObject({ status: 422, body: { code: 'unprocessable', ...similar('flips') } });
    const batch = await laurel.admin.post('/v1/metrics/events', [{ key: 'minute', ...event }]);
    expect(batch).toMatchObject({ status: 404, body: { code: 'not_found', ...similar('minutes') } });
    const read = await laurel.app.get('/v1/users/ada/metrics/flps');
    expect(read).toMatchObject({ status: 404, body: similar('flips') });
    expect((await laurel.app.post('/v1/metrics/elsewhere/event', event)).body).not.toHaveProperty('hint');
  });

  test('of an attribute, of the user and of an event', async () => {
    const ofUser = { ...event, user: { id: 'ada', attributes: { plann: 'pro' } } };
    expect(await laurel.app.post(EVENT, ofUser)).toMatchObject({ status: 422, body: similar('plan') });
    expect(await laurel.app.post(EVENT, { ...event, attributes: { decks: 'a' } })).toMatchObject({
      status: 422,
      body: similar('deck'),
    });
    const batch = await laurel.admin.post('/v1/metrics/events', [{ key: 'flips', ...ofUser }]);
    expect(batch).toMatchObject({ status: 422, body: similar('plan') });
  });

  test('of a leaderboard; one that users cannot see is not suggested', async () => {
    expect(await laurel.app.get('/v1/leaderboards/weekl')).toMatchObject({ status: 404, body: similar('weekly') });
    const options = { key: userKey };
    const hidden = await laurel.app.get('/v1/leaderboards/secret-bord', options);
    expect([hidden.status, hidden.body.hint]).toEqual([404, undefined]);
    const ticket = await laurel.app.post('/v1/live/tickets', { boards: ['weekli'] }, options);
    expect(ticket).toMatchObject({ status: 422, body: similar('weekly') });
  });
});

test('a body that is not JSON: where', async () => {
  const { status, body } = await laurel.app.post(EVENT, undefined, { rawBody: '{"user":\n {"id": ada}}' });
  expect([status, body]).toEqual([
    400,
    { error: 'The body is not valid JSON', code: 'invalid_json', hint: 'The fault is at line 2, column 9.' },
  ]);
});

test('an unknown path has a hint if it is nearly one of the port', () => {
  const hintOf = similarPathHint(applicationOperations);
  expect(hintOf('post', '/v1/metrics/flips/events')).toBe('Did you mean POST /v1/metrics/{key}/event?');
  expect(hintOf('post', '/metrics/flips/event')).toBe('Did you mean POST /v1/metrics/{key}/event?');
  expect(hintOf('post', '/v1/v1/metrics/flips/event')).toBe('Did you mean POST /v1/metrics/{key}/event?');
  expect(hintOf('post', '/v1/metrics/flips/event/')).toBe('Did you mean POST /v1/metrics/{key}/event?');
  expect(hintOf('post', '//v1/metrics/flips/event')).toBe('Did you mean POST /v1/metrics/{key}/event?');
  expect(hintOf('get', '/v1/leaderboard')).toBe('Did you mean GET /v1/leaderboards?');
  expect(hintOf('patch', '/v1/user/ada')).toBe('Did you mean PATCH /v1/users/{id}?');
  for (const path of ['/', '/v1', '/v1/nothing', '/v1/metrics//events', '/robots.txt', `/v1/${'x'.repeat(60_000)}`])
    expect([path, hintOf('get', path)]).toEqual([path, undefined]);
  // The method is wrong, not the path.
  expect(hintOf('delete', '/v1/users/ada')).toBeUndefined();
  // Lists are changed at the path without an ID.
  expect(hintOf('post', '/v1/users/ada')).toBe('Did you mean POST /v1/users?');
  expect(similarPathHint(adminOperations)('patch', '/v1/metrics/flips')).toBe('Did you mean PATCH /v1/metrics?');
});
