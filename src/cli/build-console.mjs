import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { digestOf, filesBelow, isBuilt, stampBuilt } from './built.mjs';

/** Written last and removed first: without it the build is incomplete. */
const STAMP = 'dist/.console.json';
const FOLDERS = ['dist/console', 'dist/reference'];
/** Build results, relative to the package's folder. */
export const CONSOLE_BUILT = [STAMP, ...FOLDERS];

const dependsOn = (root) => [
  // Generated files contain only types, which leave no trace in the build.
  ...filesBelow(root, 'console').filter((file) => !file.startsWith(join(root, 'console/generated/'))),
  // The forms, and the console's other imports.
  ...filesBelow(root, 'src/domain'),
  join(root, 'package-lock.json'),
];

/**
 * Ensures that the built console matches its sources. Returns false, and leaves no build, if it cannot be built.
 * Without the builder (a production installation), the existing build is used.
 * @param options.root of the package, an absolute path that ends with a slash
 * @param options.force builds even if nothing changed
 */
export function buildConsole({ root, force = false }) {
  if (!existsSync(join(root, 'console/build.mjs')) || !existsSync(join(root, 'node_modules/@tailwindcss/vite')))
    return true;
  const digest = digestOf(root, dependsOn(root));
  if (!force && isBuilt(root, STAMP, digest)) return true;
  for (const built of CONSOLE_BUILT) rmSync(join(root, built), { recursive: true, force: true });
  process.stderr.write('Building the console, only after a change: up to a minute …\n');
  const built = spawnSync(execPath, ['console/build.mjs'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (built.status === 0) stampBuilt(root, STAMP, { digest, folders: FOLDERS });
  else for (const folder of FOLDERS) rmSync(join(root, folder), { recursive: true, force: true });
  return built.status === 0;
}
