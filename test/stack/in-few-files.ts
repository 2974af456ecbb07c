import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const BUILT = join(PACKAGE_ROOT, 'dist');
/** Files of the build that tests run, or load in their own processes. */
const ENTRIES = [
  'src/clock',
  'src/main',
  'src/processes/composition',
  'src/processes/frontend',
  'src/processes/serve',
  'src/telemetry/log',
  'src/cli/main',
  'src/cli/program',
  'workers/main',
  'workers/start',
];
/** A build removes it, with the rest of `dist`. */
const FOLDER = join(BUILT, 'in-few-files');

/**
 * Removes the copy if an entry was added since it was made, which no build notices. Call it before the first test file starts:
 * a process of another one may be loading the copy.
 */
export async function removeOutdatedCopy(): Promise<void> {
  if (!ENTRIES.every((entry) => existsSync(join(FOLDER, `${entry}.js`))))
    await rm(FOLDER, { recursive: true, force: true });
}

/**
 * The folder of a copy of the build, with its packages, in few files, and the entries at the same paths. A process that tests start
 * loads it in a third of the CPU that the 1,500 files of the build and its packages take.
 */
export async function inFewFiles(): Promise<string> {
  if (!existsSync(join(BUILT, 'src/main.js'))) throw new Error('This test runs the built code: npm run build');
  if (existsSync(FOLDER)) return FOLDER;
  const outDir = `${FOLDER}.${process.pid}`;
  await build({
    configFile: false,
    logLevel: 'warn',
    root: PACKAGE_ROOT,
    build: {
      ssr: true,
      outDir,
      target: 'node20',
      rolldownOptions: {
        input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(BUILT, `${entry}.js`)])),
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
    ssr: { noExternal: true },
  });
  try {
    await rename(outDir, FOLDER);
  } catch (error) {
    // Another test file was first.
    if (!existsSync(FOLDER)) throw error;
    await rm(outDir, { recursive: true });
  }
  return FOLDER;
}
