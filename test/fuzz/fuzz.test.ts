import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { TestClient } from '../http/client.ts';
import { STUDY_APP } from '../study-app.ts';
import { requestsTo, type HostileRequest } from './hostile-request.ts';
import { startTarget, type Target } from './target.ts';

/** Requests in all: `FUZZ_REQUESTS=100000 npx vitest run test/fuzz` for a long run. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 3_000);
const AT_ONCE = 8;
/** Growth is told from noise only after so many. */
const SETTLED = 20_000;
const EXPECTED = new Set([200, 201, 202, 204, 400, 401, 403, 404, 405, 413, 415, 422, 431]);

let target: Target;
const statuses = new Map<number, number>();
const reached = new Set<string>();
const known = ['u1', 'u2', 'flips', 'minutes', 'xp', 'ten', 'weekly', 'plan', 'deck', 'acme', '2026-01-01'];
const surfaces = { application: applicationOperations, admin: adminOperations };
const checkers = Object.fromEntries(
  Object.entries(surfaces).map(([surface, operations]) => [
    surface,
    new TestClient({ baseUrl: '', surface: surface as 'application' | 'admin', operations }),
  ]),
);

beforeAll(async () => {
  target = await startTarget();
  const json = { 'content-type': 'application/json' };
  const put = { surface: 'admin', method: 'PUT', path: '/v1/configuration', headers: json } as const;
  expect(await target.send({ ...put, body: JSON.stringify(STUDY_APP) })).toMatchObject({ status: 200 });
  const tenant = JSON.stringify([{ customerId: 'acme', name: 'Acme' }]);
  await target.send({ surface: 'admin', method: 'POST', path: '/v1/tenants', headers: json, body: tenant });
});
afterAll(async () => {
  await target.close();
});

/** Remembers IDs and keys that an answer names, so that later requests use them; not those of the key in use. */
function learn(answer: unknown): void {
  if (answer === null || typeof answer !== 'object') return;
  const { prefix } = answer as { prefix?: unknown };
  if (prefix === 'fuzz') return;
  for (const [name, value] of Object.entries(answer)) {
    if (typeof value !== 'string') learn(value);
    else if (/^(id|key|userId|customerId)$/.test(name) && value.length <= 64 && !known.includes(value)) {
      if (known.length >= 300) known.splice(12 + (known.length % 200), 1);
      known.push(value);
    }
  }
}

async function bombard(request: HostileRequest): Promise<void> {
  const { status, contentType, text } = await target.send(request);
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status < 300) reached.add(request.operation);
  if (!EXPECTED.has(status)) throw new Error(`${status}: ${text.slice(0, 500)}`);
  if (text === '') return;
  expect(contentType).toMatch(/^application\/json/);
  const body = JSON.parse(text) as unknown;
  if (status >= 400) expect(body).toEqual({ error: expect.stringMatching(/\S/) });
  checkers[request.surface]!.check(request.method, request.path.split('?')[0]!, { status, body });
  if (status < 300) learn(body);
}

test(`${REQUESTS} hostile requests: every one is answered by the rules, nothing breaks, nothing grows`, async () => {
  const operations = [...applicationOperations, ...adminOperations];
  const request = fc.constantFrom(...operations).chain((operation) => requestsTo(operation, () => known));
  let sent = 0;
  let settledMiB = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (requests) => {
      await Promise.all(requests.map(bombard));
      target.alive();
      sent += requests.length;
      if (settledMiB === 0 && sent >= SETTLED) settledMiB = target.memoryMiB();
    }),
    { numRuns: Math.ceil(REQUESTS / AT_ONCE) },
  );
  if (settledMiB > 0) {
    console.log(
      `${sent} requests; ${settledMiB.toFixed(0)} MiB after ${SETTLED}, ${target.memoryMiB().toFixed(0)} at the end`,
    );
    expect(target.memoryMiB()).toBeLessThan(settledMiB * 1.5 + 32);
  }
  // What was taken can be stored as well.
  await expect.poll(() => target.waiting(), { timeout: 60_000, interval: 100 }).toBe(0);
}, 3_600_000);
