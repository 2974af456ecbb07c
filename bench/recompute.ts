/**
 * A recomputation of N users (default 20,000) with M events each (default 10) of the demo catalog, after every trigger's points were
 * doubled: how fast achievements, points and boards are planned, applied and reverted, and what single events wait meanwhile,
 * beside what they wait without it. The first 1,000 users' events are applied; the others are copied from them in Postgres,
 * and Redis is rebuilt. What is compared with is measured when the changed rules have settled: the first events after a change
 * wait for frontends to compile it. Prints each stage with the seconds since the beginning.
 *
 *   npm run bench:recompute -- [users] [events a user]
 *
 * All of Laurel with servers of its own, as `npm start` runs it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Configuration } from '../src/domain/configuration.ts';
import type { Recomputation } from '../src/domain/recomputation.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { rebuildServers } from '../src/engine/availability/accept.ts';
import { USERS_A_CALL } from '../src/engine/recomputations/recomputing.ts';
import { createPool } from '../src/postgres/pool.ts';
import { cloneUsers } from './cloned-users.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { median } from './rows.ts';
import { KEYED, shapeOf } from './shape.ts';
import { startStack, type Stack } from './stack.ts';

const [USERS = 20_000, EVENTS = 10] = process.argv.slice(2).map(Number);
/** Single events a second beside it: about a tenth of what one frontend answers. */
const RATE = 300;
const LOAD_SECONDS = 10;
/** Loads without a recomputation, after one that is not counted: their median is what it is compared with. */
const LOADS_ALONE = 3;
const ORIGINALS = Math.min(1_000, USERS);
const LOOK_MS = 250;
/** How often a stage that takes long says how far it is. */
const SAY_MS = 30_000;

