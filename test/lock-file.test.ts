import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../src/package-root.ts';

interface Locked {
  version: string;
  integrity?: string;
  resolved?: string;
  os?: string[];
  cpu?: string[];
  libc?: string | string[];
  optional?: boolean;
}

const lock = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};
const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

/** The platform of the image and of servers. */
const production = { os: 'linux', cpu: 'x64', libc: 'glibc' } as const;
const isForProduction = (locked: Locked): boolean =>
  (['os', 'cpu', 'libc'] as const).every((part) => locked[part]?.includes(production[part]) ?? true);

describe('the lock file', () => {
  test('every package for Linux x64 with glibc has an integrity', () => {
    const without = packages.filter(([, locked]) => isForProduction(locked) && locked.integrity === undefined);
    expect(without.map(([path]) => path)).toEqual([]);
  });

  test('only binaries of the HTTP server for other platforms have no integrity', () => {
    const without = packages.filter(([, locked]) => locked.integrity === undefined);
    expect(without.filter(([path, { optional }]) => optional !== true || !path.includes('/@uwsjs/'))).toEqual([]);
    expect(without.length).toBeLessThanOrEqual(32);
  });

  test('names no registry: a package comes from the one that npm is configured to use', () => {
    expect(packages.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
  });

  test.each(['uws-current', 'uws-older'])('%s has a binary for Linux x64', (name) => {
    const { optionalDependencies = {} } = lock.packages[`node_modules/${name}`] as Locked & {
      optionalDependencies?: Record<string, string>;
    };
    const binaries = Object.keys(optionalDependencies).filter((binary) => binary.includes('linux-x64-'));
    expect(binaries).not.toEqual([]);
    for (const binary of binaries) {
      const nested = lock.packages[`node_modules/${name}/node_modules/${binary}`];
      const locked = nested ?? lock.packages[`node_modules/${binary}`];
      expect(locked).toMatchObject({ version: optionalDependencies[binary], integrity: expect.any(String) as string });
    }
  });
});

test('ops/lock-integrity.mjs adds what the registry has, names what it lacks, and changes nothing else', async () => {
  const integrity = `sha512-${'A'.repeat(86)}==`;
  const registry = createServer((request, response) => {
    const name = decodeURIComponent(request.url!.slice(1));
    if (name !== '@scope/there') return void response.writeHead(404).end('{}');
    const versions = { '1.2.3': { name, version: '1.2.3', dist: { integrity, tarball: 'http://registry/x.tgz' } } };
    response.end(JSON.stringify({ name, 'dist-tags': { latest: '1.2.3' }, versions }));
  });
  await new Promise<void>((listening) => void registry.listen(0, '127.0.0.1', listening));
  const folder = mkdtempSync(join(tmpdir(), 'laurel-lock-'));
  const file = join(folder, 'package-lock.json');
  const before = {
    packages: {
      '': { name: 'app', version: '1.0.0' },
      'node_modules/a/node_modules/@scope/there': { version: '1.2.3', optional: true },
      'node_modules/alias': { name: 'gone', version: '2.0.0', os: ['plan9'] },
      'node_modules/known': { version: '3.0.0', integrity: 'sha512-known' },
    },
  };
  writeFileSync(file, JSON.stringify(before));
  const { port } = registry.address() as AddressInfo;
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    'npm_config_@scope:registry': `http://127.0.0.1:${port}/`,
    npm_config_cache: join(folder, 'cache'),
  };
  const script = spawn(process.execPath, [join(PACKAGE_ROOT, 'ops/lock-integrity.mjs'), file], { env });
  let out = '';
  script.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const code = await new Promise((exited) => script.once('close', exited));
  expect([code, out]).toEqual([1, '1 added, 1 not in this registry\n  gone@2.0.0\n']);
  const there = { version: '1.2.3', integrity, optional: true };
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    packages: { ...before.packages, 'node_modules/a/node_modules/@scope/there': there },
  });
  rmSync(folder, { recursive: true });
  registry.closeAllConnections();
  await new Promise((closed) => registry.close(closed));
});
