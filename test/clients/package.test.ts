import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build, transformWithOxc } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';

// The package of the TypeScript client as npm would publish it, and its page, whose snippets run with that package.
const run = promisify(execFile);
const CLIENT = join(PACKAGE_ROOT, 'clients/typescript');
const COMPILER = join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');

let laurel: TestLaurel;
/** With `node_modules/laurel-client`. */
let folder: string;
beforeAll(async () => {
  // Within the project, so that the types of Node resolve.
  folder = await mkdtemp(join(PACKAGE_ROOT, 'node_modules', '.laurel-test-client-'));
  const installed = join(folder, 'node_modules/laurel-client');
  await mkdir(installed, { recursive: true });
  await run('npm', ['pack', '--pack-destination', folder], { cwd: CLIENT });
  const [archive] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', join(folder, archive!), '-C', installed, '--strip-components=1']);
  laurel = await startLaurel({ configuration: DEMO, workers: true });
});
afterAll(async () => {
  await laurel.close();
  await rm(folder, { recursive: true });
});

/** The minified code of a module that is bundled with the client. */
async function bundled(code: string): Promise<string> {
  const entry = join(folder, 'entry.mjs');
  await writeFile(entry, code);
  const output = await build({
    configFile: false,
    logLevel: 'error',
    root: folder,
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      lib: { entry, formats: ['es'] },
      rolldownOptions: { treeshake: true, external: ['react', 'react/jsx-runtime'] },
    },
  });
  const [first] = Array.isArray(output) ? output : [output];
  if (first === undefined || !('output' in first)) throw new Error('Nothing was built.');
  return first.output.map((chunk) => (chunk.type === 'chunk' ? chunk.code : '')).join('');
}

test('the generated types are those of the OpenAPI documents', async () => {
  const checked = run(process.execPath, [join(CLIENT, 'generate.mjs'), '--check']);
  await expect(checked).resolves.toMatchObject({ stderr: '' });
});

describe('size', () => {
  test('everything has at most 12 KB, compressed', async () => {
    const code = await bundled(`export * from 'laurel-client';`);
    const bytes = gzipSync(code, { level: 9 }).length;
    console.log(`The client has ${code.length} bytes, ${bytes} compressed.`);
    expect(bytes).toBeLessThanOrEqual(12_288);
  });

  test('the React hooks add at most 3 KB', async () => {
    const sizeOf = async (code: string): Promise<number> => gzipSync(await bundled(code), { level: 9 }).length;
    const client = `export * from 'laurel-client';`;
    const bytes = (await sizeOf(`${client} export * from 'laurel-client/react';`)) - (await sizeOf(client));
    console.log(`The hooks add ${bytes} bytes, compressed.`);
    expect(bytes).toBeLessThanOrEqual(3_072);
  });

  test('what is not imported is left out', async () => {
    const code = await bundled(`export { verifyWebhook } from 'laurel-client';`);
    expect(code).toContain('webhook-signature');
    expect(code).not.toContain('Idempotency-Key');
    expect(code.length).toBeLessThan(3_000);
  });
});

test('the package has no dependencies and contains its files', async () => {
  const description = JSON.parse(await readFile(join(folder, 'node_modules/laurel-client/package.json'), 'utf8'));
  expect(description).not.toHaveProperty('dependencies');
  for (const { types, default: code } of Object.values<{ types: string; default: string }>(description.exports)) {
    await readFile(join(folder, 'node_modules/laurel-client', types));
    await readFile(join(folder, 'node_modules/laurel-client', code));
  }
});

describe('docs/clients/typescript.md', () => {
  test('its snippets have correct types, and run in their order', async () => {
    const page = await readFile(join(PACKAGE_ROOT, 'docs/clients/typescript.md'), 'utf8');
    const blocks = [...page.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, block]) => block!);
    const source = blocks
      .join('\n')
      .replaceAll('http://localhost:8080', laurel.appUrl)
      .replaceAll('http://localhost:8081', laurel.adminUrl);
    await writeFile(join(folder, 'page.mts'), source);
    await writeFile(join(folder, 'page.mjs'), (await transformWithOxc(source, 'page.mts')).code);
    const settings = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      noEmit: true,
      types: ['node'],
      lib: ['es2022', 'dom'],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: settings, files: ['page.mts'] }));
    await run(process.execPath, [COMPILER, '-p', folder]).catch(({ stdout }) => expect(stdout).toBe(''));
    const env = { ...process.env, LAUREL_KEY: laurel.adminKey };
    const { stdout } = await run(process.execPath, [join(folder, 'page.mjs')], { cwd: folder, env });
    const shown = [...page.matchAll(/^(?:.*console\.log\(.*\); \/\/ (.+)|The queue prints `(.+)`\.)$/gm)].map(
      ([, comment, sentence]) => comment ?? sentence,
    );
    expect(shown.length).toBeGreaterThan(3);
    expect(stdout.trim().split('\n')).toEqual(shown);
  });
});
