import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject } from 'vitest';
import { startRedis } from '../../src/local/redis-server.ts';
import { leftBehind, type Part } from './left-behind.ts';
import { DATA_FOLDER } from './data-folder.ts';

/**
 * A Redis that nothing else uses, empty at first: the file's own, or the one at `REDIS_URL`.
 * @param durable true: its writes survive a kill
 */
export async function freshRedis(durable: boolean): Promise<Part> {
  const given = process.env['REDIS_URL'];
  if (given !== undefined && given !== '') return givenRedis(given);
  const program = inject('redisProgram');
  if ('problem' in program) throw new Error(`There is no Redis for the tests: ${program.problem}`);
  const directory = join(DATA_FOLDER, `laurel-fresh-redis-${randomUUID()}`);
  const server = await startRedis({ program: program.path, directory, password: null, durable, temporary: true });
  return {
    url: server.url,
    close: async () => {
      const left = await connectionsLeft(server.url);
      await server.stop();
      expect(left, 'connections to Redis that the test file left open').toEqual([]);
    },
  };
}

/** The last commands of other clients that are still connected; none if a test has ended the server. */
async function connectionsLeft(url: string): Promise<string[]> {
  const redis = client(url);
  try {
    await redis.connect();
    const own = `id=${await redis.client('ID')} `;
    return await leftBehind(async () => {
      const clients = String(await redis.client('LIST')).split('\n');
      return clients.filter((line) => line !== '' && !line.startsWith(own));
    });
  } catch {
    return [];
  } finally {
    redis.disconnect();
  }
}

/** A Redis from `REDIS_URL` is emptied at the end only if it was empty at the start. */
async function givenRedis(url: string): Promise<Part> {
  const redis = client(url);
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

function client(url: string): Redis {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => undefined);
  return redis;
}
