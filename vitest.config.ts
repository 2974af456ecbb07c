import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(seed)) throw new Error(`SEED must be a whole number, not "${process.env['SEED']}".`);
process.env['SEED'] = String(seed);

const settings = {
  setupFiles: ['test/stack/seed.ts', 'test/stack/leaks.ts'],
  env: { SEED: String(seed) },
  pool: 'forks',
  // A worker keeps the modules for its next file: loading them was 1 s of CPU of every file that starts a Laurel.
  isolate: false,
  // A Redis that was given to us cannot be used by two test files at once. Files wait for servers longer than they compute: three
  // at a time left a third of two cores idle, four about a tenth.
  maxWorkers: process.env['REDIS_URL'] ? 1 : Math.max(6, availableParallelism()),
  sequence: { seed },
  testTimeout: 300_000,
  // What is waited for comes in milliseconds on a quiet machine; others may keep it busy.
  expect: { poll: { timeout: 120_000 } },
  hookTimeout: 300_000,
  teardownTimeout: 30_000,
} as const satisfies TestProjectInlineConfiguration['test'];

export default defineConfig({
  test: {
    ...settings,
    globalSetup: 'test/stack/global-setup.ts',
    projects: [
      { test: { ...settings, name: 'one shard', include: ['test/**/*.test.ts'] } },
      // Clients must see no difference between a tenant on one shard and one spread over several.
      {
        test: {
          ...settings,
          name: 'four shards',
          include: ['test/contract/**/*.test.ts', 'test/operations/application/**/*.test.ts'],
          env: { ...settings.env, TEST_SPREAD: '4' },
        },
      },
    ],
  },
});
