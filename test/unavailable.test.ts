import { createServer, type AddressInfo, type Server } from 'node:net';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isUnavailable } from '../src/unavailable.ts';
import { testDatabase, type TestDatabase } from './postgres/database.ts';

/** What a promise is rejected with. */
const reasonOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => expect.unreachable('it was to fail'),
    (reason: unknown) => reason,
  );

/** A server that takes connections and never says a word. */
async function mute(): Promise<{ port: number; server: Server }> {
  const server = createServer((socket) => socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

/** A port that nobody listens on. */
async function deadPort(): Promise<number> {
  const { port, server } = await mute();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

describe('as the clients of Redis and Postgres really fail', () => {
  const redisTo = (port: number, options: object): Redis => {
    const redis = new Redis({ port, host: '127.0.0.1', ...options });
    redis.on('error', () => undefined);
    return redis;
  };

  test('Redis refuses connections, with and without a queue', async () => {
    const port = await deadPort();
    const queueing = redisTo(port, { maxRetriesPerRequest: 1, retryStrategy: () => 5 });
    expect(isUnavailable(await reasonOf(queueing.get('a')))).toBe(true);
    queueing.disconnect();
    const direct = redisTo(port, { enableOfflineQueue: false });
    expect(isUnavailable(await reasonOf(direct.get('a')))).toBe(true);
    direct.disconnect();
    expect(isUnavailable(await reasonOf(direct.get('a')))).toBe(true);
  });

  test('Redis goes away in the middle of a command, or does not answer in time', async () => {
    const { hostname, port } = new URL(database.stack.redisUrl);
    const redis = redisTo(Number(port), { host: hostname, maxRetriesPerRequest: 0, retryStrategy: () => null });
    const id = await redis.client('ID');
    const waiting = reasonOf(redis.blpop('never', 0));
    const other = redisTo(Number(port), { host: hostname });
    await other.client('KILL', 'ID', id);
    expect(isUnavailable(await waiting)).toBe(true);
    other.disconnect();
    const slow = redisTo(Number(port), { host: hostname, commandTimeout: 30 });
    expect(isUnavailable(await reasonOf(slow.blpop('never', 0)))).toBe(true);
    slow.disconnect();
  });

  test('Redis is out of memory', async () => {
    const redis = new Redis(database.stack.redisUrl);
    const [, limit] = (await redis.call('CONFIG', 'GET', 'maxmemory')) as [string, string];
    await redis.config('SET', 'maxmemory', '1');
    expect(isUnavailable(await reasonOf(redis.set('a', 'b')))).toBe(true);
    await redis.config('SET', 'maxmemory', limit);
    expect(isUnavailable(await reasonOf(redis.lpush('a', 'b').then(() => redis.get('a'))))).toBe(false);
    redis.disconnect();
  });

  test('Postgres refuses connections, or does not answer in time', async () => {
    const refused = new pg.Pool({ host: '127.0.0.1', port: await deadPort() });
    expect(isUnavailable(await reasonOf(refused.query('SELECT 1')))).toBe(true);
    await refused.end();
    const silent = await mute();
    const pool = new pg.Pool({ host: '127.0.0.1', port: silent.port, connectionTimeoutMillis: 30 });
    expect(isUnavailable(await reasonOf(pool.query('SELECT 1')))).toBe(true);
    await pool.end();
    silent.server.close();
  });

  test('no connection of the pool is free in time', async () => {
    const pool = new pg.Pool({ connectionString: database.stack.databaseUrl, max: 1, connectionTimeoutMillis: 1_000 });
    const client = await pool.connect();
    expect(isUnavailable(await reasonOf(pool.query('SELECT 1')))).toBe(true);
    client.release();
    await pool.end();
  });

  test('Postgres ends a connection in the middle of a query', async () => {
    const pool = new pg.Pool({ connectionString: database.stack.databaseUrl, max: 1 });
    pool.on('error', () => undefined);
    const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const waiting = reasonOf(pool.query('SELECT pg_sleep(60)'));
    await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
    expect(isUnavailable(await waiting)).toBe(true);
    await pool.end();
  });

  test('a wrong statement is a fault', async () => {
    expect(isUnavailable(await reasonOf(database.pool.query('SELECT nonsense')))).toBe(false);
  });
});

test('what is no error of theirs is a fault', () => {
  for (const thrown of [new TypeError('x'), 'Connection is closed.', null, undefined, { code: 'ECONNREFUSED' }])
    expect(isUnavailable(thrown)).toBe(false);
});

test('causes are looked at, and a circle of them ends', () => {
  const inner = Object.assign(new Error('inner'), { code: '57P03' });
  expect(isUnavailable(new Error('outer', { cause: new Error('middle', { cause: inner }) }))).toBe(true);
  const circle = new Error('a');
  circle.cause = circle;
  expect(isUnavailable(circle)).toBe(false);
});
