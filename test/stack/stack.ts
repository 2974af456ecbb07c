import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { inject } from 'vitest';
import { findRedisProgram, startRedis } from '../../src/local/redis-server.ts';

export interface TestStack {
  /** A Redis that nothing else uses, empty at first. */
  redisUrl: string;
  /** A database that nothing else uses; no migration is applied. */
  databaseUrl: string;
  /** Drops the database (whoever is still connected is cut off) and ends the Redis. */
  close(): Promise<void>;
}

/**
 * A fresh database and a fresh Redis for one test file. Both end with the run, also when a test fails or the
 * run is broken off.
 * @param durable true: Redis keeps what it answered through a kill (`appendfsync always`), as in production
 */
export async function testStack({ durable = false }: { durable?: boolean } = {}): Promise<TestStack> {
  const [redis, database] = await Promise.all([testRedis(durable), testDatabase()]);
  return {
    redisUrl: redis.url,
    databaseUrl: database.url,
    close: async () => {
      await Promise.all([redis.close(), database.close()]);
    },
  };
}

interface Part {
  url: string;
  close(): Promise<void>;
}

async function testDatabase(): Promise<Part> {
  const serverUrl = inject('postgresUrl');
  const name = `laurel_test_${randomUUID().replaceAll('-', '')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, close: () => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`The Postgres of the tests (DATABASE_URL, if you set it) does not answer: ${String(error)}`);
  }
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

async function testRedis(durable: boolean): Promise<Part> {
  const given = process.env['REDIS_URL'];
  if (given !== undefined && given !== '') return givenRedis(given);
  const program = findRedisProgram();
  if (program === null) {
    throw new Error('The tests need redis-server or valkey-server on the PATH, or REDIS_URL set to an empty database.');
  }
  const directory = join(tmpdir(), `laurel-test-redis-${randomUUID()}`);
  const server = await startRedis({ program, directory, password: null, durable, temporary: true });
  return { url: server.url, close: () => server.stop() };
}

/** A Redis that somebody gave us is emptied at the end only if it was empty at the start. */
async function givenRedis(url: string): Promise<Part> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
  } catch (error) {
    throw new Error(`The Redis at REDIS_URL does not answer: ${String(error)}`);
  }
  const keys = await redis.dbsize();
  if (keys > 0) {
    redis.disconnect();
    throw new Error(
      `The Redis at REDIS_URL holds ${keys} keys; the tests want an empty database and will not empty it.`,
    );
  }
  return {
    url,
    close: async () => {
      await redis.flushdb();
      redis.disconnect();
    },
  };
}
