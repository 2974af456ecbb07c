import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readEnv } from '../../src/settings/env.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { findRedisProgram } from '../../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { parseRedisUrls } from '../../src/settings/redis-address.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { endChild } from '../stack/child-process.ts';

interface Service {
  command: string[];
  environment: Record<string, string>;
  volumes?: string[];
  networks?: { default: { ipv4_address: string } };
}

const PASSWORD = '0123456789abcdef';

/** The services of a file, filled in as Compose does. */
function servicesOf(file: string): Record<string, Service> {
  const filledIn = readFileSync(join(PACKAGE_ROOT, file), 'utf8')
    .replaceAll(/\$\{\w+_PASSWORD:\?[^}]*\}/g, PASSWORD)
    .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replaceAll('$$', '$');
  return (parse(filledIn, { merge: true }) as { services: Record<string, Service> }).services;
}

const services = servicesOf('docker-compose.cluster.yml');
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

/** Starts a Redis with the command of a service, and passes its settings of some names and its command line. */
async function startedWith(
  { command, environment }: Service,
  { names, options }: { names: string[]; options: string },
): Promise<{ settings: Record<string, string>; commandLine: string }> {
  const folder = mkdtempSync(join(DATA_FOLDER, 'laurel-compose-'));
  const port = await freePort();
  const script = command[2]!
    .replaceAll('/data', folder)
    .replaceAll('/etc/laurel', join(PACKAGE_ROOT, 'ops'))
    .replace('redis-server', findRedisProgram()!)
    .replace(' - <<', ` --port ${port} ${options} - <<`);
  const env = { ...environment, PATH: process.env['PATH'] };
  const running = spawn('sh', ['-c', script], { env, stdio: 'ignore' });
  const redis = new Redis({ port, password: PASSWORD, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  try {
    const found = (await redis.call('CONFIG', 'GET', ...names)) as string[];
    const settings = Object.fromEntries(names.map((name) => [name, found[found.indexOf(name) + 1]!]));
    return { settings, commandLine: readFileSync(`/proc/${running.pid}/cmdline`, 'utf8').replaceAll('\0', ' ') };
  } finally {
    redis.disconnect();
    // The shell became Redis, so a signal of the container engine reaches it.
    expect((await endChild(running, 'SIGTERM'))[0]).toBe(0);
    rmSync(folder, { recursive: true });
  }
}

const COMMON = { appendonly: 'yes', appendfsync: 'always', maxmemory: '1073741824', requirepass: PASSWORD };

test('a node starts as a cluster member with the shipped settings, and its command line has no password', async () => {
  const wanted = {
    ...COMMON,
    'cluster-enabled': 'yes',
    'cluster-require-full-coverage': 'no',
    masterauth: PASSWORD,
  };
  const options = `--cluster-port ${await freePort()}`;
  const { settings, commandLine } = await startedWith(services['redis-2']!, { names: Object.keys(wanted), options });
  expect(settings).toEqual(wanted);
  expect(commandLine).toMatch(/redis-server/);
  expect(commandLine).not.toContain(PASSWORD);
});

test('the Redis of docker-compose.yml starts with the shipped settings, and its command line has no password', async () => {
  const { redis } = servicesOf('docker-compose.yml');
  const { settings, commandLine } = await startedWith(redis!, { names: Object.keys(COMMON), options: '' });
  expect(settings).toEqual(COMMON);
  expect(commandLine).not.toContain(PASSWORD);
});
