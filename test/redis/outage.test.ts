import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { isConnectionLost, isRedisOutage } from '../../src/redis/outage.ts';
import { deadPort, reasonOf } from '../failures.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

// Real failures of Redis and its client.

const database = opened(() => testDatabase());

/** Whether an error is an outage, and whether its command may have been executed. */
const kindOf = (error: Error): [outage: boolean, lost: boolean] => [isRedisOutage(error), isConnectionLost(error)];

const redisTo = (port: number, options: object): Redis => {
  const redis = new Redis({ port, host: '127.0.0.1', ...options });
  redis.on('error', () => undefined);
  return redis;
};

test('it refuses connections, with and without a queue', async () => {
  const port = await deadPort();
  const queueing = redisTo(port, { maxRetriesPerRequest: 1, retryStrategy: () => 5 });
  expect(kindOf(await reasonOf(queueing.get('a')))).toEqual([true, true]);
  queueing.disconnect();
  const direct = redisTo(port, { enableOfflineQueue: false });
  expect(kindOf(await reasonOf(direct.get('a')))).toEqual([true, true]);
  direct.disconnect();
  expect(kindOf(await reasonOf(direct.get('a')))).toEqual([true, true]);
});

test.each([
  ['one of our connections', (url: string) => createRedis(url)],
  ['a connection that does not reconnect', (url: string) => new Redis(url, { retryStrategy: () => null })],
])('it disconnects in the middle of a command: %s', async (_, connect) => {
  const redis = connect(database.stack.redisUrl);
  redis.on('error', () => undefined);
  await redisReady(redis);
  const id = await redis.client('ID');
  const waiting = reasonOf(redis.blpop('never', 0));
  const other = new Redis(database.stack.redisUrl);
  await other.client('KILL', 'ID', id);
  expect(kindOf(await waiting)).toEqual([true, true]);
  other.disconnect();
  redis.disconnect();
});

test('it does not answer in time', async () => {
  const { hostname, port } = new URL(database.stack.redisUrl);
  const slow = redisTo(Number(port), { host: hostname, commandTimeout: 30 });
  expect(kindOf(await reasonOf(slow.blpop('never', 0)))).toEqual([true, true]);
  slow.disconnect();
  const silent = redisTo(Number(port), { host: hostname, socketTimeout: 30, maxRetriesPerRequest: 0 });
  expect(kindOf(await reasonOf(silent.blpop('never', 0)))).toEqual([true, true]);
  silent.disconnect();
  const ours = createRedis(database.stack.redisUrl);
  ours.on('error', () => undefined);
  await redisReady(ours);
  expect(kindOf(await reasonOf(ours.blpop('never', 0)))).toEqual([true, true]);
  ours.disconnect();
});

test('it answers while this process stands still for longer: the answer is read', async () => {
  const redis = createRedis(database.stack.redisUrl);
  redis.on('error', () => undefined);
  await redisReady(redis);
  const answer = redis.ping();
  // Right after the command was written, and before an answer can be read.
  setImmediate(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500));
  expect(await answer.catch(String)).toBe('PONG');
  redis.disconnect();
});

test('it is out of memory: it cannot serve, and has done nothing', async () => {
  const redis = new Redis(database.stack.redisUrl);
  const [, limit] = (await redis.call('CONFIG', 'GET', 'maxmemory')) as [string, string];
  await redis.config('SET', 'maxmemory', '1');
  try {
    expect(kindOf(await reasonOf(redis.set('a', 'b')))).toEqual([true, false]);
  } finally {
    await redis.config('SET', 'maxmemory', limit);
    redis.disconnect();
  }
});

test('a wrong command is a fault', async () => {
  const redis = new Redis(database.stack.redisUrl);
  expect(kindOf(await reasonOf(redis.lpush('a', 'b').then(() => redis.get('a'))))).toEqual([false, false]);
  expect(kindOf(await reasonOf(redis.call('NONSENSE')))).toEqual([false, false]);
  redis.disconnect();
});
