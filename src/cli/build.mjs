// What `npm run build` runs, and `npm start`, `npm test` and `npx laurel` before anything else: compiles where something changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argv, execPath, versions } from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Holds what the build was made from and what it came to. Written last and removed first: without it there is no build. */
const STAMP = 'dist/.stamp.json';
const SOURCES = ['src', 'workers'];
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json'];

const filesBelow = (root, folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/**
 * A digest of all that a build depends on: names and content of the sources, the settings, the packages, Node's version. Not
 * of times: a checkout changes them, and a copy may keep them. About 30 ms for 500 files.
 */
function digestOf(root) {
  const digest = createHash('sha256').update(versions.node);
  const sources = SOURCES.flatMap((folder) => filesBelow(root, folder)).filter((file) => file.endsWith('.ts'));
  for (const file of [...sources, ...SETTINGS.map((name) => join(root, name))]) {
    const content = readFileSync(file);
    digest.update(`\0${file.slice(root.length)}\0${content.length}\0`).update(content);
  }
  return digest.digest('hex');
}

/** What is in `dist`: sizes by path. A file that is missing or cut short shows in them. */
const sizesIn = (root) =>
  Object.fromEntries(
    ['dist/src', 'dist/workers']
      .flatMap((folder) => filesBelow(root, folder))
      .map((file) => [file.slice(root.length), statSync(file).size]),
  );

/** Whether `dist` holds, whole, what the sources are now. */
function isBuilt(root) {
  let stamp;
  try {
    stamp = JSON.parse(readFileSync(join(root, STAMP), 'utf8'));
  } catch {
    return false;
  }
  const whole = Object.entries(stamp.sizes).every(
    ([file, size]) => statSync(join(root, file), { throwIfNoEntry: false })?.size === size,
  );
  return whole && stamp.digest === digestOf(root);
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
  if (!force && isBuilt(root)) return true;
  // Taken before: what changes while the compiler runs is noticed the next time.
  const digest = digestOf(root);
  rmSync(join(root, STAMP), { force: true });
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const compiled = spawnSync(execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: ['ignore', output, output],
  });
  if (compiled.status !== 0) return false;
  const unfinished = join(root, `${STAMP}.${process.pid}`);
  writeFileSync(unfinished, JSON.stringify({ digest, sizes: sizesIn(root) }));
  renameSync(unfinished, join(root, STAMP));
  return true;
}

if (resolve(argv[1] ?? '') === fileURLToPath(import.meta.url)) {
  if (!build({ force: argv.includes('--force') })) {
    console.error('Laurel is not built: see above, or `npm ci` if there is nothing.');
    process.exitCode = 1;
  }
}
