import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtWorker } from './costliest/built-processes.ts';
import { craftedRequests } from './costliest/crafted.ts';
import { CONFIGURATION, largestRequests, USER, type CostlyRequest } from './costliest/requests.ts';
import { storeManyValues } from './costliest/many-values.ts';
import { watchedFrontend, type WatchedFrontend } from './costliest/watched-frontend.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { createAdminKeys } from '../../src/postgres/access/admin-keys.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack } from '../stack/stack.ts';
import { sized } from './length.ts';
import { opened } from '../stack/opened.ts';

const KEY = 'costly.0123456789abcdef';
/**
 * In units of parsing a text of 900 KB, which takes 8 to 10 ms where the longest stretch was 50 ms. Four times that, for a
 * busy machine.
 */
const MOST_PARSINGS = 20;
/** How often a request is measured at most. */
const MEASURED = 5;

let frontend: WatchedFrontend;
let worker: { close(): Promise<void> };

const stack = opened(() => testStack());
beforeAll(async () => {
  const pool = createPool(stack.databaseUrl, { max: 1 });
  await migrate(pool);
  await createAdminKeys(pool, async () => undefined).ensureFirst(KEY);
  worker = await builtWorker(stack);
  frontend = await watchedFrontend(stack);
  await send({
    name: 'configuration',
    surface: 'admin',
    method: 'PUT',
    path: '/v1/configuration',
    body: JSON.stringify(CONFIGURATION),
  });
  await event(USER);
  await storeManyValues(pool, sized({ short: 20_000, long: 60_000 }));
  await pool.end();
});
afterAll(async () => {
  await frontend.close();
  await worker.close();
});

const send = ({ surface, method, path, body }: CostlyRequest): Promise<Response> =>
  fetch((surface === 'admin' ? frontend.adminUrl : frontend.appUrl) + path, {
    method,
    headers: { 'X-API-KEY': KEY, 'Content-Type': 'application/json' },
    ...(body !== null && method !== 'GET' && { body }),
  });

const event = (id: string): Promise<Response> =>
  send({
    name: '',
    surface: 'application',
    method: 'POST',
    path: '/v1/metrics/flips/event',
    body: JSON.stringify({ user: { id }, value: 1 }),
  });

test('no request blocks the event loop of a frontend, including the costliest request of each operation and crafted ones', async () => {
  const generic = largestRequests([...applicationOperations, ...adminOperations]);
  const requests = [...generic, ...craftedRequests(sized({ short: 3_000, long: 9_500 }))];
  const parsingMs = await frontend.calibrate();
  const slow: string[] = [];
  for (const request of requests) {
    let status = 0;
    /** Infinity if a statement took longer than it may, which on a busy machine is not the request's fault. */
    const stretch = async (): Promise<number> => {
      let outage = false;
      const stretchMs = await frontend.longestStretch(async () => {
        // Each is read at once: the server closes a connection that is idle while the other answer takes long.
        const read = async (answered: Promise<Response>): Promise<number> => {
          const answer = await answered;
          await answer.text().catch(() => (outage = true));
          return answer.status;
        };
        [status] = (await Promise.all([read(send(request)), read(event('somebody'))])) as [number, number];
        outage ||= status === 503;
      });
      return outage ? Infinity : stretchMs;
    };
    // The first compiles and loads what it needs. Of the next, the shortest counts: a busy machine makes others longer.
    await stretch();
    let stretchMs = Infinity;
    for (let measured = 0; measured < MEASURED && stretchMs > MOST_PARSINGS * parsingMs; measured += 1)
      stretchMs = Math.min(stretchMs, await stretch());
    if (stretchMs > MOST_PARSINGS * parsingMs) slow.push(`${request.name} (${status}): ${stretchMs.toFixed(0)} ms`);
    frontend.alive();

    expect(status, `${request.name}: ${status}`).toBeLessThan(500);
  }
  expect(slow).toEqual([]);
}, 900_000);
