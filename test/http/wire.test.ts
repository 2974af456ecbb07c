import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operation } from '../../src/operations/operation.ts';
import { RawConnection, rawRequest } from './raw-connection.ts';
import { ADMIN_KEY, BODY_BYTES, startServer, type Fixture } from './server-fixture.ts';

const KEY = `X-API-KEY: ${ADMIN_KEY}`;
const JSON_TYPE = 'Content-Type: application/json';
const EVENT = '{"user":{"id":"ada"},"value":1}';
const PATH = '/v1/things/words/event';

let fixture: Fixture;
let events = 0;

/** Counts the requests that reached a handler. */
const counting = operation('count_it', 'POST /v1/count', {
  summary: 'Counts',
  body: Type.Object({}),
  responses: { 200: Type.Object({}) },
  handle: async () => ({ status: 200, body: { events: (events += 1) } }),
});

beforeAll(async () => {
  fixture = await startServer({ more: [counting] });
});
afterAll(() => fixture.server.close());

/** Sends the parts one after another; resolves with the status lines once there are `answers`, or on close. */
async function exchange(parts: (string | Uint8Array)[], answers = 1): Promise<RawConnection> {
  const connection = await RawConnection.open(fixture.port);
  for (const part of parts) {
    connection.send(part);
    // So that the parts arrive as separate reads.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await connection.until(({ closed, statuses }) => closed || statuses.length >= answers);
  return connection;
}

const post = (headers: string[], body: string, path = PATH): string =>
  rawRequest('POST', path, { headers: [KEY, ...headers], body });

describe('framing', () => {
  test.each<[string, string[], string]>([
    ['Content-Length twice', ['Content-Length: 31', 'Content-Length: 31'], EVENT],
    ['two Content-Lengths', ['Content-Length: 31', 'Content-Length: 30'], EVENT],
    ['an empty Content-Length', ['Content-Length: '], EVENT],
    ['no number', ['Content-Length: abc'], EVENT],
    ['a signed number', ['Content-Length: +31'], EVENT],
    ['a negative number', ['Content-Length: -1'], EVENT],
    ['a list', ['Content-Length: 31, 31'], EVENT],
    ['a number beyond all', ['Content-Length: 99999999999999999999999'], EVENT],
    ['both framings', ['Content-Length: 31', 'Transfer-Encoding: chunked'], `1f\r\n${EVENT}\r\n0\r\n\r\n`],
    ['another encoding', ['Transfer-Encoding: gzip, chunked'], `1f\r\n${EVENT}\r\n0\r\n\r\n`],
    ['two encodings', ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], `1f\r\n${EVENT}\r\n0\r\n\r\n`],
    ['a chunk without a size', ['Transfer-Encoding: chunked'], `zz\r\n${EVENT}\r\n0\r\n\r\n`],
    ['the key twice', [KEY, 'Content-Length: 31'], EVENT],
  ])('%s is 400 and ends the connection', async (_what, headers, body) => {
    const before = events;
    const connection = await exchange([post([JSON_TYPE, ...headers], body, '/v1/count')]);
    expect(connection.statuses).toEqual([400]);
    await connection.until(({ closed }) => closed);
    expect(connection.statuses).toEqual([400]);
    expect(events).toBe(before);
  });

  test('reads a chunked body', async () => {
    const connection = await exchange([
      post([JSON_TYPE, 'Transfer-Encoding: chunked'], '10\r\n{"user":{"id":"a\r\n'),
      'f\r\nda"},"value":1}\r\n0\r\n\r\n',
    ]);
    expect(connection.statuses).toEqual([201]);
    expect(connection.received).toContain('"id":"ada"');
    connection.destroy();
  });

  test('without Content-Length or encoding there is no body', async () => {
    const connection = await exchange([post([JSON_TYPE], '')]);
    expect(connection.statuses).toEqual([400]);
    expect(connection.received).toContain('A JSON body is required');
    connection.destroy();
  });

  test.each([
    ['no HTTP', 'GARBAGE 1 2 3 4 5 6\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n'],
    ['HTTP/1.0', 'GET /healthz HTTP/1.0\r\n\r\n'],
  ])('refuses %s and stays up', async (_what, text) => {
    const connection = await exchange([text]);
    await connection.until(({ closed }) => closed);
    expect(connection.statuses.filter((status) => status < 400)).toEqual([]);
    expect((await fixture.client.get('/healthz')).status).toBe(200);
  });
});

