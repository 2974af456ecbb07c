import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';

const TESTS = join(PACKAGE_ROOT, 'test');

test('each dialog in a test has its name', () => {
  // A message of the console has the role of a dialog too, and a dialog that closes stays in the document for a moment.
  const unnamed = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      readFileSync(join(TESTS, file), 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          /getByRole\('(?:dialog'\)|alertdialog'\)(?!\s*\.))/.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
        ),
    );
  expect(unnamed).toEqual([]);
});
