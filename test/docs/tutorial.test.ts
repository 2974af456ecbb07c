import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO } from '../../src/catalog/demo.ts';
import { freePort } from '../../src/local/free-ports.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { hasProgram } from '../stack/has-program.ts';

// Runs the tutorial's snippets like a reader: the commands in one shell, in their order, each program as a process.
const run = promisify(execFile);
const CLIENT = join(PACKAGE_ROOT, 'clients/typescript/src/index.ts');
let laurel: TestLaurel;
let folder: string;
let page: string;
let environment: NodeJS.ProcessEnv;
beforeAll(async () => {
  laurel = await startLaurel({ configuration: DEMO, workers: true, webhookAllowPrivate: true });
  folder = await mkdtemp(join(tmpdir(), 'laurel-tutorial-'));
  page = await readFile(join(PACKAGE_ROOT, 'docs/tutorial.md'), 'utf8');
  environment = { ...process.env, LAUREL_KEY: laurel.adminKey, API_URL: `${laurel.appUrl}/v1` };
});
afterAll(async () => {
  await laurel.close();
  await rm(folder, { recursive: true });
});

const EMPTY = { attributes: [], metrics: [], achievements: [], pointsSystems: [], leaderboards: [] };
const HTTP_ASSEMBLY = '-r:System.Net.Http.dll';
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, block]) => block!);

const documentsOf = (recipes: string): Record<string, unknown>[] =>
  [...recipes.matchAll(/^```json\n([^]*?)^```/gm)].map(([, block]) => JSON.parse(block!) as Record<string, unknown>);

/** The file of a program that Node runs: the snippets, whose types are correct, and the client from the sources. */
async function compiled(snippets: string[], name: string): Promise<string> {
  const entry = join(folder, `${name}.ts`);
  const source = snippets
    .join('\n')
    .replaceAll('http://localhost:8080', laurel.appUrl)
    .replaceAll('http://localhost:8081', laurel.adminUrl)
    .replaceAll(/'(?:\.\/clients\/.*|laurel-client)';/g, `'${CLIENT}';`);
  await writeFile(entry, source);
  const compilerOptions = {
    strict: true,
    module: 'preserve',
    target: 'es2022',
    noEmit: true,
    allowImportingTsExtensions: true,
    typeRoots: [join(PACKAGE_ROOT, 'node_modules/@types')],
    types: ['node'],
    lib: ['es2022', 'dom', 'dom.asynciterable'],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [entry] }));
  const compiler = join(PACKAGE_ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [compiler, '-p', folder]).catch(({ stdout }) => {
    throw new Error(stdout);
  });
  const outDir = join(folder, name);
  await build({ root: folder, configFile: false, logLevel: 'error', build: { ssr: entry, outDir } });
  return join(outDir, `${name}.mjs`);
}

test('the shell: event, achievement, leaderboard, webhook', async () => {
  const port = String(await freePort());
  const script = blocks('sh')
    .join('\n')
    .replaceAll('http://localhost:8080', laurel.appUrl)
    .replaceAll('http://localhost:8081', laurel.adminUrl)
    .replaceAll('127.0.0.1:4000', `127.0.0.1:${port}`)
    .replace('examples/', `${PACKAGE_ROOT}/examples/`)
    // A busy machine takes longer than two seconds: repeats until the message is there, but not for ever.
    .replace(
      'sleep 2',
      'for n in $(seq 600); do [ $(grep -c achievement received.jsonl) -ge 3 ] && break; sleep 0.2; done',
    );
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: { ...environment, PORT: port },
  });
  expect(stdout).not.toContain('"error"');
  expect(stdout).toContain('"total":12');
  expect(stdout).toMatch(/"key":"ten-laps"/);
  expect(stdout).toMatch(/"rankings":\[\{"userId":"ann"/);
  const messages = [...stdout.matchAll(/\{"outcome".*?\}/g)].map(([line]) => JSON.parse(line));
  expect(messages.map(({ outcome, type, userId }) => `${outcome} ${type} ${userId}`).toSorted()).toEqual([
    'new achievement.completed ann',
    'new achievement.completed ann',
    'new achievement.completed bob',
  ]);
  const achievements = await laurel.app.get('/v1/users/ann/achievements');
  expect(achievements.body.map(({ key }: { key: string }) => key)).toContain('ten-laps');
});

