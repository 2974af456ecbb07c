import { readFileSync } from 'node:fs';
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
}

const lock = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};
const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

/** What the image and a server run on. The registry that the lock file was written with has no other platform's packages. */
const production = { os: 'linux', cpu: 'x64', libc: 'glibc' } as const;
const isForProduction = (locked: Locked): boolean =>
  (['os', 'cpu', 'libc'] as const).every((part) => locked[part]?.includes(production[part]) ?? true);

describe('the lock file', () => {
  test('what is installed on Linux x64 with glibc has an integrity', () => {
    const without = packages.filter(([, locked]) => isForProduction(locked) && locked.integrity === undefined);
    expect(without.map(([path]) => path)).toEqual([]);
  });

  test('names no registry: a package comes from the one that npm is set to', () => {
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
