import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { createAdminKeys } from '../../src/postgres/access/admin-keys.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';
import { startAttacker, type Attacker } from './costliest/attacker.ts';
import { builtWorker } from './costliest/built-processes.ts';
import { costlyCases, type CostlyCase, listOf, NOT_SENT, OF_ADMINS, OF_USERS } from './costliest/cases.ts';
import { createLargeTenant, LARGE, largeUsers, LEAGUE, VICTIM } from './costliest/large-tenant.ts';
import { USER, type CostlyRequest } from './costliest/requests.ts';
import { watchedFrontend, type WatchedFrontend } from './costliest/watched-frontend.ts';
import { startVictim, type Victim } from './costliest/victim.ts';
import { LONG, sized } from './length.ts';

const KEY = 'costly.0123456789abcdef';
const SIZES = {
  users: sized({ short: 200, long: 20_000 }),
  largeStates: sized({ short: 20, long: 500 }),
  events: sized({ short: 200, long: 20_000 }),
};

/** How long leaderboards may take to be filled; what is measured meanwhile would be slower. */
const FILLED_MS = sized({ short: 240_000, long: 1_800_000 });

let stack: TestStack;
let redis: Redis;
let frontend: WatchedFrontend;
let worker: { close(): Promise<void> };
/** A key of the costly user without a limit. */
let userKey: string;
let cases: CostlyCase[];

beforeAll(async () => {
  stack = await testStack({ database: 'migrated' });
  redis = new Redis(stack.redisUrl);
  const pool = createPool(stack.databaseUrl, { max: 1 });
  await createAdminKeys(pool, async () => undefined).ensureFirst(KEY);
  worker = await builtWorker(stack);
  frontend = await watchedFrontend(stack);
  await createLargeTenant(send, pool, SIZES);
  await pool.end();
  userKey = await newKey({ rateLimit: 0 });
  cases = costlyCases({ ids: await firstIds(), largeUsers: largeUsers(SIZES.largeStates), adminKey: KEY });
}, 1_800_000);
afterAll(async () => {
  await frontend.close();
  await worker.close();
  await redis.quit();
  await stack.close();
});

let keys = 0;
type Sent = Omit<CostlyRequest, 'body' | 'name'> & { body?: unknown };

const urlOf = ({ surface, path }: Sent): string => (surface === 'admin' ? frontend.adminUrl : frontend.appUrl) + path;

const headersOf = (key: string, tenantId?: string): Record<string, string> => ({
  'X-API-KEY': key,
  'Content-Type': 'application/json',
  ...(tenantId !== undefined && { 'Tenant-ID': tenantId }),
});

async function send(sent: Sent, tenantId?: string, key = KEY): Promise<{ status: number; body: unknown }> {
  const { method, body, isKeyed } = sent;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(urlOf(sent), {
    method,
    headers: { ...headersOf(key, tenantId), ...(isKeyed && { 'Idempotency-Key': `key ${(keys += 1)}` }) },
    ...(body !== undefined && body !== null && method !== 'GET' && { body: text }),
  });
  const read = await answer.text();
  return { status: answer.status, body: read === '' ? null : (JSON.parse(read) as unknown) };
}

/** A new key of the costly user. One with a rate limit has a share of its own. */
async function newKey({ rateLimit }: { rateLimit: number }): Promise<string> {
  const keys = { surface: 'admin', method: 'POST', path: '/v1/application-api-keys' } as const;
  const { body } = await send({ ...keys, body: [{ userId: USER, rateLimit }] }, LARGE);
  return (body as { created: [{ key: string }] }).created[0].key;
}

/** The first resource of each list that a path of the Admin API refers to. */
async function firstIds(): Promise<Record<string, string | null>> {
  const ids: Record<string, string | null> = {};
  const read = async (list: string, path: string): Promise<void> => {
    const { status, body } = await send({ surface: 'admin', method: 'GET', path }, LARGE);
    ids[list] = status === 200 && Array.isArray(body) ? ((body as { id: string }[])[0]?.id ?? null) : null;
  };
  const lists = new Set(adminOperations.filter(({ path }) => path.includes('{id}')).map(({ path }) => listOf(path)));
  const own = [...lists].filter((list) => !list.startsWith('/v1/users'));
  for (const list of own.filter((one) => !one.includes('{'))) await read(list, list);
  for (const list of own.filter((one) => one.includes('{')))
    await read(list, list.replace('{systemId}', ids['/v1/points']!));
  const { body } = await send({ surface: 'admin', method: 'GET', path: '/v1/leaderboards?limit=100' }, LARGE);
  ids[LEAGUE] = (body as { id: string; key: string }[]).find(({ key }) => key === LEAGUE)!.id;
  // A key that is rotated cannot send the next request.
  return { ...ids, '/v1/admin-api-keys': null };
}

