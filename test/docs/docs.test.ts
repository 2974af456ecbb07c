import type { Command } from 'commander';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allDocuments, brokenLinks } from '../../ops/docs/documents.mjs';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { STEPS } from '../../src/cli/corrections.ts';
import { createProgram } from '../../src/cli/program.ts';
import { adminOperations, applicationOperations } from '../../src/operations/index.ts';
import { codeOf } from './documents.ts';

const read = (path: string): string => readFileSync(join(PACKAGE_ROOT, path), 'utf8');
const filesUnder = (folder: string): string[] =>
  readdirSync(join(PACKAGE_ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
const found = (text: string, pattern: RegExp): string[] => [...new Set([...text.matchAll(pattern)].map((m) => m[1]!))];
const readAll = (folder: string): string =>
  filesUnder(folder)
    .filter((name) => name.endsWith('.ts'))
    .map(read)
    .join('\n');
/** Whether a path exists; a `*` matches the files of its folder. */
const exists = (path: string): boolean =>
  path.includes('*')
    ? readdirSync(join(PACKAGE_ROOT, dirname(path))).some((name) => name.startsWith(basename(path).split('*')[0]!))
    : existsSync(join(PACKAGE_ROOT, path));

const source = readAll('src') + readAll('workers');

const documents = allDocuments();
const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
const cli = readAll('src/cli');
const commands = [...found(cli, /\.command\('([a-z-]+)/g), ...Object.keys(STEPS)];
const options = found(cli, /(?:\.o|\.requiredO|new O)ption\(\s*'(?:-\w, )?(--[a-z-]+)/g);
const metrics = found(source, /name: '(laurel_[a-z_]+)'/g);
const publications = found(read('src/postgres/migrations/000100_schema.sql'), /CREATE PUBLICATION (laurel_\w+)/g);
const variables = found(
  read('src/settings/env.ts') + read('src/settings/trace-settings.ts'),
  /(?:read\.\w+\(|variables\[)'([A-Z][A-Z_]+)'/g,
);
/** Variables of tests, benches and third parties. */
const OTHER_VARIABLES = [
  'SLOW_BROWSER',
  'COMPOSE_PROJECT_NAME',
  'COMPOSE_FILE',
  'APP_IMAGE',
  'REDIS_PASSWORD',
  'POSTGRES_PASSWORD',
  'NODE_IMAGE',
  'REDIS_IMAGE',
  'POSTGRES_IMAGE',
  'PROXY_IMAGE',
  'REGISTRY_USER',
  'REGISTRY_PASSWORD',
  'NPM_TOKEN',
  'ADMIN_KEY',
  'LAUREL_KEY',
  'METRIC_ID',
  'API_URL',
  'EVENT_ID',
  'WEBHOOK_SECRET',
  'SOURCE_API_KEY',
  'ADMIN_URL',
  'SEED',
  'RUNS',
  'FUZZ_REQUESTS',
  'TEST_REDIS',
  'TEST_SPREAD',
  'ABUSE',
  'CHAOS_HOLD',
  'CHROMIUM',
  'USERS',
  'UPDATE_EXAMPLES',
  'UPDATE_CLIENTS',
  'OTEL_SERVICE_NAME',
  'OTEL_RESOURCE_ATTRIBUTES',
];
const paths = new Set([...applicationOperations, ...adminOperations].map(({ path }) => path));

/** Files and folders of the project that a document may name. It must not name what exists only at run time. */
const PROJECT_PATH =
  /(?<![\w./-])((?:src|lua|workers|bench|test|docs|ops|console|clients|examples|\.ci)\/[\w./*-]*[\w*])/g;

/** Whether a command line, `npx laurel …`, has fewer arguments than its command requires. */
function lacksArguments(line: string): boolean {
  let words = line.trim().split(/\s+/).slice(2);
  let command: Command = createProgram();
  for (let sub; (sub = command.commands.find((one) => one.name() === words[0])) !== undefined; words = words.slice(1))
    command = sub;
  const required = command.registeredArguments.filter((argument) => argument.required).length;
  return command.commands.length > 0 || words.filter((word) => !word.startsWith('-')).length < required;
}

// Somebody who follows these pages in an emergency pastes what they say.
test.each(
  documents
    .filter(({ path }) => /runbooks|troubleshooting/.test(path))
    .map((document) => [document.path, document] as const),
)('every command of %s has the arguments that it needs', (_, document) => {
  expect(found(codeOf(document), /^(npx laurel [^#\n]*)/gm).filter((line) => lacksArguments(line))).toEqual([]);
});

/** It names what used to exist. */
const HISTORY = 'CHANGELOG.md';

describe.each(documents.filter(({ path }) => path !== HISTORY).map((document) => [document.path, document] as const))(
  '%s',
  (_, document) => {
    const code = codeOf(document);

    test('every link has a target', () => {
      expect(brokenLinks(document)).toEqual([]);
    });

    test('every path of the project exists', () => {
      expect(found(code, PROJECT_PATH).filter((path) => !exists(path))).toEqual([]);
    });

    test('every command exists', () => {
      expect(found(code, /npm run (?:--silent )?([\w:-]+)/g).filter((name) => !scripts.includes(name))).toEqual([]);
      const benches = found(code, /npm run bench -- (\w+)/g).filter(
        (name) => !existsSync(join(PACKAGE_ROOT, 'bench', `${name}.ts`)),
      );
      expect(benches).toEqual([]);
      const words = found(code, /npx laurel ((?:[a-z-]+ ?){1,2})/g).flatMap((line) => line.trim().split(' '));
      const unknown = words.filter((word) => !commands.includes(word) && !word.startsWith('-'));
      expect(unknown).toEqual([]);
    });

    test('every variable exists', () => {
      const named = found(code, /(?<![\w-])([A-Z]{3,}_[A-Z_]+|SEED|RUNS|HOST)(?=[=`\s]|$)/g);
      expect(named.filter((name) => !variables.includes(name) && !OTHER_VARIABLES.includes(name))).toEqual([]);
    });

    test('every metric and publication exists', () => {
      const isKnown = (name: string): boolean => source.includes(`'${name}'`) || publications.includes(name);
      expect(found(code, /\b(laurel_[a-z_]+)\b/g).filter((name) => !isKnown(name))).toEqual([]);
    });

    test('every operation exists', () => {
      const named = found(code, /(?:GET|POST|PUT|PATCH|DELETE) (\/v1\/[\w/{}-]*)/g);
      expect(named.filter((path) => !paths.has(path) && path !== '/v1/openapi')).toEqual([]);
    });
  },
);

test('docs/analytics.md lists exactly the operations of analytics', () => {
  const listed = read('docs/analytics.md')
    .split('\n')
    .flatMap((line) => /^\| (`\/v1\/analytics.*?) +\|/.exec(line)?.[1] ?? [])
    .flatMap((cell) => {
      const [path, ...others] = found(cell, /`([^`]+)`/g);
      return [path!, ...others.map((other) => other.replace('…', path!))];
    });
  const actual = [...paths].filter((path) => path.startsWith('/v1/analytics/'));
  expect(listed.toSorted()).toEqual(actual.toSorted());
});

test('docs/operating/variables.md has every variable that the code reads', () => {
  const text = read('docs/operating/variables.md');
  expect(variables.length).toBeGreaterThan(10);
  expect(variables.filter((name) => !text.includes(`| \`${name}\``))).toEqual([]);
});

test.each([
  ['metric', metrics, 20],
  ['option of the command line', options, 20],
])('a document mentions every %s', (_, names, atLeast) => {
  const code = documents.map(codeOf).join('\n');
  expect(names.length).toBeGreaterThan(atLeast);
  expect(names.filter((name) => !new RegExp(`${name}(?![\\w-])`).test(code))).toEqual([]);
});

test('the README links to every page of docs, directly or indirectly', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    const folder = page.split('/').slice(0, -1).join('/');
    for (const target of found(read(page), /\]\(([^)#\s:]+\.md)(?:#[^)]*)?\)/g)) reached.add(join(folder, target));
  }
  expect(documents.filter(({ path }) => path.startsWith('docs') && !reached.has(path))).toEqual([]);
});

test('the README fits on a screen and a half', () => {
  expect(read('README.md').split('\n').length).toBeLessThan(90);
});

test('no page of docs has more than 300 lines', () => {
  const pages = documents.filter(({ path }) => path.startsWith('docs/'));
  expect(pages.length).toBeGreaterThan(50);
  expect(pages.filter(({ text }) => text.trimEnd().split('\n').length > 300).map(({ path }) => path)).toEqual([]);
});

test('pictures are small', () => {
  const images = readdirSync(join(PACKAGE_ROOT, 'docs/images'));
  expect(images).toContain('console.png');
  for (const image of images) expect(statSync(join(PACKAGE_ROOT, 'docs/images', image)).size).toBeLessThan(150_000);
});
