import { readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

/** Packages that one of our files loads immediately, directly or through others. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file)) return packages;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path] of text.matchAll(/^(?:import|export) (?!type\b)(?:[^;']*from )?'([^']+)'/gm)) {
    if (path!.startsWith('.'))
      for (const each of packagesOf(normalize(join(dirname(file), path!)), seen)) packages.add(each);
    else if (!path!.startsWith('node:')) packages.add(path!);
  }
  return packages;
}

// A command loads its dependencies when it runs. TypeBox, with 373 files, took half of the 0.25 s of CPU of each start.
test('every command starts with only the argument parser and the logger', () => {
  const seen = new Set<string>();
  expect([...packagesOf(join(PACKAGE_ROOT, 'src/cli/main.ts'), seen)].toSorted()).toEqual(['commander', 'pino']);
  const names = [...seen].map((file) => relative(PACKAGE_ROOT, file));
  expect(names).toContain('src/cli/corrections.ts');
});
