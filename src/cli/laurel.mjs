#!/usr/bin/env node
// What `npx laurel` runs. In a clone the built code may be missing, or older than its sources: it is built first.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const built = new URL('dist/src/cli/main.js', root);
const compiler = new URL('node_modules/typescript/bin/tsc', root);

const changedMs = (url) => statSync(url, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** When a source was last changed, epoch ms. */
function newestSource() {
  const files = ['src/', 'workers/'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => new URL(folder + name.replaceAll('\\', '/'), root)),
  );
  return Math.max(...files.map(changedMs));
}

// Without the compiler (installed for production) what was built is what there is.
if (existsSync(compiler) && changedMs(built) < newestSource()) {
  const { status } = spawnSync(process.execPath, [fileURLToPath(compiler), '-p', 'tsconfig.build.json'], {
    cwd: fileURLToPath(root),
    // Standard output is for what the command says.
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(2);
}
if (!existsSync(built)) {
  console.error('Laurel is not built: npm run build.');
  process.exit(2);
}
await import(built.href);
