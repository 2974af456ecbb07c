import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { ERRORS, type ErrorCode } from '../../src/errors.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { TestClient } from '../http/client.ts';
import { requestsTo, type HostileRequest } from './hostile-request.ts';
import { KnownNames } from './known-names.ts';
import { startTarget } from './target.ts';
import { opened } from '../stack/opened.ts';

/** Total number of requests; `npm run test:long` sends many more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 6_000);
const AT_ONCE = 8;
const RENEW_EVERY = 400;
/** Only after this many, growth can be distinguished from noise. */
const SETTLED = 20_000;
const EXPECTED = new Set([200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 431]);
/** Merges and imports wait for leaderboards that an earlier request has created or changed. */
const WAITS = /^Leaderboards are being filled from history/;

const known = new KnownNames();
const statuses = new Map<number, number>();
const reached = new Set<string>();
const surfaces = { application: applicationOperations, admin: adminOperations };
const checkers = Object.fromEntries(
  Object.entries(surfaces).map(([surface, operations]) => [
    surface,
    new TestClient({
      baseUrl: '',
      surface: surface as 'application' | 'admin',
      // The target has no test clock.
      operations: operations.filter(({ onlyWith }) => onlyWith === null),
    }),
  ]),
);

const target = opened(() => startTarget());
beforeAll(async () => {
  await admin('POST', '/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
  await known.renew(admin);
});

async function admin(method: string, path: string, body?: unknown): Promise<unknown> {
  const json = body === undefined ? null : JSON.stringify(body);
  const headers = { 'tenant-id': 'acme', ...(json !== null && { 'content-type': 'application/json' }) };
  const { text } = await target.send({ surface: 'admin', method, path, headers, body: json });
  return JSON.parse(text);
}

/** Leaderboards of decimal metrics have decimal values and thresholds, which the contract types as integers. */
const wholeBoardValues = (name: string, value: unknown): unknown =>
  typeof value === 'number' && /^(value|previousValue|threshold)$/.test(name) ? Math.round(value) : value;

async function bombard(request: HostileRequest): Promise<void> {
  const { status, contentType, text } = await target.send(request);
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status < 300) reached.add(request.operation);
  const waits = status === 503 && WAITS.test((JSON.parse(text) as { error: string }).error);
  if (!EXPECTED.has(status) && !waits) throw new Error(`${status}: ${text.slice(0, 500)}`);
  const path = request.path.split('?')[0]!;
  const checker = checkers[request.surface]!;
  if (request.method === 'HEAD') checker.check('HEAD', path, { status, body: null });
  if (text === '') return;
  expect(contentType).toMatch(/^application\/json/);
  const body = JSON.parse(text, wholeBoardValues) as unknown;
  if (status >= 400) {
    const { error, code, hint = 'none', balance, ...others } = body as Record<string, unknown>;
    expect(balance !== undefined).toBe(code === 'insufficient_balance');
    expect([error, hint]).toEqual([expect.stringMatching(/\S/), expect.stringMatching(/\S/)]);
    expect([ERRORS[code as ErrorCode].status, others]).toEqual([status, {}]);
  }
  checker.check(request.method, path, { status, body });
}

test(`answers every one of ${REQUESTS} hostile requests by the rules; nothing breaks, nothing grows`, async () => {
  // While a tenant is spread over other shards, its requests are answered 503.
  const operations = [...applicationOperations, ...adminOperations].filter(({ id }) => id !== 'admin_spread_update');
  // Events more often than the rest: their writes take the longest path.
  const events = operations.filter(({ id }) => /^metrics_event$|batch_events$/.test(id));
  const drawn = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...operations) }, fc.constantFrom(...events));
  const request = drawn.chain((operation) => requestsTo(operation, (name) => known.of(name)));
  let sent = 0;
  let settledMiB = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (requests) => {
      await Promise.all(requests.map(bombard));
      target.alive();
      sent += requests.length;
      // Restores from time to time what the requests themselves have deleted or switched.
      if (sent % RENEW_EVERY === 0) await known.renew(admin);
      if (settledMiB === 0 && sent >= SETTLED) settledMiB = target.memoryMiB();
    }),
    // Looking for a smaller example takes minutes against a server that remembers.
    { numRuns: Math.ceil(REQUESTS / AT_ONCE), endOnFailure: true },
  );
  const tally = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  console.log(`${sent} requests: ${tally.join(', ')}`);
  // Fuzzing that never gets past the checks would prove little. A stream needs a ticket, which is no name to guess.
  // The target has no test clock.
  const reachable = operations.filter(({ opensStream, onlyWith }) => !opensStream && onlyWith === null);
  const untouched = reachable.filter(({ id }) => !reached.has(id)).map(({ id }) => id);
  expect(untouched.length, `never answered 2xx: ${untouched.join(', ')}`).toBeLessThan(reachable.length / 3);
  if (settledMiB > 0) {
    console.log(`${settledMiB.toFixed(0)} MiB after ${SETTLED}, ${target.memoryMiB().toFixed(0)} at the end`);
    expect(target.memoryMiB()).toBeLessThan(settledMiB * 1.5 + 32);
  }
  // Everything accepted can also be stored.
  await expect.poll(() => target.waiting(), { interval: 100 }).toBe(0);
}, 3_600_000);
