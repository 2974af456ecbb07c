import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Type } from 'typebox';
import { bodyCheck, queryParser } from '../../src/http/validation.ts';
import { BODY_BYTES, startServer, type Fixture } from './server-fixture.ts';

const UUID = '0191d6f0-0000-7000-8000-000000000001';
const OTHER = '0191d6f0-0000-7000-8000-000000000002';
const event = { user: { id: 'ada' }, value: 1 };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startServer();
});
afterAll(() => fixture.server.close());

const post = (rawBody: string | Uint8Array, headers: Record<string, string> = {}) =>
  fixture.client.post('/v1/things/words/event', undefined, { rawBody, headers });

describe('names the field of a body that does not fit', () => {
  test.each<[unknown, string]>([
    [{ user: { id: 'ada' } }, 'value is required'],
    [{ value: 1 }, 'user is required'],
    [{ user: {}, value: 1 }, 'user.id is required'],
    [{ ...event, value: '1' }, 'value must be a number'],
    [{ ...event, value: null }, 'value must be a number'],
    [{ ...event, value: 1e13 }, 'value must be at most 1000000000000'],
    [{ ...event, user: 'ada' }, 'user must be an object'],
    [{ ...event, user: { id: 7 } }, 'user.id must be a string'],
    [{ ...event, user: { id: '' } }, 'user.id must not be empty'],
    [{ ...event, user: { id: 'x'.repeat(256) } }, 'user.id must have at most 255 characters'],
    [{ ...event, user: { id: 'ada', tz: 7 } }, 'user.tz must be a string or null'],
    [{ ...event, attributes: { colour: 7 } }, 'attributes.colour must be a string'],
    [{ ...event, attributes: { 'two\nlines': 7 } }, 'attributes.two\nlines must be a string'],
    [{ ...event, attributes: { 'a/b~c': 7 } }, 'attributes.a/b~c must be a string'],
    [[], 'The body must be an object'],
    [7, 'The body must be an object'],
    [null, 'The body must be an object'],
  ])('%j: %s', async (body, error) => {
    const response = await fixture.client.post('/v1/things/words/event', body);
    const hint = Array.isArray(body) ? { hint: expect.stringContaining('not in a list') } : {};
    expect([response.status, response.body]).toEqual([400, { error, code: 'invalid', ...hint }]);
  });

  test('numbers that JSON text holds but a double does not', async () => {
    expect((await post('{"user":{"id":"ada"},"value":1e400}')).body.error).toBe('value must be a number');
    for (const value of ['NaN', 'Infinity', '01', '+1', '.5'])
      expect((await post(`{"user":{"id":"ada"},"value":${value}}`)).status).toBe(400);
  });

  test('255 characters are 255 characters in any script', async () => {
    const id = '🦉'.repeat(255);
    const { status, body } = await fixture.client.post('/v1/things/words/event', { ...event, user: { id } });
    expect([status, body.body.user.id]).toEqual([201, id]);
    const longer = await fixture.client.post('/v1/things/words/event', { ...event, user: { id: `${id}🦉` } });
    expect([longer.status, longer.body.error]).toEqual([400, 'user.id must have at most 255 characters']);
  });

  test('the characters of a text that cannot have too many are not counted', () => {
    const text = 'x'.repeat(1_000_000);
    const check = bodyCheck(Type.Object({ text: Type.String({ maxLength: text.length }) }));
    check({ text });
    const leastMs = (work: () => void): number =>
      Math.min(
        ...Array.from({ length: 20 }, () => {
          const beganMs = performance.now();
          work();
          return performance.now() - beganMs;
        }),
      );
    const counting = leastMs(() => {
      let count = 0;
      for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) === 0x78) count += 1;
      expect(count).toBe(text.length);
    });
    expect(leastMs(() => check({ text }))).toBeLessThan(counting / 4);
  });

  test('a list: 422 for no list or one that is too long; a bad item is named', async () => {
    const path = '/v1/things/events';
    expect((await fixture.client.post(path, {})).body.error).toBe('The body must be an array');
    for (const body of [{}, [], [1, 2, 3, 4]]) expect((await fixture.client.post(path, body)).status).toBe(422);
    const { status, body } = await fixture.client.post(path, [{ id: 'a' }, { id: 1 }]);
    expect([status, body.error]).toEqual([400, '[1].id must be a string']);
    expect((await fixture.client.post(path, undefined, { rawBody: '[' })).status).toBe(400);
  });
});

