// What `npm run build` runs, and `npm start`, `npm test` and `npx laurel` before anything else: compiles where something changed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process, { argv, execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildConsole, CONSOLE_BUILT } from './build-console.mjs';
import { digestOf, filesBelow, isBuilt, stampBuilt } from './built.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Written last and removed first: without it there is no build. */
const STAMP = 'dist/.stamp.json';
const SOURCES = ['src', 'workers'];
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];

/** All that a build depends on: the sources, the settings, the packages. */
const dependsOn = (root) => [
  ...SOURCES.flatMap((folder) => filesBelow(root, folder)).filter((file) => file.endsWith('.ts')),
  ...SETTINGS.map((name) => join(root, name)),
];

/** Says what takes long. On standard error: standard output is for what a command says. */
export const progress = (line) => process.stderr.write(`${line}\n`);

/** Removes what was compiled, and leaves the console, which is built from other sources. */
function removeCompiled(root) {
  rmSync(join(root, STAMP), { force: true });
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (const name of readdirSync(join(root, 'dist')))
    if (!CONSOLE_BUILT.includes(`dist/${name}`)) rmSync(join(root, 'dist', name), { recursive: true, force: true });
}

/**
 * Sees to it that `dist` is what the sources are, compiling them if not; false where they do not compile. A build that was cut
 * off in its middle counts as none. Without the compiler (an installation for production) what was built is what there is.
 * @param options.root of the package, an absolute path
 * @param options.force compiles in any case
 * @param options.output where the compiler's words go, as `spawn` takes it
 */
export function build({ root = ROOT, force = false, output = 'inherit' } = {}) {
  root = join(resolve(root), '/');
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(compiler)) return existsSync(join(root, 'dist/src/main.js'));
  // Taken before: what changes while the compiler runs is noticed the next time.
  const digest = digestOf(root, dependsOn(root));
  if (!force && isBuilt(root, STAMP, digest)) return true;
  // `npx laurel` keeps its screen for the command.
  if (output === 'inherit') progress('Compiling Laurel, only after a change: up to a minute …');
  removeCompiled(root);
  const compiled = spawnSync(execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: ['ignore', output, output],
  });
  if (compiled.status !== 0) return false;
  stampBuilt(root, STAMP, { digest, folders: ['dist/src', 'dist/workers'] });
  return true;
}

if (resolve(argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  const force = argv.includes('--force');
  if (!build({ force })) {
    console.error('Laurel is not built: see above, or `npm ci` if there is nothing.');
    process.exitCode = 1;
  } else if (!buildConsole({ root: ROOT, force })) {
    console.error('The console is not built: see above. Everything else works without it.');
  }
}
