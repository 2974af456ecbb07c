import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readEnv } from '../../src/env.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { findRedisProgram } from '../../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { parseRedisUrls } from '../../src/redis-address.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

interface Service {
  command: string[];
  environment: Record<string, string>;
  volumes?: string[];
  networks?: { default: { ipv4_address: string } };
}

const PASSWORD = '0123456789abcdef';
const file = readFileSync(join(PACKAGE_ROOT, 'docker-compose.cluster.yml'), 'utf8');
/** As Compose reads it. */
const filledIn = file
  .replaceAll(/\$\{\w+_PASSWORD:\?[^}]*\}/g, PASSWORD)
  .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
  .replaceAll('$$', '$');
const { services } = parse(filledIn, { merge: true }) as { services: Record<string, Service> };
const NODES = Object.keys(services).filter((name) => /^redis-\d$/.test(name));
const ADDRESSES = NODES.map((name) => services[name]!.networks!.default.ipv4_address);

const asTexts = (values: object): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? '')]));

test('REDIS_URL names all nodes, and a replica has every acknowledged write', () => {
  const env = readEnv(asTexts(services['app']!.environment));
  expect(env.acknowledgeMs).toBe(1_000);
  const parsed = parseRedisUrls(env.redisUrl!);
  if (typeof parsed === 'string') throw new Error(parsed);
  expect(parsed.map(({ address }) => address)).toEqual(
    ADDRESSES.map((host) => ({ host, port: 6379, password: PASSWORD, db: 0 })),
  );
  expect(NODES).toHaveLength(6);
});

test('each node has its own volume and address, and all become members', () => {
  expect(NODES.map((name) => services[name]!.volumes)).toEqual(NODES.map((name) => [`${name}:/data`]));
  expect(new Set(ADDRESSES).size).toBe(6);
  const made = services['cluster']!.command[2]!.match(/[\d.]+(?=:6379)/g);
  expect(made).toEqual(ADDRESSES);
});

test('a node starts as a cluster member with the shipped settings', async () => {
  const folder = mkdtempSync(join(DATA_FOLDER, 'laurel-compose-'));
  const [port, busPort] = [await freePort(), await freePort()];
  const { command, environment } = services['redis-2']!;
  const script = command[2]!
    .replaceAll('/data', folder)
    .replaceAll('/etc/laurel', join(PACKAGE_ROOT, 'ops'))
    .replace('redis-server', findRedisProgram()!);
  const env = { ...environment, PATH: process.env['PATH'] };
  const running = spawn('sh', ['-c', `${script.trimEnd()} --port ${port} --cluster-port ${busPort}`], {
    env,
    stdio: 'ignore',
  });
  const redis = new Redis({ port, password: PASSWORD, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  try {
    expect(String(await redis.call('INFO', 'CLUSTER'))).toContain('cluster_enabled:1');
    const found = (await redis.call('CONFIG', 'GET', 'append*', 'cluster-*', 'masterauth')) as string[];
    const value = (name: string): string | undefined => found[found.indexOf(name) + 1];
    expect(
      ['appendonly', 'appendfsync', 'cluster-require-full-coverage', 'masterauth'].map((name) => value(name)),
    ).toEqual(['yes', 'always', 'no', PASSWORD]);
  } finally {
    redis.disconnect();
    const ended = once(running, 'exit');
    running.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true });
  }
});