describe('the raw body', () => {
  test.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half of it', '{"user":'],
    ['text after it', '{}{}'],
    ['a byte order mark', '\uFEFF{}'],
    ['broken UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['UTF-8 cut off', new Uint8Array([0x22, 0xe2, 0x82, 0x22])],
    ['a surrogate in UTF-8', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a NUL byte', '{"user":{"id":"a\0b"},"value":1}'],
    ['a NUL escape in a value', String.raw`{"user":{"id":"a\u0000b"},"value":1}`],
    ['a NUL escape in a key', String.raw`{"user":{"id":"ada"},"value":1,"attributes":{"a\u0000":"b"}}`],
    ['a NUL escape after a backslash', String.raw`{"user":{"id":"a\\\u0000b"},"value":1}`],
    ['half a surrogate pair', String.raw`{"user":{"id":"\ud83d"},"value":1}`],
    ['the other half', String.raw`{"user":{"id":"\uDE00"},"value":1}`],
    ['deep nesting', `${'['.repeat(4_000)}${']'.repeat(4_000)}`],
  ])('%s is 400', async (_what, body) => {
    const response = await post(body);
    expect(response.status).toBe(400);
    expect(fixture.errors).toEqual([]);
  });

  test.each([
    ['{"user":{"id":"ada\\u0000"},"value":1}', 'user.id contains a NUL character'],
    ['{"user":{"id":"ada"},"value":1,"attributes":{"a":"b","c\\u0000":"d"}}', 'attributes contains a NUL character'],
    ['{"user":{"id":"ada"},"value":1,"list":["a",{"b":"\\ud83d"}]}', 'list[1].b contains half of a surrogate pair'],
    [`{"user":${'['.repeat(4_000)}"\\u0000"${']'.repeat(4_000)}}`, 'The body is nested too deeply'],
  ])('%.70s: names the field', async (text, error) => {
    expect(await post(text)).toMatchObject({ status: 400, body: { error } });
  });

  test('accepts what only looks like those', async () => {
    const ids = [
      [String.raw`a\\u0000b`, String.raw`a\u0000b`],
      [String.raw`\ud83d\ude00`, '😀'],
      [String.raw`\\ud83d`, String.raw`\ud83d`],
      [String.raw`\u00e9\u0001`, 'é\u0001'],
    ];
    for (const [sent, id] of ids) {
      const { status, body } = await post(`{"user":{"id":"${sent}"},"value":1}`);
      expect([status, body.body.user.id]).toEqual([201, id]);
    }
  });

  test('treats __proto__ and the like as ordinary names', async () => {
    const text =
      '{"user":{"id":"__proto__","__proto__":{"tz":7}},"value":1,"attributes":{"__proto__":"x","constructor":"y"},"__proto__":{"polluted":1}}';
    const { status, body } = await post(text);
    expect([status, JSON.stringify(body.body)]).toEqual([201, text]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const bad = await post('{"user":{"id":"ada"},"value":1,"attributes":{"__proto__":7}}');
    expect([bad.status, bad.body.error]).toEqual([400, 'attributes.__proto__ must be a string']);
    expect((await post('{"__proto__":{"user":{"id":"ada"},"value":1}}')).body.error).toBe('user is required');
  });

  test('ignores unknown fields', async () => {
    expect((await fixture.client.post('/v1/things/words/event', { ...event, more: [1] })).status).toBe(201);
  });

  test('answers 415 to a body that is not declared as JSON', async () => {
    const text = JSON.stringify(event);
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'application/json; charset=latin1',
      '',
    ])
      expect([type, (await post(text, { 'Content-Type': type })).status]).toEqual([type, 415]);
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
      expect([type, (await post(text, { 'Content-Type': type })).status]).toEqual([type, 201]);
  });

  test('answers 415 to a compressed body, and says what to do', async () => {
    const text = JSON.stringify(event);
    for (const encoding of ['gzip', 'br', 'deflate, gzip']) {
      const { status, body } = await post(text, { 'Content-Encoding': encoding });
      expect([encoding, status, body.error]).toEqual([
        encoding,
        415,
        'The body must not be compressed: send it without Content-Encoding',
      ]);
    }
    expect((await post(text, { 'Content-Encoding': 'identity' })).status).toBe(201);
  });

  test('accepts a body at the limit, and answers 413 for one byte more', async () => {
    const empty = JSON.stringify({ ...event, more: '' });
    const fill = (bytes: number): string => JSON.stringify({ ...event, more: 'x'.repeat(bytes - empty.length) });
    expect((await post(fill(BODY_BYTES))).status).toBe(201);
    const response = await post(fill(BODY_BYTES + 1));
    expect([response.status, response.body.error]).toEqual([413, `The body must have at most ${BODY_BYTES} bytes`]);
  });
});

describe('path parameters', () => {
  test.each([
    ['/v1/people/a%2Fb%20c%2B', 'a/b c+'],
    ['/v1/people/%C3%A9', 'é'],
    ['/v1/people/a+b', 'a+b'],
    ['/v1/people/__proto__', '__proto__'],
    ['/v1/people/%25', '%'],
    ['/v1/people/events', 'events'],
  ])('%s is %s', async (path, id) => {
    expect((await fixture.client.get(path)).body.params).toEqual({ id });
  });

  test('a malformed escape, broken UTF-8, NUL and 256 characters are 400', async () => {
    for (const id of ['%', '%2', '%zz', '%ff', '%C3', '%ED%A0%80', 'a%00b', 'x'.repeat(256)])
      expect([id, (await fixture.client.get(`/v1/people/${id}`)).status]).toEqual([id, 400]);
    expect((await fixture.client.get(`/v1/people/${'x'.repeat(255)}`)).status).toBe(200);
  });

  test('an impossible ID is 404', async () => {
    expect((await fixture.client.get(`/v1/things/${UUID}`)).body.params.id).toBe(UUID);
    for (const id of ['x', `urn:uuid:${UUID}`, `${UUID}0`])
      expect((await fixture.client.get(`/v1/things/${id}`)).status).toBe(404);
  });
});

