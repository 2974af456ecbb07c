import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RawConnection } from '../http/raw-connection.ts';
import { startTarget } from './target.ts';
import { opened } from '../stack/opened.ts';

/** Total number of connections; `FUZZ_REQUESTS` sets it with the requests. */
const CONNECTIONS = Math.ceil(Number(process.env['FUZZ_REQUESTS'] ?? 3_000) / 10);

const target = opened(() => startTarget());

const line = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('GET /v1/openapi HTTP/1.1', 'POST /v1/users HTTP/1.1', 'GET /healthz HTTP/1.1'),
  },
  fc.constantFrom(
    'GET /healthz HTTP/9.9',
    'GET /healthz',
    'get /healthz HTTP/1.1',
    'GET  /healthz  HTTP/1.1',
    'GET healthz HTTP/1.1',
    'GET * HTTP/1.1',
    'CONNECT localhost:80 HTTP/1.1',
    'PRI * HTTP/2.0',
    `GET /${'a'.repeat(20_000)} HTTP/1.1`,
    'GET /v1/users/%00 HTTP/1.1',
  ),
  fc.string({ unit: 'binary', maxLength: 80 }),
);
const header = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('Host: localhost', 'Content-Type: application/json', 'X-API-KEY: fuzz.0123456789abcdef'),
  },
  fc.constantFrom(
    'Content-Length: 5',
    'Content-Length: -1',
    'Content-Length: 99999999999999999999',
    'Content-Length: 5, 6',
    'Content-Length: 0x10',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: chunked, identity',
    'Expect: 100-continue',
    'Upgrade: websocket',
    'Connection: close',
    ' folded',
    ': nameless',
    'Name without colon',
    `X-Long: ${'x'.repeat(17_000)}`,
  ),
  fc
    .tuple(fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ unit: 'binary', maxLength: 60 }))
    .map(([name, value]) => `${name}: ${value}`),
);
const body = fc.oneof(
  fc.constantFrom('', '{}', '5\r\nhello\r\n0\r\n\r\n', 'ffffffffffffffff\r\n', '{"id":"u1"}', 'zz\r\n'),
  fc.string({ unit: 'binary', maxLength: 300 }),
);
const message = fc
  .tuple(line, fc.array(header, { maxLength: 8 }), fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'), body)
  .map(([first, headers, end, rest]) => [first, ...headers, '', rest].join(end));

test(`answers none of ${CONNECTIONS} connections with broken HTTP with a 5xx, and the server survives`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 3 }),
      fc.constantFrom<'application' | 'admin'>('application', 'admin'),
      fc.nat({ max: 3 }),
      async (messages, surface, cut) => {
        const connection = await RawConnection.open(target.ports[surface]);
        const bytes = Buffer.from(messages.join(''));
        // In one piece, in two, or broken off in the middle.
        const middle = Math.floor(bytes.length / (1 + cut));
        connection.send(bytes.subarray(0, middle));
        if (cut < 3) connection.send(bytes.subarray(middle));
        const probe = await target.send({ surface, method: 'GET', path: '/healthz' });
        expect(probe.status).toBe(200);
        // 505: the client speaks another version of HTTP.
        for (const status of connection.statuses) expect(status === 505 ? 400 : status).toBeLessThan(500);
        connection.destroy();
        target.alive();
      },
    ),
    { numRuns: CONNECTIONS },
  );
}, 1_800_000);

test('a thousand silent connections do not keep others from being served', async () => {
  const silent = await Promise.all(Array.from({ length: 1_000 }, () => RawConnection.open(target.ports.application)));
  for (const connection of silent)
    connection.send('POST /v1/metrics/flips/event HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n');
  const probe = await target.send({ surface: 'application', method: 'GET', path: '/healthz' });
  expect(probe.status).toBe(200);
  for (const connection of silent) connection.destroy();
});
