import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** A file that imports one of these may start a server, a browser or another process. */
const STARTS_SERVERS = /^(?:ioredis|pg|node:child_process)$/;
/** Imports that exist at run time, each with its path. */
const IMPORT = /^import (?!type )[^;]*?'([^']+)'/gm;

/** Whether a test file starts nothing: neither it nor a file of `test` that it imports has one of the imports above. */
function isUnit(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return true;
  seen.add(file);
  const imports = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path]) => path!);
  return imports.every((path) => {
    if (!path.startsWith('.')) return !STARTS_SERVERS.test(path);
    const imported = join(dirname(file), path);
    return !imported.startsWith('test/') || !imported.endsWith('.ts') || isUnit(imported, seen);
  });
}

const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => join('test', name));

/** `npm run test:unit`: the tests that need no server, chosen by what they import. */
export default defineConfig({
  plugins: base.plugins,
  test: { ...base.test, include: tests.filter((file) => isUnit(file)), globalSetup: [], projects: undefined },
});