describe('query parameters', () => {
  test.each<[string, object]>([
    ['', { limit: 10 }],
    ['?', { limit: 10 }],
    ['?limit=5&unknown=1', { limit: 5 }],
    ['?all=true', { limit: 10, all: true }],
    ['?q=a%20b+c%26', { limit: 10, q: 'a b c&' }],
    ['?q=', { limit: 10, q: '' }],
    [`?ids=${UUID}`, { limit: 10, ids: [UUID] }],
    [`?ids=${UUID},${OTHER}`, { limit: 10, ids: [UUID, OTHER] }],
    [`?ids=${UUID}%2C${OTHER}`, { limit: 10, ids: [UUID, OTHER] }],
    [`?ids=${UUID}&ids=${OTHER}`, { limit: 10, ids: [UUID, OTHER] }],
    [`?ids[]=${UUID}&ids%5B%5D=${OTHER}`, { limit: 10, ids: [UUID, OTHER] }],
    ['?names=a,b&names=c', { limit: 10, names: ['a', 'b', 'c'] }],
    ['?__proto__=1&constructor=2', { limit: 10 }],
  ])('%s', async (query, read) => {
    expect((await fixture.client.get(`/v1/things${query}`)).body.query).toEqual(read);
  });

  test('100 repeated IDs fit', async () => {
    const query = Array.from({ length: 100 }, () => `ids=${UUID}`).join('&');
    expect((await fixture.client.get(`/v1/things?${query}`)).body.query.ids).toHaveLength(100);
    expect((await fixture.client.get(`/v1/things?${query}&ids=${UUID}`)).body.error).toBe(
      'ids must have at most 100 items',
    );
  });

  test.each([
    ['limit=0', 'limit must be at least 1'],
    ['limit=101', 'limit must be at most 100'],
    ['limit=ten', 'limit must be a whole number'],
    ['limit=1.5', 'limit must be a whole number'],
    ['limit=1e1', 'limit must be a whole number'],
    ['limit=0x10', 'limit must be a whole number'],
    ['limit=', 'limit must be a whole number'],
    ['limit', 'limit must be a whole number'],
    ['limit=1&limit=2', 'limit must be given once'],
    ['all=yes', 'all must be true or false'],
    ['ids=x', 'ids[0] must be a UUID, not a key or name'],
    ['ids=', 'ids must have at least 1 item'],
    ['day=2026-02-30', 'day must be a date (YYYY-MM-DD)'],
    ['q=%zz', 'q has a malformed percent escape'],
    ['q=%00', 'q contains a NUL character'],
  ])('%s is 422: %s', async (query, error) => {
    const response = await fixture.client.get(`/v1/things?${query}`);
    expect([response.status, response.body]).toEqual([422, { error, code: 'unprocessable' }]);
  });
});

test.each([
  ['limt=5', 'limt', "Did you mean 'limit'?"],
  ['limit=5&unknown%5B%5D=1', 'unknown', 'Known: limit, q'],
  [`${'k'.repeat(100)}=1`, 'k'.repeat(64), 'Known: limit, q'],
  ['__proto__=1', '__proto__', 'Known: limit, q'],
  ['=1', '', 'Known: limit, q'],
])('an operation that refuses unknown query parameters names that of ?%s', (query, name, hint) => {
  const schema = Type.Object({ limit: Type.Optional(Type.Integer()), q: Type.Optional(Type.String()) });
  const read = queryParser(schema, { refusesUnknown: true });
  expect(read('limit=5&&q=')).toEqual({ limit: 5, q: '' });
  const refusal = { status: 422, message: `${name} is not a known query parameter`, hint };
  expect(() => read(query)).toThrow(expect.objectContaining(refusal));
});

test('an operation without query parameters can refuse them, too', () => {
  const read = queryParser(Type.Object({}), { refusesUnknown: true });
  expect(read('')).toEqual({});
  const hint = 'There are no query parameters';
  expect(() => read('dryRun=true')).toThrow(expect.objectContaining({ status: 422, hint }));
});

test('an idempotency key has 1 to 255 ASCII characters', async () => {
  const send = (key: string) =>
    fixture.client.post('/v1/things/words/event', event, { headers: { 'Idempotency-Key': key } });
  expect((await send('k'.repeat(255))).body.idempotencyKey).toHaveLength(255);
  // An é alone arrives as an empty text: taken for "no key", the event would count twice.
  for (const key of ['', 'é', 'k'.repeat(256), 'clé 1']) expect([key, (await send(key)).status]).toEqual([key, 400]);
});
