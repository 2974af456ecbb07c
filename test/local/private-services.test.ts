import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEnv } from '../../src/settings/env.ts';
import { privateDisk } from '../../src/local/disk-space.ts';
import { joinServers, privatePostgres, startServers } from '../../src/local/private-services.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { endChild, messageOf } from '../stack/child-process.ts';

let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(DATA_FOLDER, 'laurel-test-data-'));
});

afterAll(() => rm(dataDir, { recursive: true, force: true }));

const environment = () => readEnv({ DATA_DIR: dataDir });
const quiet = (): void => undefined;

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

const pids = async (): Promise<number[]> =>
  Promise.all(['redis', 'postgres'].map(async (name) => Number(await readFile(join(dataDir, `${name}.pid`), 'utf8'))));

describe('private servers', () => {
  test('keep their data from one start to the next, and refuse a second start meanwhile', async () => {
    const first = await startServers(environment(), quiet);
    const running = await pids();
    try {
      expect(first.private).toEqual(['redis', 'postgres']);
      await expect(startServers(environment(), quiet)).rejects.toThrow('Laurel is already running');
      const joined = await joinServers(environment(), quiet);
      expect(joined).toMatchObject({ redisUrl: first.redisUrl, databaseUrl: first.databaseUrl });
      await joined.stop();
      // As `laurel console` finds it.
      expect(await privatePostgres(dataDir)).toBe(first.databaseUrl);
      const { freeBytes, usedRatio } = await (await privateDisk(dataDir, first.databaseUrl))!();
      expect(freeBytes).toBeGreaterThan(2 ** 20);
      expect(usedRatio).toBeGreaterThan(0);
      expect(usedRatio).toBeLessThan(1);
      expect(await privateDisk(dataDir, 'postgres://db.example.com/laurel')).toBeNull();
      await query(first.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
      // pglz costs more CPU than everything else that Postgres does. Once the built-in server has lz4, use that.
      expect(
        await query(first.databaseUrl, "SELECT setting, enumvals FROM pg_settings WHERE name = 'wal_compression'"),
      ).toEqual([{ setting: 'off', enumvals: ['pglz', 'on', 'off'] }]);
      expect(await query(first.databaseUrl, 'SHOW max_wal_size')).toEqual([{ max_wal_size: '4GB' }]);
      await withRedis(first.redisUrl, async (redis) => {
        await redis.set('kept', '7');
        expect(await redis.config('GET', 'appendfsync')).toEqual(['appendfsync', 'always']);
        expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
      });
      const open = new URL(first.databaseUrl);
      open.password = 'guess';
      await expect(query(open.href, 'SELECT 1')).rejects.toThrow('password');
    } finally {
      await first.stop();
    }
    for (const pid of running) expect(existsSync(`/proc/${pid}`)).toBe(false);
    expect(await privatePostgres(dataDir)).toBeNull();

    const second = await startServers(environment(), quiet);
    try {
      expect(await query(second.databaseUrl, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
      expect(await withRedis(second.redisUrl, (redis) => redis.get('kept'))).toBe('7');
    } finally {
      await second.stop();
    }
  });

  test('inherit no environment, and do not run as root if there is another user', async () => {
    const planted = { ADMIN_API_KEY: 'planted.0123456789abcdef0123456789', SOME_SECRET: 'planted-as-well' };
    Object.assign(process.env, planted);
    const servers = await startServers(environment(), quiet);
    try {
      for (const pid of await pids()) {
        const environ = await readFile(`/proc/${pid}/environ`, 'utf8');
        expect(environ).toContain('LC_ALL=C');
        expect(environ).not.toContain('planted');
        const [, uid] = /^Uid:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))!;
        if (process.getuid?.() === 0) expect(uid).not.toBe('0');
      }
      await withRedis(servers.redisUrl, async (redis) => {
        await redis.set('as another user', 'written');
        await redis.bgrewriteaof();
        await expect.poll(() => redis.info('persistence')).toContain('aof_last_bgrewrite_status:ok');
      });
    } finally {
      for (const name of Object.keys(planted)) delete process.env[name];
      await servers.stop();
    }
  });

  test('end with a killed owner, and the next start finds everything', async () => {
    const owner = await startOwner();
    const url = await messageOf<string>(owner);
    await withRedis(url, (redis) => redis.set('before the kill', 'here'));
    const orphans = await pids();
    await endChild(owner, 'SIGKILL');

    const next = await startServers(environment(), quiet);
    try {
      for (const pid of orphans) expect(await isRunning(pid)).toBe(false);
      expect(await withRedis(next.redisUrl, (redis) => redis.get('before the kill'))).toBe('here');
      await query(next.databaseUrl, 'SELECT 1');
    } finally {
      await next.stop();
    }
  });

  test('report one that ends by itself', async () => {
    const servers = await startServers(environment(), quiet);
    try {
      const [redisPid = 0] = await pids();
      process.kill(redisPid, 'SIGKILL');
      expect(await servers.failed).toBe('The private redis server exited unexpectedly (SIGKILL).');
    } finally {
      await servers.stop();
    }
  });
});

/** Another process that owns the servers: the built code, as with `npm start`. */
async function startOwner(): Promise<ChildProcess> {
  return fork(join(PACKAGE_ROOT, 'test/local/owner.mjs'), { env: { ...process.env, DATA_DIR: dataDir } });
}

async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z /.test(status);
}