describe('size', () => {
  const withHeader = (bytes: number): string =>
    rawRequest('GET', '/healthz', { headers: [`X-Long: ${'x'.repeat(bytes)}`] });

  test('accepts 15 KB of headers, and answers 431 for 17 KB', async () => {
    expect((await exchange([withHeader(15_000)])).statuses).toEqual([200]);
    for (const bytes of [17_000, 100_000]) {
      const refused = await exchange([withHeader(bytes)]);
      await refused.until(({ closed }) => closed);
      expect([bytes, refused.statuses]).toEqual([bytes, [431]]);
    }
  });

  test.each([
    ['GET', '/healthz'],
    ['GET', '/nowhere'],
    ['DELETE', '/v1/count'],
    ['GET', `/v1/things?q=${'x'.repeat(17_000)}`],
    ['GET', `/v1/people/${'x'.repeat(17_000)}`],
    ['POST', '/v1/count'],
  ])('a 431 of %s %.14s is JSON', async (method, path) => {
    const long = path.length > 1_000 ? {} : { 'X-Long': 'x'.repeat(17_000) };
    const response = await fetch(`http://127.0.0.1:${fixture.port}${path}`, {
      method,
      headers: { 'X-API-KEY': ADMIN_KEY, ...long },
    });
    expect([response.status, await response.json()]).toEqual([
      431,
      { error: 'Request line and headers must have at most 16384 bytes', code: 'headers_too_large' },
    ]);
  });

  test('a body announced as too large is 413 before it is sent', async () => {
    const connection = await exchange([post([JSON_TYPE, `Content-Length: ${BODY_BYTES + 1}`], '{')]);
    expect(connection.statuses).toEqual([413]);
    expect(connection.received).toContain('Connection: close');
    connection.destroy();
  });

  test('a chunked body is 413 as soon as it is too large', async () => {
    const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
    const connection = await exchange([
      post([JSON_TYPE, 'Transfer-Encoding: chunked'], ''),
      ...Array.from({ length: 10 }, () => chunk),
    ]);
    expect(connection.statuses).toEqual([413]);
    expect(connection.received).toContain('Connection: close');
    connection.destroy();
  });

  test('body over the limit 413: a client that sends all of it before it reads sees the answer', async () => {
    const body = `{"user":{"id":"ada"},"value":1,"more":"${'x'.repeat(8_000_000)}"}`;
    const url = `http://127.0.0.1:${fixture.port}${PATH}`;
    const headers = { 'X-API-KEY': ADMIN_KEY, 'Content-Type': 'application/json' };
    for (let n = 0; n < 10; n += 1) {
      const response = await fetch(url, { method: 'POST', headers, body });
      expect([response.status, await response.json()]).toEqual([
        413,
        { error: `The body must have at most ${BODY_BYTES} bytes`, code: 'payload_too_large' },
      ]);
    }
  });
});

