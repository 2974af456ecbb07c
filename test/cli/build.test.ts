import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

// `npm run build` in a small package of the test, with this package's compiler.
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'laurel-test-build-'));
  for (const folder of ['src/cli', 'workers', 'node_modules']) await mkdir(join(root, folder), { recursive: true });
  for (const name of ['tsconfig.json', 'tsconfig.build.json', 'package.json', 'package-lock.json', 'src/cli/build.mjs'])
    await cp(join(PACKAGE_ROOT, name), join(root, name));
  for (const name of ['typescript', '@typescript', '@types', 'undici-types'])
    await symlink(join(PACKAGE_ROOT, 'node_modules', name), join(root, 'node_modules', name));
  await writeFile(join(root, 'src/main.ts'), "import { two } from './two.ts';\nexport const one = two - 1;\n");
  await writeFile(join(root, 'src/two.ts'), 'export const two: number = 2;\n');
  await writeFile(join(root, 'workers/main.ts'), 'export const worker = 1;\n');
});
afterEach(() => rm(root, { recursive: true }));

/** Whether a build compiled: it removed an old marker from the output. `null`: it failed. */
async function compiles(): Promise<boolean | null> {
  const mark = new Date(1_000_000_000_000);
  const built = join(root, 'dist/src/main.js');
  await utimes(built, mark, mark).catch(() => undefined);
  const { status } = spawnSync(process.execPath, ['src/cli/build.mjs'], { cwd: root });
  return status === 0 ? (await stat(built)).mtimeMs !== mark.getTime() : null;
}

test('compiles only what changed', async () => {
  expect(await compiles()).toBe(true);
  expect(await compiles()).toBe(false);
  // A checkout that changes only times.
  await utimes(join(root, 'src/two.ts'), new Date(), new Date());
  expect(await compiles()).toBe(false);

  const changes: [string, () => Promise<unknown>][] = [
    [
      'a changed source, of the same length',
      () => writeFile(join(root, 'src/two.ts'), 'export const two: number = 3;\n'),
    ],
    ['a new source', () => writeFile(join(root, 'src/three.ts'), 'export const three = 3;\n')],
    ['a deleted source', () => unlink(join(root, 'src/three.ts'))],
    ['other packages', async () => writeFile(join(root, 'package-lock.json'), '{}')],
    ['a file of the build that is missing', () => unlink(join(root, 'dist/workers/main.js'))],
    ['one that is cut short', () => writeFile(join(root, 'dist/workers/main.js'), '')],
    ['a build that was cut off', () => unlink(join(root, 'dist/.stamp.json'))],
    ['a stamp that is cut off', () => writeFile(join(root, 'dist/.stamp.json'), '{"digest":')],
  ];
  for (const [what, change] of changes) {
    await change();
    expect([what, await compiles()]).toEqual([what, true]);
    expect([what, await compiles()]).toEqual([what, false]);
  }
  await expect(stat(join(root, 'dist/src/three.js'))).rejects.toThrow('ENOENT');
  expect(await readFile(join(root, 'dist/src/two.js'), 'utf8')).toContain('3');
});

test('never uses a failed compilation; without a compiler it uses the existing build', async () => {
  expect(await compiles()).toBe(true);
  await writeFile(join(root, 'src/two.ts'), "export const two: number = 'two';\n");
  expect(await compiles()).toBe(null);
  expect(await compiles()).toBe(null);
  await writeFile(join(root, 'src/two.ts'), 'export const two: number = 2;\n');
  expect(await compiles()).toBe(true);
  await unlink(join(root, 'node_modules/typescript'));
  await writeFile(join(root, 'src/two.ts'), 'export const two: number = 4;\n');
  expect(await compiles()).toBe(false);
});

describe('the console', () => {
  const builder = (text: string): Promise<void> =>
    writeFile(
      join(root, 'console/build.mjs'),
      `import { mkdirSync, writeFileSync } from 'node:fs';\nmkdirSync('dist/console', { recursive: true });\n` +
        `writeFileSync('dist/console/index.html', '${text}' + Date.now());\n${text === 'fails' ? 'process.exit(1);' : ''}\n`,
    );
  const built = (): Promise<string | null> => readFile(join(root, 'dist/console/index.html'), 'utf8').catch(() => null);
  const build = () => spawnSync(process.execPath, ['src/cli/build.mjs'], { cwd: root, encoding: 'utf8' });

  beforeEach(async () => {
    await mkdir(join(root, 'console/generated'), { recursive: true });
    await mkdir(join(root, 'node_modules/@tailwindcss/vite'), { recursive: true });
    await builder('one');
  });

  test('is rebuilt when its own sources change, and kept when the server is compiled', async () => {
    expect(build().status).toBe(0);
    const first = await built();
    expect(first).toMatch(/^one/);
    await writeFile(join(root, 'src/two.ts'), 'export const two: number = 3;\n');
    await writeFile(join(root, 'console/generated/admin.ts'), 'export type Changed = 1;\n');
    expect(build().status).toBe(0);
    expect(await built()).toBe(first);
    await builder('two');
    expect(build().status).toBe(0);
    expect(await built()).toMatch(/^two/);
  });

  test('is left out if it cannot be built, and the server starts without it', async () => {
    expect(build().status).toBe(0);
    await builder('fails');
    const { status, stderr } = build();
    expect([status, stderr]).toEqual([0, expect.stringContaining('The console is not built')]);
    expect(await built()).toBeNull();
    expect(await readFile(join(root, 'dist/src/main.js'), 'utf8')).toContain('one');
  });
});

test('refuses a release of Node that is not supported, before it compiles', async () => {
  const text = await readFile(join(root, 'package.json'), 'utf8');
  const [major = 0] = process.versions.node.split('.').map(Number);
  for (const [engines, needed] of [
    [`>=${major + 1}.2 <99`, `${major + 1}.2 or newer, below 99`],
    [`>=${major}.999 <99`, `${major}.999 or newer, below 99`],
    [`>=18.0 <${major}`, `18.0 or newer, below ${major}`],
  ]) {
    await writeFile(join(root, 'package.json'), text.replace(/"node": ".*"/, `"node": "${engines}"`));
    const { status, stderr } = spawnSync(process.execPath, ['src/cli/build.mjs'], { cwd: root, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain(`Laurel needs Node ${needed}. This is Node ${process.versions.node}.\n`);
    expect(stderr).not.toContain('Compiling');
  }
});
