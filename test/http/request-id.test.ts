import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestIdOf } from '../../src/http/request-head.ts';
import { startServer } from './server-fixture.ts';

let fixture: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => void (fixture = await startServer()));
afterAll(() => fixture.server.close());

const idOf = async (method: string, path: string, headers: Record<string, string> = {}): Promise<string | null> =>
  (await fixture.client.send(method, path, { headers })).headers.get('x-request-id');

test.each([
  ['GET', '/v1/things'],
  ['HEAD', '/v1/things'],
  ['GET', '/v1/things/no-uuid'],
  ['POST', '/v1/things/a/event'],
  ['DELETE', '/v1/things'],
  ['GET', '/nowhere'],
  ['GET', '/healthz'],
  ['OPTIONS', '/v1/things'],
])('%s %s: the answer has a generated ID', async (method, path) => {
  const ids = [await idOf(method, path), await idOf(method, path)];
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{10}-[0-9a-z]+$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test.each([
  ['GET', '/v1/things'],
  ['GET', '/v1/things/no-uuid'],
  ['DELETE', '/v1/things'],
  ['GET', '/nowhere'],
  ['GET', '/healthz'],
  ['GET', '/readyz'],
  ['OPTIONS', '/v1/things'],
])('%s %s: repeats a sent ID if it is well-formed', async (method, path) => {
  const sent = '0192f0c1-7a4e-7cc0-9a43_A';
  expect(await idOf(method, path, { 'X-Request-Id': sent })).toBe(sent);
  for (const odd of ['', 'with space', 'x'.repeat(65), 'a;b', '<b>'])
    expect(await idOf(method, path, { 'X-Request-Id': odd })).toMatch(/^[0-9a-f]{10}-[0-9a-z]+$/);
});

test('an ID has at most 64 characters', () => {
  for (const sent of [null, 'x'.repeat(64), 'x'.repeat(65)]) expect(requestIdOf(sent).length).toBeLessThanOrEqual(64);
});