test('the shell stops at a refused webhook and shows the reason', async () => {
  const [definitions, webhook] = [blocks('sh')[0]!.split('\nMETRIC_ID')[0]!, blocks('sh')[1]!];
  const script = `${definitions}\n${webhook}\necho the next command`
    .replaceAll('http://localhost:8081', laurel.adminUrl)
    .replace('http://127.0.0.1:4000/', 'ftp://127.0.0.1/');
  const { stdout, stderr } = await run('bash', ['-c', script], { cwd: folder, env: environment });
  expect(stderr).toMatch(/^Refused: .*"created":\[\],"issues":\[.*url/);
  expect(stdout).toBe('the next command\n');
});

test('Laurel accepts the configuration of each recipe', async () => {
  const recipes = await readFile(join(PACKAGE_ROOT, 'docs/recipes.md'), 'utf8');
  const documents = documentsOf(recipes);
  expect(documents.length).toBeGreaterThan(3);
  for (const document of documents) {
    const { status, body } = await laurel.admin.post('/v1/configuration/diff?demo=remove', { ...EMPTY, ...document });
    expect([status, body.error]).toEqual([200, undefined]);
    expect(body.changes.map(({ action }: { action: string }) => action)).toContain('create');
  }
});

describe('programs', () => {
  test('JavaScript', async () => {
    const file = join(folder, 'laps.mjs');
    await writeFile(file, blocks('js')[0]!);
    const { stdout } = await run(process.execPath, [file], { env: environment });
    expect(stdout).toMatch(/^Cleo has 11 laps \[.*'Ten laps' \]$/m);
    expect(stdout).toMatch(/^\d\. cleo: 11$/m);
  });

  test('TypeScript', async () => {
    const file = await compiled(blocks('ts'), 'laps');
    const { stdout } = await run(process.execPath, [file], { env: environment });
    expect(stdout).toMatch(/^Finn has 11 laps \[.*'Ten laps' \]$/m);
    expect(stdout).toMatch(/^\d\. finn: 11$/m);
  });

  test('Python', async (context) => {
    context.skip(!(await hasProgram('python3')), 'there is no python3');
    const file = join(folder, 'laps.py');
    await writeFile(file, blocks('python')[0]!);
    const { stdout } = await run('python3', [file], { env: environment });
    expect(stdout).toMatch(/^Dan has 10 laps \[.*'Ten laps'\]$/m);
    expect(stdout).toMatch(/^\d dan 10$/m);
  });

  test('C#', async (context) => {
    const file = join(folder, 'Laps.cs');
    const packages = /apt-get install (mono-mcs [^`]*)/.exec(page)![1];
    const assembly = await writeFile(file, 'class Empty { static void Main() {} }')
      .then(() => run('mcs', [HTTP_ASSEMBLY, file]))
      .catch(() => null);
    context.skip(assembly === null, `there is no Mono with System.Net.Http (Debian: apt-get install ${packages})`);
    await writeFile(file, blocks('csharp')[0]!);
    await run('mcs', [HTTP_ASSEMBLY, file]);
    const { stdout } = await run('mono', [join(folder, 'Laps.exe')], { env: environment });
    expect(stdout).toMatch(/"total":12,/);
    expect(stdout).toMatch(/"userId":"eve"/);
  });
});

test('the code of the recipes runs with the configuration of all of them', async () => {
  const recipes = await readFile(join(PACKAGE_ROOT, 'docs/recipes.md'), 'utf8');
  const merged: Record<string, unknown> = { ...EMPTY };
  for (const document of documentsOf(recipes))
    for (const [name, value] of Object.entries(document))
      merged[name] = Array.isArray(value) ? [...(merged[name] as unknown[]), ...value] : value;
  expect((await laurel.admin.put('/v1/configuration?demo=remove', merged)).status).toBe(200);

  const snippets = [...recipes.matchAll(/^( *)```ts\n([^]*?)^ *```/gm)].map(([, indent, block]) =>
    block!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  const file = await compiled(snippets, 'recipes');
  const { stdout } = await run(process.execPath, [file], { env: environment });
  const shown = [...snippets.join('').matchAll(/^console\.log\(.*\); \/\/ (.+)$/gm)].map(([, comment]) => comment);
  expect(shown.length).toBeGreaterThan(3);
  expect(stdout.trim().split('\n')).toEqual(shown);
});