test('every operation has a costliest request, or a reason not to', () => {
  const operations = [...applicationOperations, ...adminOperations].map(({ id }) => id);
  const known = [OF_USERS, OF_ADMINS, NOT_SENT].flatMap((each) => Object.keys(each));
  expect(known.toSorted()).toEqual(operations.toSorted());
});

test('each is permitted, and its time is charged to its operation', { timeout: 2 * FILLED_MS }, async () => {
  const wrong: string[] = [];
  // Until its leaderboards are filled, no users of the tenant can be merged.
  const filling = { surface: 'admin', method: 'GET', path: '/v1/jobs?kind=leaderboard_filling&limit=100' } as const;
  const statuses = async (): Promise<string[]> =>
    ((await send(filling, LARGE)).body as { status: string }[]).map(({ status }) => status);
  await expect
    .poll(async () => new Set(await statuses()), { timeout: FILLED_MS, interval: 500 })
    .toEqual(new Set(['done']));
  for (const { by, request, status } of cases) {
    const answer = await send(request, LARGE, by === 'user' ? userKey : KEY);
    const isExpected = status === null ? answer.status < 300 : answer.status === status;
    if (!isExpected) wrong.push(`${request.name}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`);
  }
  expect(wrong).toEqual([]);
  const metrics = await (await fetch(`${frontend.adminUrl}/metrics`)).text();
  const charged = (name: string, resource: string): boolean =>
    new RegExp(
      `^laurel_operation_cost_seconds_total\\{.*operation="${name}",resource="${resource}"\\} [1-9\\d.]`,
      'm',
    ).test(metrics);
  // One event in eight is measured.
  const measured = cases.map(({ request }) => request.name).filter((name) => name !== 'metrics_event');
  expect(measured.filter((name) => !charged(name, 'loop'))).toEqual([]);
  expect(charged('admin_users_filtered', 'postgres')).toBe(true);
  // What a worker does later.
  const changes = ['users_identify', 'users_update', 'users_update_preferences', 'spendings_spend', 'spendings_hold'];
  expect([...changes, 'rewards_claim'].filter((name) => !charged(name, 'storage'))).toEqual([]);
});

/** How long a request may hold the event loop without a pause: CPU, in units of parsing a text of 900 KB, about 10 ms. */
const MOST_PARSINGS = 1;
/** Of 9,000 items that are compared, some megabytes are in use at each collection of young garbage, which copies them: 5 to 7 ms. */
const LONGER: Readonly<Record<string, number>> = { admin_configuration_diff: 1.5 };
/** How long one command may hold Redis. */
const MOST_REDIS_MS = 3;
/** How often a request is measured that exceeds this: the least counts, because others use the machine. */
const MEASURED = 10;

/** The duration of the slowest command since the log was emptied. */
async function longestCommandMs(): Promise<number> {
  const entries = (await redis.slowlog('GET', 100)) as [id: number, at: number, tookUs: number][];
  return Math.max(0, ...entries.map(([, , tookUs]) => tookUs)) / 1_000;
}

