// Builds the console into dist/console and the reference page into dist/reference, and compresses every file: the server
// compresses nothing. Run by `npm run build` where something changed.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

const ROOT = join(import.meta.dirname, '..');
const COMPRESSED = /\.(?:html|js|css|svg|json)$/;

function compress(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
    const file = join(entry.parentPath, entry.name);
    const content = readFileSync(file);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
    writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
    writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
  }
}

/** The page around the viewer, which is one file; their names change with their content. */
function buildReference(folder) {
  mkdirSync(join(folder, 'assets'), { recursive: true });
  const viewer = createRequire(import.meta.url).resolve('rapidoc/dist/rapidoc-min.js');
  const renamed = new Map();
  // Files that refer to another are built after it.
  for (const [name, file] of [
    ['viewer.js', viewer],
    ['client-snippet.js', join(import.meta.dirname, 'reference/client-snippet.js')],
    ['snippets.js', join(import.meta.dirname, 'reference/snippets.js')],
    ['page.js', join(import.meta.dirname, 'reference/page.js')],
    ['page.css', join(import.meta.dirname, 'reference/page.css')],
    ['icon.svg', join(import.meta.dirname, 'laurel.svg')],
    ['index.html', join(import.meta.dirname, 'reference/index.html')],
  ]) {
    let content = readFileSync(file, 'utf8');
    if (file !== viewer) for (const [from, to] of renamed) content = content.replace(`./${from}`, to);
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 8);
    const hashed = `assets/${name.replace('.', `-${hash}.`)}`;
    renamed.set(name, `/reference/${hashed}`);
    writeFileSync(join(folder, name === 'index.html' ? name : hashed), content);
  }
}

await build({ root: import.meta.dirname, configFile: join(import.meta.dirname, 'vite.config.ts'), logLevel: 'warn' });
buildReference(join(ROOT, 'dist/reference'));
for (const folder of ['dist/console', 'dist/reference']) compress(join(ROOT, folder));
