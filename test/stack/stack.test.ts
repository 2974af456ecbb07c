import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testStack, type TestStack } from './stack.ts';

let stack: TestStack;
let other: TestStack;

beforeAll(async () => {
  [stack, other] = await Promise.all([testStack({ durable: true }), testStack()]);
});

afterAll(async () => {
  await stack.close();
});

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

describe('the stack of a test file', () => {
  test('its database is its own', async () => {
    await query(stack.databaseUrl, 'CREATE TABLE only_here (n int)');
    await expect(query(other.databaseUrl, 'SELECT * FROM only_here')).rejects.toThrow('does not exist');
  });

  test('its Redis is its own and evicts nothing', async () => {
    const [mine, theirs] = [new Redis(stack.redisUrl), new Redis(other.redisUrl)];
    await mine.set('only-here', '1');
    expect(await theirs.get('only-here')).toBeNull();
    const info = await mine.info('memory');
    expect(info).toContain('maxmemory_policy:noeviction');
    mine.disconnect();
    theirs.disconnect();
  });

  test('nothing of it is left after close', async () => {
    await other.close();
    const redis = new Redis(other.redisUrl, { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    await expect(redis.connect()).rejects.toThrow();
    const name = new URL(other.databaseUrl).pathname.slice(1);
    expect(await query(stack.databaseUrl, `SELECT 1 FROM pg_database WHERE datname = '${name}'`)).toEqual([]);
  });
});
