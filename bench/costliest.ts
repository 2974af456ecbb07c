import { createLog } from '../src/log/log.ts';
import { systemClock } from '../src/clock.ts';
import { adminOperations, applicationOperations } from '../src/operations/index.ts';
import { AdminKeys } from '../src/postgres/admin-keys.ts';
import { startWorkers } from '../workers/start.ts';
import { craftedRequests } from './costliest/crafted.ts';
import { CONFIGURATION, largestRequests, USER, type CostlyRequest } from './costliest/requests.ts';
import { storeManyValues } from './costliest/many-values.ts';
import { watchedFrontend } from './costliest/watched-frontend.ts';
import { temporaryServers } from './temporary-servers.ts';

// `npm run bench:requests`: of the costliest request of every operation the longest stretch of a frontend's loop (ms of
// CPU, the shortest of three), and what 100 ordinary events a second beside it wait.

const KEY = 'bench.0123456789abcdef0123456789abcdef';
const EVENT_EVERY_MS = 10;
const BESIDE_MS = 2_000;
const RESOURCES = 9_500;
const ATTRIBUTE_VALUES = 60_000;
const TIMES = 3;

const servers = await temporaryServers({ durable: true });
await new AdminKeys({ pool: servers.pool, announce: async () => undefined }).ensureFirst(KEY);
const workers = await startWorkers({
  ...servers,
  clock: systemClock,
  log: createLog({ level: 'fatal', name: 'bench' }),
});
const frontend = await watchedFrontend(servers);

async function send({ surface, method, path, body }: Omit<CostlyRequest, 'name'>): Promise<number> {
  const answer = await fetch((surface === 'admin' ? frontend.adminUrl : frontend.appUrl) + path, {
    method,
    headers: { 'X-API-KEY': KEY, 'Content-Type': 'application/json' },
    ...(body !== null && method !== 'GET' && { body }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const event = (id: string): Promise<number> =>
  send({
    surface: 'application',
    method: 'POST',
    path: '/v1/metrics/flips/event',
    body: JSON.stringify({ user: { id }, value: 1 }),
  });

/** What events wait, ms, ascending, while something goes on. */
async function waitsBeside(work: () => Promise<unknown>): Promise<number[]> {
  const waits: Promise<number>[] = [];
  const timer = setInterval(() => {
    const from = performance.now();
    waits.push(event(`ordinary-${waits.length % 10}`).then(() => performance.now() - from));
  }, EVENT_EVERY_MS);
  const until = performance.now() + BESIDE_MS;
  while (performance.now() < until) await work();
  clearInterval(timer);
  return (await Promise.all(waits)).sort((a, b) => a - b);
}

try {
  await send({ surface: 'admin', method: 'PUT', path: '/v1/configuration', body: JSON.stringify(CONFIGURATION) });
  await event(USER);
  await storeManyValues(servers.pool, ATTRIBUTE_VALUES);
  const alone = await waitsBeside(() => new Promise((resolve) => setTimeout(resolve, BESIDE_MS)));
  const p99 = (waits: number[]): string => waits[Math.floor(waits.length * 0.99)]!.toFixed(0);
  console.log(
    `Parsing 900 KB of JSON: ${(await frontend.calibrate()).toFixed(1)} ms. Events alone: p99 ${p99(alone)} ms.`,
  );
  console.log('request'.padEnd(44), 'status', 'stretch ms', 'p99 ms beside');
  for (const request of [
    ...largestRequests([...applicationOperations, ...adminOperations]),
    ...craftedRequests(RESOURCES),
  ]) {
    let status = await send(request);
    const stretches: number[] = [];
    for (let n = 0; n < TIMES; n += 1)
      stretches.push(await frontend.longestStretch(async () => void (status = await send(request))));
    const waits = await waitsBeside(() => send(request));
    const columns = [
      String(status).padStart(6),
      Math.min(...stretches)
        .toFixed(1)
        .padStart(10),
      p99(waits).padStart(13),
    ];
    console.log(request.name.padEnd(44), ...columns);
  }
} finally {
  await frontend.close();
  await workers.close();
  await servers.close();
}
