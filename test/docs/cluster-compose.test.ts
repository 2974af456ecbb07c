import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readEnv } from '../../src/env.ts';
import { freePort } from '../../src/local/free-port.ts';
import { findRedisProgram } from '../../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { parseRedisEntries } from '../../src/redis-entries.ts';
import { parseRedisUrl } from '../../src/redis-address.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

interface Service {
  command: string[];
  environment: Record<string, string>;
  volumes?: string[];
}

const PASSWORD = '0123456789abcdef';
const file = readFileSync(join(PACKAGE_ROOT, 'docker-compose.cluster.yml'), 'utf8');
/** As Compose reads it. */
const filledIn = file
  .replaceAll(/\$\{\w+_PASSWORD:\?[^}]*\}/g, PASSWORD)
  .replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')
  .replaceAll('$$', '$');
const { services } = parse(filledIn, { merge: true }) as { services: Record<string, Service> };
const named = (form: RegExp): string[] => Object.keys(services).filter((name) => form.test(name));
const SENTINELS = named(/^sentinel-\d$/);

const asTexts = (values: object): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? '')]));

test('REDIS_URL leads through all Sentinels to each master, and a replica has what is answered', () => {
  const env = readEnv(asTexts(services['app']!.environment));
  expect(env.acknowledgeMs).toBe(1_000);
  const entries = parseRedisEntries(env.redisUrl!);
  if (typeof entries === 'string') throw new Error(entries);
  expect(entries.map(({ name }) => name)).toEqual(['redis-1', 'redis-2', 'redis-3']);
  for (const { name, url } of entries) {
    const hosts = SENTINELS.map((host) => ({ host, port: 26_379 }));
    expect(parseRedisUrl(url)).toMatchObject({ name, password: PASSWORD, sentinels: hosts });
    expect(named(new RegExp(`^${name}-`))).toHaveLength(3);
  }
  expect(SENTINELS).toHaveLength(3);
});

test('each Redis and each Sentinel has a volume of its own', () => {
  const volumes = [...named(/^redis-/), ...SENTINELS].map((name) => [name, services[name]!.volumes]);
  expect(volumes).toEqual(volumes.map(([name]) => [name, [`${String(name)}:/data`]]));
});

let folder: string;
let running: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(DATA_FOLDER, 'laurel-compose-'));
  running = [];
});
afterEach(async () => {
  await endRunning();
  rmSync(folder, { recursive: true });
});

async function endRunning(): Promise<void> {
  for (const each of running.splice(0)) {
    const ended = once(each, 'exit');
    each.kill('SIGKILL');
    await ended;
  }
}

/** Runs the command of a service on this machine, in a folder for its volume, and asks it something; the last answer. */
async function ask(name: string, questions: string[][], replaced: [string, string][] = []): Promise<unknown> {
  const { command: commands, environment } = services[name]!;
  const port = await freePort();
  let script = commands[2]!;
  const ops = join(PACKAGE_ROOT, 'ops');
  for (const [from, to] of [['/data', folder], ['/etc/laurel', ops], ...replaced] as const)
    script = script.replaceAll(from, to);
  const path = `${dirname(findRedisProgram()!)}:${process.env['PATH']}`;
  const env = { ...environment, PATH: path };
  running.push(spawn('sh', ['-c', `${script.trimEnd()} --port ${port}`], { env, stdio: 'ignore' }));
  const password = name.startsWith('sentinel') ? {} : { password: PASSWORD };
  const redis = new Redis({ port, ...password, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  try {
    let answer: unknown;
    for (const [command, ...words] of questions) answer = await redis.call(command!, ...words);
    return answer;
  } finally {
    redis.disconnect();
  }
}

test('the first of a group starts as a master with the settings that are shipped, also after a setting was changed', async () => {
  const questions = [
    ['CONFIG', 'SET', 'repl-diskless-sync-delay', '5', 'appendfsync', 'no'],
    ['CONFIG', 'REWRITE'],
    ['CONFIG', 'GET', 'append*'],
  ];
  expect(await ask('redis-2-a', questions)).toEqual(expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'no']));
  await endRunning();
  expect(await ask('redis-2-a', [['CONFIG', 'GET', 'append*', 'repl-diskless-sync-delay']])).toEqual(
    expect.arrayContaining(['appendonly', 'yes', 'appendfsync', 'always', 'repl-diskless-sync-delay', '0']),
  );
});

test('the others start as its replicas', async () => {
  expect(await ask('redis-2-c', [['ROLE']])).toEqual([
    'slave',
    'redis-2-a',
    6379,
    expect.any(String),
    expect.any(Number),
  ]);
});

test('what a Redis is told after its first start, as Sentinels do it, it is again when it comes back', async () => {
  await ask('redis-1-a', [
    ['REPLICAOF', 'redis-1-b', '6379'],
    ['CONFIG', 'REWRITE'],
  ]);
  await endRunning();
  expect(await ask('redis-1-a', [['CONFIG', 'GET', 'replicaof']])).toEqual(['replicaof', 'redis-1-b 6379']);
});

test('a Sentinel watches all masters, and two have to agree', async () => {
  const here: [string, string] = ['$name-a', '127.0.0.1'];
  const watched = (await ask('sentinel-1', [['SENTINEL', 'MASTERS']], [here])) as (string[] | Record<string, string>)[];
  const fields = watched.map((master) => (Array.isArray(master) ? master : Object.entries(master).flat()));
  const of = (master: string[], name: string): string => master[master.indexOf(name) + 1]!;
  expect(fields.map((master) => [of(master, 'down-after-milliseconds'), of(master, 'parallel-syncs')])).toEqual(
    fields.map(() => ['2000', '2']),
  );
  expect(Object.fromEntries(fields.map((master) => [of(master, 'name'), of(master, 'quorum')]))).toEqual({
    'redis-1': '2',
    'redis-2': '2',
    'redis-3': '2',
  });
});
