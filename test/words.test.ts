import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../src/package-root.ts';

/** Ways of saying things that a reader from elsewhere stumbles over, with what to write instead. */
const DIALECT: readonly [RegExp, string][] = [
  [/\b(?:told|tells?)\b/, 'report, record, say, answer, publish'],
  [/(?<!for \(const [\w{} ,[\]]+ )\bof before\b/, 'previous, earlier'],
  [/\b(?:is|are) at it\b/, 'works, runs'],
  [/\bstands? in (?:Postgres|Redis|the outbox)\b/, 'is in, holds'],
  [/\banew\b/, 'again'],
];

const files = ['src', 'workers', 'lua'].flatMap((folder) =>
  readdirSync(join(PACKAGE_ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:ts|lua)$/.test(name))
    .map((name) => join(folder, name)),
);

test('code and comments are in plain words', () => {
  const found = files.flatMap((file) =>
    readFileSync(join(PACKAGE_ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        DIALECT.filter(([words]) => words.test(line)).map(
          ([, instead]) => `${file}:${index + 1} (${instead}): ${line.trim()}`,
        ),
      ),
  );
  expect(found).toEqual([]);
});
