/**
 * A recomputation of N users (default 5,000) with M events each (default 10) of the demo catalog, after every trigger's points were
 * doubled: how fast it is planned and applied, and what single events wait meanwhile, beside what they wait without it.
 *
 *   npm run bench:recompute -- [users] [events a user]
 *
 * All of Laurel with servers of its own, as `npm start` runs it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Configuration } from '../src/domain/configuration.ts';
import type { Recomputation } from '../src/domain/recomputation.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import type { LoadJob, Outcome } from './jobs.ts';
import { KEYED, shapeOf } from './shape.ts';
import { startStack, type Stack } from './stack.ts';

const [USERS = 5_000, EVENTS = 10] = process.argv.slice(2).map(Number);
/** Single events a second beside it: about a tenth of what one frontend answers. */
const RATE = 300;
const LOAD_SECONDS = 10;

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
    const crowd = { users: USERS };
    await servers.direct({
      kind: 'direct',
      redisUrl,
      databaseUrl,
      batch,
      atOnce,
      amount: USERS,
      crowd,
      seed,
      everyUser: true,
    });
    await servers.drained();
  }
  console.log(`${USERS.toLocaleString('en')} users have ${(USERS * EVENTS).toLocaleString('en')} events.`);
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
  const without = await eventsWait(101);
  await doubled();
  const { id } = await ask('POST', '/v1/recomputations', { what: ['achievements', 'points'] });
  const planned = await beside(id, eventsWait);
  say('planned', planned, { unit: 'events', each: EVENTS, without });
  await ask('POST', `/v1/recomputations/${id}/apply`);
  const applied = await beside(id, eventsWait);
  say('applied', applied, { unit: 'users', each: 1, without });
  const { figures } = await ask('GET', `/v1/recomputations/${id}`);
  console.log(`${figures.gaining} of ${figures.users} users gain.`);
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
  /** The greatest p99 of the loads that were made meanwhile, ms. */
  p99: number;
}

/** Follows a step of a recomputation to its end, with single events beside it. */
async function beside(id: string, eventsWait: (seed: number) => Promise<Outcome>): Promise<Phase> {
  const beganMs = performance.now();
  const step = (async () => {
    for (;;) {
      const { status, progress } = await ask('GET', `/v1/recomputations/${id}`);
      if (!status.endsWith('ing')) return { users: progress.users, seconds: (performance.now() - beganMs) / 1000 };
      await sleep(200);
    }
  })();
  let isOver = false;
  void step.then(() => (isOver = true));
  const waited: number[] = [];
  for (let seed = 1; !isOver; seed += 1) waited.push((await eventsWait(seed)).p99);
  return { ...(await step), p99: Math.max(...waited) };
}

function say(
  what: string,
  { users, seconds, p99 }: Phase,
  { unit, each, without }: { unit: string; each: number; without: Outcome },
): void {
  const perSecond = Math.round((users * each) / seconds).toLocaleString('en');
  const ratio = (p99 / without.p99).toFixed(2);
  console.log(
    `${what}: ${users} users in ${seconds.toFixed(1)} s, ${perSecond} ${unit}/s; p99 of single events at ${RATE}/s ` +
      `${p99.toFixed(1)} ms, without it ${without.p99.toFixed(1)} ms (${ratio} ×)`,
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
