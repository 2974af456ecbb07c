import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { version } from '../../src/version.ts';

// The release workflow cannot run here. These tests check the script that it calls, and that what it names exists.

const run = promisify(execFile);
const FILES = [
  'package.json',
  'clients/typescript/package.json',
  'docker-compose.yml',
  'docker-compose.cluster.yml',
  'ops/kubernetes/base/frontends.yaml',
  'ops/kubernetes/base/workers.yaml',
  'ops/kubernetes/base/migrate.yaml',
  'CHANGELOG.md',
];
const folder = mkdtempSync(join(tmpdir(), 'laurel-release-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Changes a file of the copy. */
function edit(path: string, from: string | RegExp, to: string): void {
  const text = readFileSync(join(folder, path), 'utf8');
  expect(text).toMatch(from);
  writeFileSync(join(folder, path), text.replace(from, to));
}
/** The repository's own heading, before or after its release. */
const HEADING = /^## \d.*$/m;

beforeEach(() => {
  for (const path of FILES) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(PACKAGE_ROOT, path), join(folder, path));
  }
  edit('CHANGELOG.md', HEADING, `## ${version()} (2026-12-01)`);
});

async function check(tag: string): Promise<{ notes: string; problems: string }> {
  const script = join(PACKAGE_ROOT, 'ops/release-check.mjs');
  const ended = await run(process.execPath, [script, tag], { cwd: folder }).catch(
    (error: { code: number; stdout: string; stderr: string }) => {
      expect([error.code, error.stdout]).toEqual([1, '']);
      return error;
    },
  );
  return { notes: ended.stdout, problems: ended.stderr };
}

test('a release whose files agree passes, and its notes are its part of the changelog', async () => {
  edit('CHANGELOG.md', /^## /m, `## ${version()} (2026-12-01)\n\n- A change.\n\n## `);
  expect(await check(`v${version()}`)).toEqual({ notes: '- A change.\n', problems: '' });
});

test('every file with another version is named', async () => {
  const { problems } = await check('v9.9.9');
  for (const path of FILES) expect(problems).toContain(path);
  expect((await check('1.2')).problems).toBe('"1.2" is not a tag such as v1.2.3 or v1.2.3-rc.1.\n');
});

test('the changelog must have a date and a change; that of a candidate needs no date', async () => {
  edit('CHANGELOG.md', HEADING, `## ${version()} (unreleased)`);
  expect((await check(`v${version()}`)).problems).toContain('(unreleased)", not with');
  for (const path of FILES.filter((one) => one !== 'CHANGELOG.md'))
    edit(path, new RegExp(`(laurel:|"version": ")${version()}`), `$1${version()}-rc.1`);
  expect((await check(`v${version()}-rc.1`)).problems).toBe('');
  writeFileSync(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## ${version()} (unreleased)\n\nNothing.\n`);
  expect((await check(`v${version()}-rc.1`)).problems).toContain('lists no change');
});

interface Step {
  uses?: string;
  run?: string;
}
const workflow = parse(readFileSync(join(PACKAGE_ROOT, '.github/workflows/release.yml'), 'utf8')) as {
  on: { push: { tags: string[] } };
  jobs: Record<string, { needs?: string; uses?: string; permissions?: Record<string, string>; steps?: Step[] }>;
};
const commands = Object.values(workflow.jobs).flatMap(({ steps = [] }) => steps.flatMap((step) => step.run ?? []));

test('nothing is published before the check and the tests, and only the last job may write', () => {
  const order = Object.entries(workflow.jobs).map(([name, { needs }]) => [name, needs]);
  expect(order).toEqual([
    ['check', undefined],
    ['ci', 'check'],
    ['image', 'ci'],
    ['tags', 'image'],
    ['publish', 'tags'],
  ]);
  const writers = Object.entries(workflow.jobs).filter(([, { permissions }]) => permissions !== undefined);
  expect(writers.map(([name, { permissions }]) => [name, permissions])).toEqual([
    ['publish', { contents: 'write', 'id-token': 'write' }],
  ]);
  expect(workflow.jobs['ci']!.uses).toBe('./.github/workflows/ci.yml');
  const ci = parse(readFileSync(join(PACKAGE_ROOT, '.github/workflows/ci.yml'), 'utf8')) as { on: object };
  expect(ci.on).toHaveProperty('workflow_call');
});

test('images have both attestations, and the commands are valid for the shell', async () => {
  expect(commands.find((one) => one.includes('buildx build'))).toMatch(/--sbom=true --provenance=mode=max --push/);
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) {
    const running = run('bash', ['-n']);
    running.child.stdin!.end(command);
    expect((await running).stderr).toBe('');
    // What a tag or a branch is called never becomes part of a command.
    expect(command).not.toContain('${{');
  }
});
