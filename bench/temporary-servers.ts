import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { createConfigurationStore } from '../src/catalog/configuration/store.ts';
import { DEMO } from '../src/catalog/demo.ts';
import type { Catalog } from '../src/domain/catalog.ts';
import { freePort } from '../src/local/free-ports.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { loadCatalog } from '../src/postgres/catalog.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';

/** A bench's own Redis and Postgres, whose data is removed with them. */
export interface TemporaryServers {
  redisUrl: string;
  databaseUrl: string;
  redis: Redis;
  /** Connections to a migrated database. */
  pool: Pool;
  close(): Promise<void>;
}

/** Starts both. `durable`: Redis with `appendfsync always`. */
export async function temporaryServers({ durable }: { durable: boolean }): Promise<TemporaryServers> {
  const program = findRedisProgram();
  if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
  const directory = (name: string): string => join(tmpdir(), `laurel-bench-${name}-${randomUUID()}`);
  const [postgresServer, redisServer] = await Promise.all([
    startPostgres({ directory: directory('postgres'), password: 'bench', temporary: true }),
    startRedis({ program, directory: directory('redis'), password: null, durable, temporary: true }),
  ]);
  const pool = createPool(postgresServer.url, { max: 5 });
  const redis = createRedis(redisServer.url);
  const close = async (): Promise<void> => {
    redis.disconnect();
    await pool.end();
    await Promise.all([postgresServer.stop(), redisServer.stop()]);
  };
  try {
    await redisReady(redis);
    await migrate(pool);
  } catch (error) {
    await close();
    throw error;
  }
  return { redisUrl: redisServer.url, databaseUrl: postgresServer.url, redis, pool, close };
}

/** Stores the demo catalog, or another configuration, for the organisation's own tenant. */
export async function demoCatalog(pool: Pool, configuration = DEMO): Promise<Catalog> {
  const store = createConfigurationStore({ pool, announce: async () => undefined });
  await store.applyDemo(0, configuration, { who: 'bench' });
  return (await loadCatalog(pool, 0))!;
}

/** Starts the processes of `npm start` from a built checkout. Resolves when they are ready. */
export async function startMain(
  root: string,
  variables: NodeJS.ProcessEnv,
): Promise<{ pid: number; appPort: number; adminPort: number; stop: () => Promise<void> }> {
  const [appPort, adminPort] = [await freePort(), await freePort()];
  const ports = { HOST: '127.0.0.1', APP_PORT: String(appPort), ADMIN_PORT: String(adminPort) };
  const env = { PATH: process.env['PATH'], ...ports, ...variables };
  const main = fork(join(root, 'dist/src/main.js'), { cwd: root, silent: true, env });
  main.stderr?.pipe(process.stderr);
  for (let ready = false; !ready; await sleep(200)) {
    if (main.exitCode !== null) throw new Error(`${root} ended.`);
    ready = await fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
  const stop = async (): Promise<void> => {
    const ended = once(main, 'exit');
    main.kill('SIGTERM');
    await ended;
  };
  return { pid: main.pid!, appPort, adminPort, stop };
}
