import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openResources, openedSince } from './open-resources.ts';
import { openStacks } from './open-stacks.ts';
import { testStack } from './stack.ts';
import { endChild } from './child-process.ts';

describe('finds what a test file leaves open', () => {
  test('a listening server', async () => {
    const before = openResources();
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    expect(openedSince(before)).toContain('1 × TCPServerWrap');
    server.close();
    await expect.poll(() => openedSince(before).filter((kind) => kind.includes('TCP'))).toEqual([]);
  });

  test('a timer', () => {
    const before = openResources();
    const timer = setInterval(() => undefined, 60_000);
    expect(openedSince(before)).toEqual(['1 × Timeout']);
    clearInterval(timer);
    expect(openedSince(before)).toEqual([]);
  });

  test('a child process', async () => {
    const before = openResources();
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    expect(openedSince(before)).toContain('1 × ProcessWrap');
    await endChild(child, 'SIGTERM');
    await expect.poll(() => openedSince(before).filter((kind) => kind.includes('Process'))).toEqual([]);
  });

  test.concurrent('a connection to Redis', async () => {
    const stack = await testStack({ database: 'none' });
    const redis = new Redis(stack.redisUrl, { retryStrategy: () => null });
    await redis.ping();
    await expect(stack.close()).rejects.toThrow('connections to Redis that the test file left open');
  });

  test.concurrent('a connection to Postgres', async () => {
    const stack = await testStack({ redis: false });
    const client = new pg.Client({ connectionString: stack.databaseUrl });
    client.on('error', () => undefined);
    await client.connect();
    await client.query("SELECT 'left'");
    await expect(stack.close()).rejects.toThrow("connections to Postgres that the test file left open: SELECT 'left'");
  });

  test('a stack', async () => {
    const stack = await testStack({ database: 'none', redis: false });
    expect(openStacks.size).toBe(1);
    await stack.close();
    expect(openStacks.size).toBe(0);
  });
});
