import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { LONGEST } from './longest-first.ts';

test('the files that are begun with are there, and are named once', () => {
  expect(LONGEST.filter((file) => !existsSync(join(PACKAGE_ROOT, file)))).toEqual([]);
  expect(new Set(LONGEST).size).toBe(LONGEST.length);
});