const startedMs = performance.now();
const stage = (text: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(5)} s  ${text}`);

const stack = await startStack({ users: 1 });
try {
  await run(stack);
} finally {
  await stack.stop();
}

async function run({ redisUrl, databaseUrl, ...servers }: Stack): Promise<void> {
  const catalog = (await loadCatalog(servers.pool, 0))!;
  const shape = shapeOf(catalog);
  const { atOnce, batch } = { atOnce: 2, batch: 20 };
  for (let seed = 0; seed < EVENTS; seed += 1) {
    const crowd = { users: ORIGINALS };
    await servers.direct({
      kind: 'direct',
      redisUrl,
      databaseUrl,
      batch,
      atOnce,
      amount: ORIGINALS,
      crowd,
      seed,
      everyUser: true,
    });
    await servers.drained();
  }
  stage(`${ORIGINALS} users have their events; the others are copied from them`);
  const pool = createPool(databaseUrl, { max: 5 });
  let saidMs = performance.now();
  const onProgress = (made: number): void => {
    if (performance.now() - saidMs < SAY_MS) return;
    saidMs = performance.now();
    stage(`${made} of ${USERS} users are copied`);
  };
  await cloneUsers(pool, { originals: ORIGINALS, users: USERS, onProgress });
  stage('Redis is rebuilt');
  await rebuildServers({ redis: servers.redis, pool });
  await pool.end();
  await answering();
  stage(
    `${USERS.toLocaleString('en')} users have ${(USERS * EVENTS).toLocaleString('en')} events: ${await sizes(servers)}`,
  );
  const eventsWait = async (seed: number): Promise<Outcome> => {
    const job: LoadJob = {
      kind: 'load',
      url: stack.url,
      apiKey: stack.apiKey,
      requests: 'event',
      connections: 16,
      amount: RATE * LOAD_SECONDS,
      pace: { rate: RATE },
      shape,
      crowd: { users: USERS },
      keyed: KEYED,
      seed,
    };
    return (await stack.load(job)) as Outcome;
  };
  await doubled();
  stage('the rules are changed; loads without a recomputation');
  await eventsWait(100);
  const alone: number[] = [];
  for (let seed = 101; seed <= 100 + LOADS_ALONE; seed += 1) alone.push((await eventsWait(seed)).p99);
  const without = median(alone);
  stage(`without a recomputation the p99 is ${alone.map((ms) => ms.toFixed(1)).join(', ')} ms`);
  const { id } = await ask('POST', '/v1/recomputations', { what: ['achievements', 'points', 'boards'] });
  say('planned', await beside(id, { eventsWait, firstSeed: 1_000 }), { unit: 'events', each: EVENTS, without });
  await servers.redis.config('SET', 'slowlog-log-slower-than', '200', 'slowlog-max-len', '100000');
  await ask('POST', `/v1/recomputations/${id}/apply`);
  say('applied', await beside(id, { eventsWait, firstSeed: 100_000 }), { unit: 'users', each: 1, without });
  console.log(await callTimes(servers.redis));
  await ask('POST', `/v1/recomputations/${id}/revert`);
  say('reverted', await beside(id, { eventsWait, firstSeed: 200_000 }), { unit: 'users', each: 1, without });
  const { figures } = await ask('GET', `/v1/recomputations/${id}`);
  console.log(`${figures.gaining} of ${figures.users} users gain.`);
}

/** When the frontend answers after Redis was rebuilt. */
async function answering(): Promise<void> {
  while (!(await fetch(`${stack.url}/readyz`)).ok) await sleep(100);
}

/** How long Redis was at the calls that applied the plan. */
async function callTimes(redis: Stack['redis']): Promise<string> {
  const entries = (await redis.slowlog('GET', 100_000)) as [number, number, number, string[]][];
  await redis.config('SET', 'slowlog-log-slower-than', '-1');
  const took = entries
    .filter(([, , , [, name = '']]) => name.includes('recompute_users'))
    .map(([, , micros]) => micros / 1000)
    .toSorted((a, b) => a - b);
  const at = (share: number): string => (took[Math.ceil(took.length * share) - 1] ?? 0).toFixed(1);
  return `Redis was at a call of ${USERS_A_CALL} users for ${at(0.5)} ms in the median, ${at(0.99)} ms in the p99 (${took.length} of the last calls)`;
}

/** What the data takes, in memory and on disk. */
async function sizes({ redis, pool }: Pick<Stack, 'redis' | 'pool'>): Promise<string> {
  const memory = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  const { rows } = await pool.query<{ bytes: number }>('SELECT pg_database_size(current_database())::float8 AS bytes');
  return `Redis ${Math.round(memory / 1e6)} MB, Postgres ${Math.round(rows[0]!.bytes / 1e6)} MB`;
}

/** Has every trigger pay twice as much. */
async function doubled(): Promise<void> {
  const configuration = (await ask('GET', '/v1/configuration')) as unknown as Configuration;
  for (const system of configuration.pointsSystems ?? [])
    for (const trigger of system.triggers ?? []) trigger.points *= 2;
  await ask('PUT', '/v1/configuration', configuration);
}

interface Phase {
  users: number;
  seconds: number;
  /** The p99 of each of the loads that were made meanwhile, ms. */
  p99s: number[];
}

/** Follows a step of a recomputation to its end, with single events beside it. */
async function beside(
  id: string,
  { eventsWait, firstSeed }: { eventsWait: (seed: number) => Promise<Outcome>; firstSeed: number },
): Promise<Phase> {
  const beganMs = performance.now();
  let saidMs = beganMs;
  const step = (async () => {
    for (;;) {
      const { status, progress } = await ask('GET', `/v1/recomputations/${id}`);
      if (!status.endsWith('ing')) return { users: progress.users, seconds: (performance.now() - beganMs) / 1000 };
      if (performance.now() - saidMs > SAY_MS) {
        saidMs = performance.now();
        stage(`${status}: ${progress.users} of ${progress.of ?? '?'} users`);
      }
      await sleep(LOOK_MS);
    }
  })();
  let isOver = false;
  void step.then(() => (isOver = true));
  const waited: number[] = [];
  for (let seed = firstSeed; !isOver; seed += 1) waited.push((await eventsWait(seed)).p99);
  return { ...(await step), p99s: waited };
}

function say(
  what: string,
  { users, seconds, p99s }: Phase,
  { unit, each, without }: { unit: string; each: number; without: number },
): void {
  const perSecond = Math.round((users * each) / seconds).toLocaleString('en');
  const p99 = median(p99s);
  const worst = Math.max(...p99s);
  const times = (ms: number): string => `${ms.toFixed(1)} ms, ${(ms / without).toFixed(2)} ×`;
  stage(
    `${what}: ${users} users in ${seconds.toFixed(1)} s, ${perSecond} ${unit}/s; p99 of single events at ${RATE}/s ` +
      `in the median of ${p99s.length} loads of ${LOAD_SECONDS} s ${times(p99)}, in the worst ${times(worst)}; without it ${without.toFixed(1)} ms`,
  );
}

async function ask(method: string, path: string, body?: unknown): Promise<Recomputation> {
  const response = await fetch(stack.adminUrl + path, {
    method,
    headers: { 'X-API-KEY': stack.apiKey, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Recomputation;
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
