import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process, { argv, execPath, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildConsole, CONSOLE_BUILT } from './build-console.mjs';
import { digestOf, filesBelow, isBuilt, stampBuilt } from './built.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Written last and removed first: without it the build is incomplete. */
const STAMP = 'dist/.stamp.json';
const SOURCES = ['src', 'workers'];
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];

/** Everything that a build depends on: sources, settings, packages. */
const dependsOn = (root) => [
  ...SOURCES.flatMap((folder) => filesBelow(root, folder)).filter((file) => file.endsWith('.ts')),
  ...SETTINGS.map((name) => join(root, name)),
];

/** Announces long steps. On standard error, since standard output is for a command's result. */
export const progress = (line) => process.stderr.write(`${line}\n`);

/** Why this release of Node cannot run Laurel; null if it can. */
function nodeProblem(root) {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, leastMajor, leastMinor, below] = /^>=(\d+)\.(\d+) <(\d+)$/.exec(engines.node).map(Number);
  const [major, minor] = versions.node.split('.').map(Number);
  if ((major > leastMajor || (major === leastMajor && minor >= leastMinor)) && major < below) return null;
  return `Laurel needs Node ${leastMajor}.${leastMinor} or newer, below ${below}. This is Node ${versions.node}.`;
}

/** Removes compiled files, but not the console, which is built from other sources. */
function removeCompiled(root) {
  rmSync(join(root, STAMP), { force: true });
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (const name of readdirSync(join(root, 'dist')))
    if (!CONSOLE_BUILT.includes(`dist/${name}`)) rmSync(join(root, 'dist', name), { recursive: true, force: true });
}

/**
 * Ensures that `dist` matches the sources, and compiles them if necessary. Returns false if they do not compile, or if
 * Node does not fit, and says so. An interrupted build counts as none. Without the compiler (a production installation), the existing build is used.
 * @param options.root of the package, an absolute path
 * @param options.force compiles even if nothing changed
 * @param options.output destination of the compiler's output, as `spawn` takes it
 */
export function build({ root = ROOT, force = false, output = 'inherit' } = {}) {
  root = join(resolve(root), '/');
  const problem = nodeProblem(root);
  if (problem !== null) {
    progress(problem);
    return false;
  }
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  if (!existsSync(compiler)) return existsSync(join(root, 'dist/src/main.js'));
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
