import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import {
  acceptServers,
  refusePostgres,
  refuseRedis,
  warnOfRedisSettings,
} from '../../../src/engine/availability/accept-servers.ts';
import { StartError } from '../../../src/start-error.ts';
import { freePort } from '../../../src/local/free-ports.ts';
import { OwnCluster } from '../../stack/own-cluster.ts';
import { OwnRedis } from '../../engine/rebuild/own-redis.ts';
import { testStack } from '../../stack/stack.ts';
import { endChild } from '../../stack/child-process.ts';
import { opened } from '../../stack/opened.ts';

/** From the Debian package `pgbouncer`; the test that needs it is skipped without it. */
const PGBOUNCER = '/usr/sbin/pgbouncer';

/** Whether Laurel accepts the test's Postgres behind a pooler in this mode. */
async function accepted(mode: 'session' | 'transaction'): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-pooler-'));
  const at = new URL(stack.databaseUrl);
  const database = at.pathname.slice(1);
  const behind = { host: at.hostname, port: at.port, user: at.username, password: at.password, dbname: database };
  [at.hostname, at.port] = ['127.0.0.1', String(await freePort())];
  const settings = {
    listen_addr: at.hostname,
    listen_port: at.port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
  };
  const lines = (all: object, between: string): string =>
    Object.entries(all)
      .map(([name, value]) => `${name}=${value}`)
      .join(between);
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, `[databases]\n${database} = ${lines(behind, ' ')}\n[pgbouncer]\n${lines(settings, '\n')}\n`);
  // It refuses to run as root.
  await chmod(folder, 0o755);
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const pooler = spawn(PGBOUNCER, ['-q', ...user, file], { stdio: 'ignore' });
  try {
    await acceptServers({ ...stack, databaseUrl: at.href });
  } finally {
    await endChild(pooler, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

const stack = opened(() => testStack());

describe('acceptServers', () => {
  test('accepts the servers of the tests', async () => {
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

  test('refuses a replica, which accepts no writes', async () => {
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

  test('accepts a cluster through any node, also a replica; refuses one with a master that may evict', async () => {
    const cluster = await OwnCluster.start({ replicas: 1 });
    try {
      await expect(acceptServers({ ...stack, redisUrl: cluster.nodes[4]!.url })).resolves.toBeUndefined();
      await cluster.nodes[2]!.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      const refused = acceptServers({ ...stack, redisUrl: cluster.nodes[0]!.url });
      await expect(refused).rejects.toThrow('maxmemory-policy is "allkeys-lru"');
    } finally {
      await cluster.close();
    }
  });

  test('refuses a cluster that is down, and several servers without a cluster', async () => {
    const node = await OwnRedis.start({ 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) });
    const [one, other] = [await OwnRedis.start(), await OwnRedis.start()];
    try {
      await expect(acceptServers({ ...stack, redisUrl: node.url })).rejects.toThrow('does not serve requests');
      const redisUrl = `${one.url},${other.url}`;
      await expect(acceptServers({ ...stack, redisUrl })).rejects.toThrow(
        'names several servers that are not a cluster',
      );
    } finally {
      await Promise.all([node, one, other].map((each) => each.close()));
    }
  });

  test.skipIf(!existsSync(PGBOUNCER))('refuses only a pooler that assigns connections per transaction', async () => {
    await expect(accepted('transaction')).rejects.toThrow('lends a connection for one transaction only');
    await expect(accepted('session')).resolves.toBeUndefined();
  });

  test('reports a wrong password at once', async () => {
    const url = new URL(stack.databaseUrl);
    url.username = 'nobody-of-that-name';
    const refused = acceptServers({ ...stack, databaseUrl: url.href });
    await expect(refused).rejects.toThrow(StartError);
    await expect(refused).rejects.toThrow('DATABASE_URL');
  });
});

describe('versions', () => {
  test.each(['6.2.14', '5.0.0', '0'])('refuses Redis %s', (version) => {
    expect(() => refuseRedis(`redis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`)).toThrow('7.0 or newer');
  });

  test.each(['7.0.0', '7.2.4', '8.0.1', '10.0.0'])('accepts Redis %s', (version) => {
    expect(() => refuseRedis(`redis_version:${version}\r\nmaxmemory_policy:noeviction\r\n`)).not.toThrow();
  });

  test('refuses Postgres 14, accepts 15', () => {
    expect(() => refusePostgres(140_012)).toThrow('Postgres 15 or newer; this one is 14');
    expect(() => refusePostgres(150_000)).not.toThrow();
  });
});

describe('warnOfRedisSettings', () => {
  const said = async (redisUrl: string): Promise<{ level: number; redis: string; msg: string }[]> => {
    const lines: string[] = [];
    await warnOfRedisSettings(redisUrl, pino({}, { write: (line: string) => void lines.push(line) }));
    return lines.map((line) => JSON.parse(line) as { level: number; redis: string; msg: string });
  };

  test('is silent for a Redis with the shipped settings, with or without replicas', async () => {
    const [redis, replica] = [await OwnRedis.start(), await OwnRedis.start()];
    try {
      expect(await said(redis.url)).toEqual([]);
      await replica.follow(redis);
      expect(await said(redis.url)).toEqual([]);
    } finally {
      await Promise.all([redis.close(), replica.close()]);
    }
  });

  test('names each different setting and its cost; settings of replicas only if there are replicas', async () => {
    const [redis, replica] = [
      await OwnRedis.start({ appendfsync: 'everysec', 'repl-diskless-sync-delay': '1' }),
      await OwnRedis.start(),
    ];
    try {
      const lines = await said(redis.url);
      expect(lines).toEqual([expect.objectContaining({ level: 40, redis: `127.0.0.1:${redis.port}` })]);
      expect(lines[0]!.msg).toContain('appendfsync is "everysec", not "always": what was acknowledged in the last');
      expect(lines[0]!.msg).not.toContain('repl-diskless-sync-delay');
      await replica.follow(redis);
      // It takes a moment until the master reports its replica.
      await expect
        .poll(async () => (await said(redis.url))[0]!.msg)
        .toContain('repl-diskless-sync-delay is "1", not "0": after a takeover');
    } finally {
      await Promise.all([redis.close(), replica.close()]);
    }
  });

  test('is silent for a Redis that forbids the question, or does not answer', async () => {
    const away = await OwnRedis.start({ appendfsync: 'no' });
    await away.close();
    expect(await said(away.url)).toEqual([]);
    const guarded = await OwnRedis.start({ appendfsync: 'no' });
    try {
      await guarded.command('ACL', 'SETUSER', 'laurel', 'on', '>secret-secret', '~*', '&*', '+@all', '-config');
      expect(await said(guarded.url.replace('redis://', 'redis://laurel:secret-secret@'))).toEqual([]);
      expect(await said(guarded.url)).toHaveLength(1);
    } finally {
      await guarded.close();
    }
  });
});
