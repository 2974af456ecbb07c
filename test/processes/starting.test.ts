import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { FORM_LOCK } from '../../src/postgres/running-versions.ts';
import { markKey } from '../../src/redis/keys.ts';
import { childrenOf, eventually, signal } from '../chaos/processes.ts';
import type { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { CuttingProxy } from '../stack/cutting-proxy.ts';
import { OwnCluster } from '../stack/own-cluster.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { testStack, type TestStack } from '../stack/stack.ts';
import { STUDY_APP } from '../study-app.ts';
import { Start } from './start.ts';

const KEY = 'starting.0123456789abcdef0123456789abcdef';

/** The format in Redis, as the built code declares it. */
const FORM = ' FORM = 1;';

/** Tenants in the order of their numbers, which begin at 1. Different masters of a cluster hold them. */
const ON_SECOND = 'one';
const ON_FIRST = 'two';

let stack: TestStack;
let cluster: OwnCluster;
/** The masters of the second and the first tenant. */
let servers: [OwnRedis, OwnRedis];
let postgres: CuttingProxy;
let variables: NodeJS.ProcessEnv;
/** The file to start. */
let built: string;
/**
 * One without special settings, which tests may leave running for the next; each of its three processes costs a second of
 * CPU.
 */
let ordinary: Start | null = null;
const starts: Start[] = [];

beforeAll(async () => {
  built = join(await inFewFiles(), 'src/main.js');
  stack = await testStack({ redis: false });
  cluster = await OwnCluster.start();
  servers = [await cluster.masterOf(2), await cluster.masterOf(1)];
  if (servers[0] === servers[1]) throw new Error('Both tenants are on one master.');
  postgres = new CuttingProxy(stack.databaseUrl);
  variables = {
    ADMIN_API_KEY: KEY,
    ADMIN_PORT: String(await freePort()),
    APP_PORT: String(await freePort()),
    BACKLOG_LIMIT: '20',
    DATABASE_URL: await postgres.listen(),
    LAUREL_DEMO: '0',
    REDIS_URL: cluster.url,
  };
});
/** Two tenants. */
beforeAll(async () => {
  await runOrdinary();
  await configure('/v1/organisation', 'PATCH', { multiTenancy: true });
  const tenants = [ON_SECOND, ON_FIRST].map((customerId) => ({ customerId, name: customerId }));
  await configure('/v1/tenants', 'POST', tenants);
  for (const tenant of [ON_SECOND, ON_FIRST]) await configure('/v1/configuration', 'PUT', STUDY_APP, tenant);
});
afterEach(async () => {
  for (const started of starts.splice(0)) if (started.process.exitCode === null) await started.end('SIGTERM');
});
afterAll(async () => {
  await endOrdinary();
  postgres.close();
  await cluster.close();
  await stack.close();
});

function start(more: NodeJS.ProcessEnv = {}, main = built): Start {
  const started = new Start({ ...variables, ...more }, ['node', main]);
  starts.push(started);
  return started;
}

/** The ordinary one, started unless it runs. */
async function runOrdinary(): Promise<Start> {
  ordinary ??= new Start(variables, ['node', built]);
  await ordinary.running();
  return ordinary;
}

/** Ends the ordinary one, so that another one can use its ports and servers. */
async function endOrdinary(): Promise<void> {
  if (ordinary === null) return;
  const ended = ordinary.end('SIGTERM');
  ordinary = null;
  expect(await ended).toBe(0);
}

interface Answer {
  status: number;
  body: Record<string, unknown>;
  retryAfter: string | null;
}

async function ask(
  path: string,
  request: { method?: string; body?: unknown; tenant?: string; port?: string } = {},
): Promise<Answer> {
  const { method = 'GET', body, tenant, port = 'APP_PORT' } = request;
  const response = await fetch(`http://127.0.0.1:${variables[port]}${path}`, {
    method,
    headers: {
      'X-API-KEY': KEY,
      'Content-Type': 'application/json',
      ...(tenant !== undefined && { 'Tenant-ID': tenant }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    retryAfter: response.headers.get('retry-after'),
  };
}

async function configure(path: string, method: string, body: unknown, tenant?: string): Promise<void> {
  const send = () => ask(path, { method, body, port: 'ADMIN_PORT', ...(tenant !== undefined && { tenant }) });
  let { status } = await send();
  // Shortly after the start, the shard of a new tenant may still be inspected.
  while (status === 503) ({ status } = await sleep(50).then(send));
  if (status >= 300) throw new Error(`${method} ${path}: ${status}`);
}

const event = (tenant: string): Promise<Answer> =>
  ask('/v1/metrics/flips/event', { method: 'POST', body: { user: { id: 'ada' }, value: 1 }, tenant });

const taken = async (tenant: string): Promise<number> => (await event(tenant)).status;

async function rows<T>(sql: string): Promise<T[]> {
  const pool = createPool(stack.databaseUrl, { max: 1 });
  try {
    return (await pool.query(sql)).rows as T[];
  } finally {
    await pool.end();
  }
}

const stored = async (): Promise<number> => (await rows<{ n: number }>('SELECT count(*)::int AS n FROM events'))[0]!.n;

test('ready while Postgres is down and events are accepted; not once so many wait that they are refused', async () => {
  await runOrdinary();
  await expect.poll(() => taken(ON_FIRST)).toBe(201);
  await expect.poll(async () => (await ask('/readyz')).body).toEqual({ status: 'ready' });
  postgres.retarget(`postgres://127.0.0.1:${await freePort()}`);
  postgres.cutAll();
  try {
    expect(await taken(ON_FIRST)).toBe(201);
    await expect
      .poll(() => ask('/readyz'))
      .toMatchObject({ status: 200, body: { status: 'ready', degraded: ['Postgres'] } });

    await expect.poll(() => taken(ON_FIRST)).toBe(503);
    await expect
      .poll(() => ask('/readyz'))
      .toMatchObject({ status: 503, body: { error: 'Not ready: backlog', degraded: ['Postgres'] } });
  } finally {
    postgres.retarget(stack.databaseUrl);
  }
  await expect.poll(() => taken(ON_FIRST)).toBe(201);
  await expect.poll(async () => (await ask('/readyz')).body).toEqual({ status: 'ready' });
});

test('does not rebuild shards of another format while a process with that format lives', async () => {
  const laurel = await runOrdinary();
  await expect.poll(() => taken(ON_FIRST)).toBe(201);
  const pool = createPool(stack.databaseUrl, { max: 2 });
  const other = await pool.connect();
  const redis = new Redis(servers[0].url);
  try {
    // One that registered at the moment when Postgres came back.
    await other.query('SELECT pg_advisory_lock_shared($1, 2)', [FORM_LOCK]);
    const epochs = async (): Promise<unknown> => (await pool.query('SELECT epoch FROM redis_epoch')).rows;
    const before = await epochs();
    const mark = (await redis.get(markKey(2)))!;
    await redis.set(markKey(2), mark.replace(/\d+$/, '2'));
    await expect.poll(() => laurel.output).toContain('Stop the other version first.');
    await expect.poll(() => taken(ON_FIRST)).toBe(503);
    expect(await epochs()).toEqual(before);
    await other.query('SELECT pg_advisory_unlock_shared($1, 2)', [FORM_LOCK]);
    await expect.poll(() => taken(ON_FIRST)).toBe(201);
    expect(await epochs()).not.toEqual(before);
  } finally {
    redis.disconnect();
    other.release(true);
    await pool.end();
  }
});

describe('a version with another format in Redis', () => {
  // The built code, with another format: beside it, so that it finds the package.
  const other = join(PACKAGE_ROOT, 'dist/other-form');
  beforeAll(async () => {
    cpSync(await inFewFiles(), other, { recursive: true });
    const files = readdirSync(join(other, 'chunks')).map((name) => join(other, 'chunks', name));
    const found = files.filter((file) => readFileSync(file, 'utf8').includes(FORM));
    if (found.length !== 1) throw new Error('The form is not where this test looks for it.');
    writeFileSync(found[0]!, readFileSync(found[0]!, 'utf8').replace(FORM, FORM.replace('1', '2')));
  });
  afterAll(() => rmSync(other, { recursive: true, force: true }));

  const epoch = async (): Promise<number> => (await rows<{ epoch: number }>('SELECT epoch FROM redis_epoch'))[0]!.epoch;

  test('is refused while the other runs, which continues; started after it, it rebuilds once', async () => {
    await runOrdinary();
    await expect.poll(() => taken(ON_FIRST)).toBe(201);
    const before = await epoch();
    const ports = { APP_PORT: String(await freePort()), ADMIN_PORT: String(await freePort()) };
    const refused = start(ports, 'dist/other-form/src/main.js');
    expect(await refused.end()).toBe(1);
    expect(refused.output).toMatch(
      /^Laurel \S+ \(data format 2\) cannot run beside Laurel \S+ \(data format 1, 2 processes\): .* Stop the other version first\.$/m,
    );
    for (let n = 0; n < 10; n += 1) expect(await taken(ON_FIRST)).toBe(201);
    expect(await epoch()).toBe(before);
    // The same version is accepted.
    const beside = start(ports);
    await beside.running();
    expect(await beside.end('SIGTERM')).toBe(0);
    await endOrdinary();

    const next = start({}, 'dist/other-form/src/main.js');
    await next.running();
    await expect.poll(() => taken(ON_FIRST)).toBe(201);
    const after = await epoch();
    expect(after).toBeGreaterThan(before);
    const old = start(ports);
    expect(await old.end()).toBe(1);
    expect(old.output).toContain('cannot run beside Laurel');
    expect(await epoch()).toBe(after);
  });
});

test('a second frontend that ends while it starts leaves the first one alone, and is started again', async () => {
  await endOrdinary();
  const laurel = start({ HTTP_PROCESSES: '2' });
  const frontends = (): number[] => childrenOf(laurel.process.pid!, 'src/processes/frontend.js');
  await eventually('two frontends', () => frontends().length === 2);
  const [first, second] = frontends().toSorted((a, b) => a - b) as [number, number];
  signal([second], 'SIGKILL');
  await laurel.running();
  await expect.poll(() => taken(ON_FIRST)).toBe(201);
  await eventually('another second one', () => frontends().length === 2 && !frontends().includes(second));
  expect(frontends()).toContain(first);
});

describe('a cluster', () => {
  test.each([
    ['first', 1, ON_FIRST, ON_SECOND],
    ['second', 0, ON_SECOND, ON_FIRST],
  ] as const)(
    "a start while a master is down (the %s tenant's) serves the tenants of the others",
    async (_, which, served, away) => {
      await endOrdinary();
      const before = await stored();
      await servers[which].kill();
      try {
        const laurel = start();
        await laurel.running();
        await expect.poll(() => taken(served)).toBe(201);
        // A worker stores it, though the queues are on the first.
        await expect.poll(stored).toBeGreaterThan(before);
        expect(await event(away)).toMatchObject({ status: 503, retryAfter: '1' });
        await expect
          .poll(() => ask('/readyz'))
          .toMatchObject({ status: 200, body: { status: 'ready', degraded: ['some Redis', 'some tenants'] } });
      } finally {
        await servers[which].start();
      }
      await expect.poll(() => taken(away)).toBe(201);
      const then = await stored();
      expect(await taken(away)).toBe(201);
      await expect.poll(stored).toBeGreaterThan(then);
      await expect.poll(async () => (await ask('/readyz')).body).toEqual({ status: 'ready' });
    },
  );
});

test('a frontend whose clock is wrong accepts no events, and says so', async () => {
  const skewed = `data:text/javascript,${encodeURIComponent('const now = Date.now; Date.now = () => now() + 3_600_000;')}`;
  await endOrdinary();
  const laurel = start({ NODE_OPTIONS: `--import=${skewed}` });
  await laurel.running();
  await expect.poll(async () => (await ask('/readyz')).body['error']).toBe('Not ready: clock');
  // Less by half the round trip to Redis.
  expect((await event(ON_FIRST)).body['error']).toMatch(
    /^Events are refused: the clock of this process is 3(600|59\d)\.\d s ahead of that of Redis\.$/,
  );
  await expect
    .poll(() => laurel.output)
    .toContain('this process refuses events and does no scheduled work until the clock is right');
});