describe('does not execute a request behind a fault, and answers the fault', () => {
  const BEHIND = rawRequest('POST', '/v1/count', { headers: [KEY, JSON_TYPE], body: '{}' });
  const MANY_BYTES = `{"more":"${'x'.repeat(BODY_BYTES)}"}`;
  const twice = ['Content-Length: 2', 'Content-Length: 2'];
  const faults: [string, number, string][] = [
    ['Content-Length twice', 400, post([JSON_TYPE, ...twice], '{}', '/v1/count')],
    [
      'Content-Length twice of HEAD',
      400,
      rawRequest('HEAD', '/v1/people/ada', { headers: [KEY, ...twice], body: '{}' }),
    ],
    ['Content-Length twice elsewhere', 400, rawRequest('GET', '/healthz', { headers: twice, body: '{}' })],
    [
      'another encoding',
      400,
      post([JSON_TYPE, 'Transfer-Encoding: gzip, chunked'], '2\r\n{}\r\n0\r\n\r\n', '/v1/count'),
    ],
    ['a large body', 413, post([JSON_TYPE], MANY_BYTES, '/v1/count')],
    [
      'a large chunked body',
      413,
      post(
        [JSON_TYPE, 'Transfer-Encoding: chunked'],
        `${MANY_BYTES.length.toString(16)}\r\n${MANY_BYTES}\r\n0\r\n\r\n`,
        '/v1/count',
      ),
    ],
    ['long headers', 431, rawRequest('GET', '/v1/things', { headers: [KEY, `X-Long: ${'x'.repeat(17_000)}`] })],
    ['long headers elsewhere', 431, rawRequest('GET', '/healthz', { headers: [`X-Long: ${'x'.repeat(17_000)}`] })],
    ['long headers of an unknown path', 431, rawRequest('GET', '/no', { headers: [`X-Long: ${'x'.repeat(17_000)}`] })],
  ];

  let admin: Fixture;
  beforeAll(async () => {
    const operations = [{ ...counting, surface: 'admin' as const }];
    admin = await startServer({ surface: 'admin', operations });
  });
  afterAll(() => admin.server.close());

  test.each([
    ...faults.map(([what, status, faulty]) => [what, 'application', status, faulty] as const),
    // The admin port of this test has one operation.
    ...faults
      .filter(([, , faulty]) => faulty.includes('/v1/count'))
      .map(([what, status, faulty]) => [what, 'admin', status, faulty] as const),
  ])('%s on the %s port: %i', async (_what, surface, status, faulty) => {
    const { port } = surface === 'admin' ? admin : fixture;
    for (const parts of [
      [faulty + BEHIND + BEHIND],
      [faulty, BEHIND],
      [faulty.slice(0, -1), faulty.slice(-1) + BEHIND],
    ]) {
      const before = events;
      const connection = await RawConnection.open(port);
      for (const part of parts) {
        connection.send(part);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await connection.until(({ closed }) => closed);
      expect([connection.statuses[0], events]).toEqual([status, before]);
      // Requests in the same read may be refused, too.
      expect(connection.statuses.slice(1).every((refused) => refused === 400)).toBe(true);
      expect(connection.received).toContain('Connection: close');
    }
  });

  test('executes requests of other connections', async () => {
    const before = events;
    const others = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(fixture.port)));
    const bad = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(fixture.port)));
    for (const [n, other] of others.entries()) {
      bad[n]!.send(faults[0]![2] + BEHIND);
      other.send(BEHIND);
    }
    for (const connection of [...others, ...bad])
      await connection.until(({ closed, statuses }) => closed || statuses.length > 0);
    expect(others.map(({ statuses }) => statuses)).toEqual(others.map(() => [200]));
    expect(bad.map(({ statuses }) => statuses[0])).toEqual(bad.map(() => 400));
    expect(events).toBe(before + others.length);
    for (const other of others) other.destroy();
  });
});

describe('pace', () => {
  test('a body that arrives byte by byte is one body', async () => {
    const connection = await exchange([
      rawRequest('POST', PATH, { headers: [KEY, JSON_TYPE, 'Content-Length: 31'] }),
      ...Array.from(EVENT),
    ]);
    expect(connection.statuses).toEqual([201]);
    connection.destroy();
  });

  test('joins characters that are split between chunks', async () => {
    const bytes = Buffer.from('{"user":{"id":"é🦉"},"value":1}');
    const head = rawRequest('POST', PATH, { headers: [KEY, JSON_TYPE, `Content-Length: ${bytes.length}`] });
    const connection = await exchange([head, ...Array.from(bytes, (byte) => Uint8Array.of(byte))]);
    expect(connection.statuses).toEqual([201]);
    expect(connection.received).toContain('é🦉');
    connection.destroy();
  });

  test('answers sequential requests of one connection in turn', async () => {
    const connection = await RawConnection.open(fixture.port);
    for (let n = 1; n <= 5; n += 1) {
      connection.send(post([JSON_TYPE], EVENT));
      await connection.until(({ statuses }) => statuses.length === n);
    }
    expect(connection.statuses).toEqual([201, 201, 201, 201, 201]);
    connection.destroy();
  });

  test('skips a refused body: reads the next request on the connection correctly', async () => {
    const refused = rawRequest('POST', PATH, { headers: [JSON_TYPE, 'Content-Length: 31'] });
    const connection = await exchange([refused, EVENT, rawRequest('GET', '/healthz')], 2);
    expect(connection.statuses).toEqual([401, 200]);
    connection.destroy();
  });

  test('a HEAD leaves the connection usable', async () => {
    const head = rawRequest('HEAD', '/v1/people/ada', { headers: [KEY] });
    const connection = await exchange([head], 1);
    connection.send(rawRequest('GET', '/healthz'));
    await connection.until(({ statuses }) => statuses.length === 2);
    expect(connection.statuses).toEqual([200, 200]);
    connection.destroy();
  });

  test('answers pipelined requests that need no waiting in order', async () => {
    const connection = await exchange(
      [rawRequest('GET', '/healthz') + rawRequest('GET', '/nothing') + rawRequest('GET', '/healthz')],
      3,
    );
    expect(connection.statuses).toEqual([200, 404, 200]);
    connection.destroy();
  });

  test('a request pipelined behind one in progress ends the connection and harms nobody', async () => {
    const { gate, server, port } = await startServer();
    const connection = await RawConnection.open(port);
    connection.send(rawRequest('GET', '/v1/slow', { headers: [KEY] }) + rawRequest('GET', '/healthz'));
    await connection.until(({ closed }) => closed);
    expect(connection.statuses).toEqual([]);
    gate.release();
    const next = await RawConnection.open(port);
    next.send(rawRequest('GET', '/v1/slow', { headers: [KEY] }));
    await next.until(({ statuses }) => statuses.length === 1);
    expect(next.statuses).toEqual([200]);
    server.close();
  });
});

