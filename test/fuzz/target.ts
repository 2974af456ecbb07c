import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { freePort } from '../../src/local/free-ports.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
import { createAdminKeys } from '../../src/postgres/access/admin-keys.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { connectRedis } from '../../src/redis/client.ts';
import { SHARDS } from '../../src/redis/keys.ts';
import { backlog } from '../../src/redis/outbox.ts';
import { isClusterRun } from '../stack/own-cluster.ts';
import { testStack } from '../stack/stack.ts';
import { endChild, messageOf } from '../stack/child-process.ts';

const KEY = 'fuzz.0123456789abcdef';

export interface Answer {
  status: number;
  contentType: string;
  text: string;
}

/** A frontend and a worker in their own processes (the built code: `npm test` builds first). */
export interface Target {
  ports: { application: number; admin: number };
  /** Sends a request unchanged, with the admin key. Rejects if the connection breaks before the answer. */
  send(options: {
    surface: 'application' | 'admin';
    method: string;
    path: string;
    headers?: Record<string, string>;
    body?: string | null;
  }): Promise<Answer>;
  /** Memory of the frontend, MiB. */
  memoryMiB(): number;
  /** Throws if one of the processes has exited. */
  alive(): void;
  /** Outbox entries and batches that wait to be stored. */
  waiting(): Promise<number>;
  close(): Promise<void>;
}

export async function startTarget(): Promise<Target> {
  const stack = await testStack({ database: 'migrated', cluster: isClusterRun() });
  const pool = createPool(stack.databaseUrl, { max: 1 });
  await createAdminKeys(pool, async () => undefined).ensureFirst(KEY);
  const redis = await connectRedis(stack.redisUrl);
  await pool.end();
  const ports = { application: await freePort(), admin: await freePort() };
  const env = {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    // Many of its requests have no valid key.
    FAILED_KEY_LIMIT: '1000000',
    APP_PORT: String(ports.application),
    ADMIN_PORT: String(ports.admin),
    REDIS_URL: stack.redisUrl,
    DATABASE_URL: stack.databaseUrl,
    LOG_LEVEL: 'error',
  };
  const folder = await inFewFiles();
  const start = async (file: string): Promise<ChildProcess> => {
    const child = fork(join(folder, file), { env, execArgv: ['--enable-source-maps'] });
    await messageOf(child);
    return child;
  };
  const children = await Promise.all([start('src/processes/frontend.js'), start('workers/main.js')]);
  // Shorter than the frontend's idle timeout (10 s), at which a request could meet a reset.
  const agent = new Agent({ keepAlive: true, maxSockets: 16, timeout: 4_000 });
  return {
    ports,
    send: (options) => sendThrough(agent, ports[options.surface], options),
    memoryMiB: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${children[0].pid}/status`, 'utf8'))?.[1]) / 1024,
    alive: () => {
      for (const { exitCode, signalCode, spawnargs } of children) {
        if (exitCode !== null || signalCode !== null)
          throw new Error(`${spawnargs.at(-1)} ended: ${String(signalCode ?? exitCode)}`);
      }
    },
    waiting: async () => {
      const entries = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => backlog(redis, shard)));
      return entries.reduce((sum, one) => sum + one, 0);
    },
    close: async () => {
      agent.destroy();
      redis.disconnect();
      await Promise.all(children.map((child) => endChild(child, 'SIGTERM')));
      await stack.close();
    },
  };
}

function sendThrough(
  agent: Agent,
  port: number,
  { method, path, headers, body }: Parameters<Target['send']>[0],
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        agent,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: {
          'x-api-key': KEY,
          ...headers,
          ...(body !== undefined && body !== null && { 'content-length': Buffer.byteLength(body) }),
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            contentType: incoming.headers['content-type'] ?? '',
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.setTimeout(30_000, () => outgoing.destroy(new Error('No answer in 30 s.')));
    outgoing.end(body ?? undefined);
  });
}
