import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { createRateLimit } from '../../src/http/access/rate-limit.ts';
import { operation } from '../../src/operations/operation.ts';
import { RawConnection, rawRequest } from './raw-connection.ts';
import { ADMIN_KEY, Gate, startServer } from './server-fixture.ts';

const KEY = `X-API-KEY: ${ADMIN_KEY}`;
/** The end of a chunked body. */
const LAST_CHUNK = '0\r\n\r\n';

/** A server with an operation whose answer comes in two pieces; the second waits at the gate. */
async function streaming(options: Parameters<typeof startServer>[0] = {}) {
  const second = new Gate();
  async function* pieces(): AsyncGenerator<string> {
    yield '{"first":1';
    await second.pass();
    yield ',"second":2}';
  }
  const streamed = operation('streamed_get', 'GET /v1/streamed', {
    summary: 'Answers in pieces',
    responses: { 200: Type.Object({}) },
    handle: async () => ({ status: 200, chunks: pieces() }),
  });
  return { ...(await startServer({ more: [streamed], ...options })), second };
}

/** A connection on which the first piece has arrived. */
async function begun(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.send(rawRequest('GET', '/v1/streamed', { headers: [KEY] }));
  await connection.until(({ received }) => received.includes('{"first":1'));
  return connection;
}

test('an answer in pieces has all usual headers: limits, and those for pages of other origins', async () => {
  const rateLimit = createRateLimit({ applicationPerSecond: 0, adminPerSecond: 5 });
  const { client, server, second } = await streaming({ rateLimit, corsOrigin: 'https://example.com' });
  second.release();
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, body } = await client.send(method, '/v1/streamed');
    expect([status, body]).toEqual([200, method === 'GET' ? { first: 1, second: 2 } : null]);
    expect(headers.get('x-ratelimit-limit')).toBe('20');
    expect(headers.get('x-ratelimit-remaining')).toMatch(/^1[89]$/);
    expect(headers.get('access-control-allow-origin')).toBe('https://example.com');
    expect(headers.get('content-type')).toBe('application/json');
  }
  server.close();
});

test('draining lets an answer in pieces end completely, then closes its connection', async () => {
  const { server, port, second } = await streaming();
  const connection = await begun(port);
  const draining = server.drain();
  second.release();
  await connection.until(({ closed }) => closed);
  expect(connection.chunks).toBe('{"first":1,"second":2}');
  expect(await draining).toBe(0);
});

test('cuts off an answer that does not end in time, so that the client notices', async () => {
  const { server, port, second } = await streaming();
  const connection = await begun(port);
  const reading = fetch(`http://127.0.0.1:${port}/v1/streamed`, { headers: { 'X-API-KEY': ADMIN_KEY } });
  const response = await reading;
  expect(await server.drain({ timeoutMs: 50 })).toBe(2);
  await connection.until(({ closed }) => closed);
  expect(connection.received).not.toContain(LAST_CHUNK);
  await expect(response.text()).rejects.toThrow();
  // The abandoned handler ends without harm.
  second.release();
});

test('an answer that begins during draining says that its connection closes, and its client closes it', async () => {
  const { server, port, second } = await streaming();
  const kept = await RawConnection.open(port);
  kept.send(rawRequest('GET', '/healthz'));
  await kept.until(({ statuses }) => statuses.length === 1);
  const draining = server.drain({ lingerMs: 20_000 });
  kept.send(rawRequest('GET', '/v1/streamed', { headers: [KEY] }));
  second.release();
  await kept.until(({ received }) => received.endsWith(LAST_CHUNK));
  expect(kept.received).toContain('Connection: close');
  expect(kept.chunks).toBe('{"first":1,"second":2}');
  kept.destroy();
  expect(await draining).toBe(0);
});