describe('a client that disconnects', () => {
  test('during the answer: the handler ends, nothing is written, the server stays up', async () => {
    const { gate, server, port, client, errors } = await startServer();
    const connection = await RawConnection.open(port);
    connection.send(rawRequest('POST', '/v1/slow', { headers: [KEY, JSON_TYPE], body: '{}' }));
    while (gate.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    connection.destroy();
    expect((await client.get('/healthz')).status).toBe(200);
    gate.release();
    expect((await client.get('/v1/slow')).status).toBe(200);
    expect(gate.passed).toBe(2);
    expect(errors).toEqual([]);
    server.close();
  });

  test('in the middle of its body: no handler begins', async () => {
    const before = events;
    const connection = await RawConnection.open(fixture.port);
    connection.send(
      rawRequest('POST', '/v1/count', { headers: [KEY, JSON_TYPE, 'Content-Length: 20'], body: '{"half":' }),
    );
    expect((await fixture.client.get('/healthz')).status).toBe(200);
    connection.destroy();
    expect((await fixture.client.post('/v1/count', {})).body.events).toBe(before + 1);
  });

  test('while its key is looked up: no handler begins', async () => {
    let found!: () => void;
    const lookedUp = new Promise<void>((resolve) => (found = resolve));
    let asked = 0;
    const caller = { kind: 'admin', prefix: 'a', userId: null, tenantNo: null, scope: 'all', rateLimit: null } as const;
    const { gate, server, port } = await startServer({
      authenticate: async () => {
        asked += 1;
        await lookedUp;
        return caller;
      },
    });
    const connection = await RawConnection.open(port);
    connection.send(rawRequest('POST', '/v1/slow', { headers: [KEY, JSON_TYPE], body: '{}' }));
    while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
    connection.destroy();
    // Nothing is in flight any more, although the lookup has not ended.
    expect(await server.drain()).toBe(0);
    found();
    await new Promise((resolve) => setImmediate(resolve));
    expect(gate.waiting).toBe(0);
  });
});

test('loses nothing of a body that arrives while the key is looked up', async () => {
  let found!: () => void;
  const lookedUp = new Promise<void>((resolve) => (found = resolve));
  const { server, client } = await startServer({
    authenticate: async () => {
      await lookedUp;
      return { kind: 'admin', prefix: 'a', userId: null, tenantNo: null, scope: 'all', rateLimit: null };
    },
  });
  const small = client.post(PATH, JSON.parse(EVENT));
  const large = client.post(PATH, { user: { id: 'ada' }, value: 1, more: 'x'.repeat(BODY_BYTES) });
  setTimeout(found, 20);
  expect((await small).status).toBe(201);
  expect((await large).status).toBe(413);
  server.close();
});
