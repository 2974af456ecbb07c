import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

// What is packed is touched by the names that src/packed declares (test/lua/names.test.ts: the same for Lua). The compiler
// sees the letters and positions in their place, so it takes `record.u` for `record[RECORD.userId]`. Here it is shown the
// sources with other letters and positions: what is written with a name still compiles, and nothing else.

/** Parts of the sources that touch what is packed, with all that they import. */
const PARTS = ['src/engine', 'src/postgres', 'src/redis', 'workers'];

/** Each of these breaks the rule, and is to be found. */
const BROKEN: Record<string, string> = {
  letter: 'export const a = (record: HappenedRecord) => record.u;',
  taken_apart: 'export const b = ({ u }: HappenedRecord) => u;',
  code: "export const c = (record: HappenedRecord) => record[RECORD.kind] === 'e';",
  of_another: 'export const d = (record: HappenedRecord) => record[RECORD.progress];',
  position: 'export const e = (total: PackedTotal) => total[0];',
  made: 'export const f: PackedTotal = [1, 2];',
  made_by_letters: "export const g: GoneRecord = { k: 'g', i: '', u: '', at: 0 };",
};
const IMPORTS = `
import type { GoneRecord, HappenedRecord } from '../packed/record.ts';
import { RECORD } from '../packed/record-fields.ts';
import type { PackedTotal } from '../packed/state.ts';
export { type GoneRecord, type HappenedRecord, type PackedTotal, RECORD };
`;

/** Declarations with letters that nobody writes, and positions that no array has. */
function renamed(text: string): string {
  let shape = '';
  let position = 1000;
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*(?:\/\*\*|\*|\/\/)/.test(line)) return line;
      shape = /^export const (\w+)/.exec(line)?.[1] ?? shape;
      if (shape === 'kindField') return line.replace(/'\w+'/, "'kindField'");
      return line.replace(/(\w+): ('\w+'|\d+)(?=[, ])/g, (_, name: string, value: string) =>
        value.startsWith("'") ? `${name}: '${shape}.${name}'` : `${name}: ${(position += 1)}`,
      );
    })
    .join('\n');
}

let folder: string;
let findings: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'laurel-names-'));
  const at = (...path: string[]): string => join(folder, ...path);
  for (const part of ['src', 'workers', 'tsconfig.json', 'package.json'])
    await cp(join(PACKAGE_ROOT, part), at(part), { recursive: true });
  await symlink(join(PACKAGE_ROOT, 'node_modules'), at('node_modules'));
  for (const file of (await readdir(at('src/packed'))).filter((name) => name.endsWith('-fields.ts')))
    await writeFile(at('src/packed', file), renamed(await readFile(at('src/packed', file), 'utf8')));
  await mkdir(at('src/engine/broken'));
  for (const [name, text] of Object.entries(BROKEN))
    await writeFile(at('src/engine/broken', `${name}.ts`), IMPORTS.replaceAll("'../", "'../../") + text);
  await writeFile(at('tsconfig.names.json'), JSON.stringify({ extends: './tsconfig.json', include: PARTS }));
  const tsc = join(PACKAGE_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '--noEmit', '--pretty', 'false', '-p', at('tsconfig.names.json')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string }) => error,
  );
  findings = stdout.split('\n').filter((line) => /^\S+\(\d+,\d+\): error/.test(line));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const inBroken = (line: string): boolean => line.startsWith('src/engine/broken/');
/** The makers of arrays know the order of positions. */
const inPacked = (line: string): boolean => line.startsWith('src/packed/');

test('the sources touch what is packed by declared names only', () => {
  expect(findings.filter((line) => !inBroken(line) && !inPacked(line))).toEqual([]);
});

/** What the compiler cannot know: letters in what is not typed as packed. */
const UNTYPED = /\b[a-z]{1,2}\?: unknown|[!=]== '[a-z]{1,2}'|(?<!_object)\('[a-z]{1,2}'[,)]|[[,] ?'[trus]',/;

test('nor do they by letters where types say nothing', async () => {
  const lines: string[] = [];
  for (const part of PARTS)
    for (const name of await readdir(join(PACKAGE_ROOT, part), { recursive: true }))
      if (name.endsWith('.ts'))
        for (const line of (await readFile(join(PACKAGE_ROOT, part, name), 'utf8')).split('\n'))
          if (UNTYPED.test(line)) lines.push(`${part}/${name}: ${line.trim()}`);
  expect(lines).toEqual([]);
  expect(
    ['const { k } = value as { k?: unknown };', "name === 'r'", "counts.set('d', 1)"].every((line) =>
      UNTYPED.test(line),
    ),
  ).toBe(true);
});

test.each(Object.keys(BROKEN))('what is broken is found: %s', (name) => {
  expect(findings.filter((line) => line.startsWith(`src/engine/broken/${name}.ts`))).not.toEqual([]);
});
