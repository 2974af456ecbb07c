import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process, { argv, execPath, pid, versions } from 'node:process';
import { fileURLToPath } from 'node:url';

// A build is current if its stamp, a file next to it, has the digest of its sources.

/** All files in a folder, at any depth; empty if the folder does not exist. Absolute paths, sorted. */
const filesBelow = (root, folder) =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : [];

/**
 * A digest of the files' names and contents, and of Node's version. Ignores times: a checkout changes them, and a copy
 * may keep them. About 30 ms for 500 files.
 */
function digestOf(root, files) {
  const digest = createHash('sha256').update(versions.node);
  for (const file of files) {
    const content = readFileSync(file);
    digest.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/** Whether the build is complete, and its sources had this digest. `stamp`: its path from the root. */
function isBuilt(root, stamp, digest) {
  let built;
  try {
    built = JSON.parse(readFileSync(join(root, stamp), 'utf8'));
  } catch {
    return false;
  }
  const whole = Object.entries(built.sizes).every(
    ([file, size]) => statSync(join(root, file), { throwIfNoEntry: false })?.size === size,
  );
  return whole && built.digest === digest;
}

/** Records the built folders' contents and their sources' digest. Sizes reveal files that are missing or cut short. */
function stampBuilt(root, stamp, { digest, folders }) {
  const files = folders.flatMap((folder) => filesBelow(root, folder));
  const sizes = Object.fromEntries(files.map((file) => [file.slice(root.length), statSync(file).size]));
  const unfinished = join(root, `${stamp}.${pid}`);
  writeFileSync(unfinished, JSON.stringify({ digest, sizes }));
  renameSync(unfinished, join(root, stamp));
}

/** Written last and removed first: without it the build is incomplete. */
const CONSOLE_STAMP = 'dist/.console.json';
const CONSOLE_FOLDERS = ['dist/console', 'dist/reference'];
/** Build results, relative to the package's folder. */
const CONSOLE_BUILT = [CONSOLE_STAMP, ...CONSOLE_FOLDERS];

const consoleDependsOn = (root) => [
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
function buildConsole({ root, force = false }) {
  if (!existsSync(join(root, 'console/build.mjs')) || !existsSync(join(root, 'node_modules/@tailwindcss/vite')))
    return true;
  const digest = digestOf(root, consoleDependsOn(root));
  if (!force && isBuilt(root, CONSOLE_STAMP, digest)) return true;
  for (const built of CONSOLE_BUILT) rmSync(join(root, built), { recursive: true, force: true });
  process.stderr.write('Building the console, only after a change: up to a minute …\n');
  const built = spawnSync(execPath, ['console/build.mjs'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  if (built.status === 0) stampBuilt(root, CONSOLE_STAMP, { digest, folders: CONSOLE_FOLDERS });
  else for (const folder of CONSOLE_FOLDERS) rmSync(join(root, folder), { recursive: true, force: true });
  return built.status === 0;
}

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
