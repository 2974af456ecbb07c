import { expect, test } from 'vitest';
import { sharedBuffersMiB } from '../../src/local/postgres-server.ts';

const GIB = 2 ** 30;

test.each([
  [GIB / 2, 128],
  [GIB, 128],
  [2 * GIB, 256],
  [4 * GIB, 512],
  [64 * GIB, 512],
])('with %i bytes of memory the built-in Postgres caches %i MiB of pages', (memory, expected) => {
  expect(sharedBuffersMiB(memory)).toBe(expected);
});