// The long variant shows what its large states and its 20,000 users cost a victim.
test.skipIf(LONG)('none holds the event loop or Redis for long', async () => {
  await redis.config('SET', 'slowlog-log-slower-than', '200');
  let parsingMs = await frontend.calibrate();
  const long: string[] = [];
  for (const { by, request } of cases) {
    const mostParsings = LONGER[request.name] ?? MOST_PARSINGS;
    let [parsings, redisMs] = [Infinity, Infinity];
    for (let n = 0; n < MEASURED && (parsings > mostParsings || redisMs > MOST_REDIS_MS); n += 1) {
      // Others may have made the machine slower since the last time.
      if (n > 0) parsingMs = await frontend.calibrate();
      await redis.slowlog('RESET');
      const sent = (): Promise<unknown> => send(request, LARGE, by === 'user' ? userKey : KEY);
      parsings = Math.min(parsings, (await frontend.longestStretch(sent)) / parsingMs);
      redisMs = Math.min(redisMs, await longestCommandMs());
    }
    if (parsings > mostParsings || redisMs > MOST_REDIS_MS)
      long.push(`${request.name}: ${parsings.toFixed(1)} parsings on the loop, ${redisMs.toFixed(1)} ms of Redis`);
  }
  expect(long).toEqual([]);
});

/** How much slower a victim's events may become. */
const MOST_RATIO = 1.5;
const WINDOW_SECONDS = 2;
/** Pairs of windows, without and beside an attack, that are measured at least. */
const LEAST_PAIRS = 2;
/** A ratio that is too high is measured with more pairs, because the machine may have been busy: all of them count. */
const MOST_PAIRS = 10;
const USER_PER_SECOND = 50;
const ADMIN_AT_ONCE = 4;

interface Processes {
  victim: Victim;
  attacker: Attacker;
}

async function latenciesBeside({ victim, attacker }: Processes, { by, request }: CostlyCase): Promise<number[]> {
  // What earlier requests used up would refuse these.
  const key = by === 'user' ? await newKey({ rateLimit: USER_PER_SECOND }) : KEY;
  const { method, body, isKeyed = false } = request;
  const sending = { url: urlOf(request), method, headers: headersOf(key, LARGE), isKeyed };
  const rate = by === 'user' ? { perSecond: USER_PER_SECOND } : { atOnce: ADMIN_AT_ONCE };
  attacker.begin({ ...sending, body: method === 'GET' ? null : body, ...rate });
  const latencies = await victim.latencies(WINDOW_SECONDS);
  await attacker.end();
  return latencies;
}

const p99 = (latencies: readonly number[]): number =>
  latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * 0.99)]!;

/** Cancels jobs that earlier requests began, such as the backdating of an achievement: they would slow both sides. */
async function withoutJobs(): Promise<void> {
  for (const status of ['waiting', 'running']) {
    const list = { surface: 'admin', method: 'GET', path: `/v1/jobs?status=${status}&limit=100` } as const;
    for (const { id } of (await send(list, LARGE)).body as { id: string }[])
      await send({ surface: 'admin', method: 'POST', path: `/v1/jobs/${id}/cancel` }, LARGE);
  }
}

/** The p99 of the victim's events in ms, without and beside an attack, over the same number of windows in turn. */
async function measured(processes: Processes, one: CostlyCase): Promise<{ aloneMs: number; besideMs: number }> {
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let pair = 1; ; pair += 1) {
    alone.push(...(await processes.victim.latencies(WINDOW_SECONDS)));
    beside.push(...(await latenciesBeside(processes, one)));
    const found = { aloneMs: p99(alone), besideMs: p99(beside) };
    const isEnough = pair >= LEAST_PAIRS && found.besideMs <= MOST_RATIO * found.aloneMs;
    if (isEnough || pair === MOST_PAIRS) return found;
  }
}

test.runIf(LONG)(
  'beside each, events of another tenant take hardly longer',
  async () => {
    const victim = startVictim({ url: frontend.appUrl, key: KEY, tenantId: VICTIM });
    const attacker = startAttacker();
    const slow: string[] = [];
    try {
      await victim.latencies(WINDOW_SECONDS);
      const only = process.env['OPERATIONS']?.split(',');
      for (const one of cases.filter(({ request }) => only?.includes(request.name) ?? true)) {
        await withoutJobs();
        const { aloneMs, besideMs } = await measured({ victim, attacker }, one);
        const ratio = besideMs / aloneMs;
        const text = `${one.request.name}: ${ratio.toFixed(2)} (${aloneMs.toFixed(1)} ms alone, ${besideMs.toFixed(1)} beside)`;
        process.stdout.write(`${text}\n`);
        if (ratio > MOST_RATIO) slow.push(text);
      }
    } finally {
      await attacker.close();
      await victim.close();
    }
    expect(slow).toEqual([]);
  },
  7_200_000,
);
