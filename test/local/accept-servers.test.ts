import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acceptServers, refusePostgres, refuseRedis } from '../../src/local/accept-servers.ts';
import { StartError } from '../../src/start-error.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;

beforeAll(async () => {
  stack = await testStack();
});

afterAll(() => stack.close());

describe('acceptServers', () => {
  test('takes the servers of the tests', async () => {
    await expect(acceptServers(stack)).resolves.toBeUndefined();
  });

  test('refuses a Redis that may evict', async () => {
    const redis = new Redis(stack.redisUrl);
    const before = (await redis.info('memory')).match(/maxmemory_policy:(\S+)/)?.[1] ?? '';
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      await expect(acceptServers(stack)).rejects.toThrow('maxmemory-policy is "allkeys-lru"');
    } finally {
      await redis.config('SET', 'maxmemory-policy', before);
      redis.disconnect();
    }
  });

  test('refuses a replica, which takes no writes', async () => {
    const [master, replica] = await Promise.all([OwnRedis.start(), OwnRedis.start()]);
    try {
      await replica.follow(master);
      const refused = acceptServers({ ...stack, redisUrl: replica.url });
      await expect(refused).rejects.toThrow(StartError);
      await expect(refused).rejects.toThrow(`is a replica (of 127.0.0.1:${master.port})`);
    } finally {
      await Promise.all([master.close(), replica.close()]);
    }
  });

  test('refuses a node of a cluster', async () => {
    const node = await OwnRedis.start({ 'cluster-enabled': 'yes' });
    try {
      await expect(acceptServers({ ...stack, redisUrl: node.url })).rejects.toThrow('is a node of a cluster');
    } finally {
      await node.close();
    }
  });

  test('a wrong password is reported at once', async () => {
    const url = new URL(stack.databaseUrl);
    url.username = 'nobody-of-that-name';
    const refused = acceptServers({ ...stack, databaseUrl: url.href });
    await expect(refused).rejects.toThrow(StartError);
    await expect(refused).rejects.toThrow('DATABASE_URL');
  });
});

describe('versions', () => {
  test.each(['6.2.14', '5.0.0', '0'])('Redis %s is refused', (version) => {
    expect(() => refuseRedis(`redis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`)).toThrow('7.0 or newer');
  });

  test.each(['7.0.0', '7.2.4', '8.0.1', '10.0.0'])('Redis %s is taken', (version) => {
    expect(() => refuseRedis(`redis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`)).not.toThrow();
  });

  test('Postgres 14 is refused, 15 is taken', () => {
    expect(() => refusePostgres(140_012)).toThrow('Postgres 15 or newer; the one it was given is 14');
    expect(() => refusePostgres(150_000)).not.toThrow();
  });
});
