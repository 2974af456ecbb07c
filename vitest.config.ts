import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { build } from './src/cli/build.mjs';

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
if (!Number.isInteger(seed)) throw new Error(`SEED must be a whole number, not "${process.env['SEED']}".`);
process.env['SEED'] = String(seed);

/** The files that take longest, longest first. */
const LONGEST = [
  'test/processes/starting.test.ts',
  'test/workers/jobs-kill.test.ts',
  'test/engine/achievements/quests.test.ts',
  'test/chaos/chaos.test.ts',
  'test/workers/schedule-kill.test.ts',
  'test/engine/imports/imported-again.test.ts',
  'test/engine/schedule/one-failure.test.ts',
  'test/console/screens.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/cli/shadow.test.ts',
  'test/engine/cluster/reshard.test.ts',
  'test/traces/traces.test.ts',
  'test/engine/notifications/emails.test.ts',
  'test/console/analytics.test.ts',
  'test/console/forms.test.ts',
  'test/console/messages.test.ts',
  'test/workers/merge-across-kill.test.ts',
  'test/workers/midnight-kill.test.ts',
  'test/abuse/costliest-requests.test.ts',
  'test/model/quest-corrections.test.ts',
  'test/main.test.ts',
].map((path) => `${import.meta.dirname}/${path}`);
const missing = LONGEST.filter((path) => !existsSync(path));
if (missing.length > 0) throw new Error(`There is no test file ${missing.join(', ')}.`);

/**
 * Starts these before the other files of their project: one of them that began last would keep a single worker busy at the end.
 * Without the durations of an earlier run, which a fresh checkout does not have, vitest sorts by size.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => LONGEST.indexOf(moduleId) + 1 || LONGEST.length + 1;
    // Workers are restarted between two projects.
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b)),
    );
  }
}

/**
 * Makes tests import `dist` instead of `src` and `workers`, after compiling it if it is not current. Node loads it as it is. Sources
 * would be transformed, and would read each import from an object at every use. Tests import the sources if they do not compile.
 */
const isBuilt = build();
const fromBuild: Plugin = {
  name: 'from-build',
  enforce: 'pre',
  // A transformed module that imports sources must not be kept for runs with a build.
  configureVitest: ({ experimental_defineCacheKeyGenerator: defineKey }) => defineKey(() => String(isBuilt)),
  resolveId(source, importer) {
    if (!isBuilt || importer === undefined || !/^\.{1,2}\/.*\.ts$/.test(source)) return null;
    const path = relative(import.meta.dirname, join(dirname(importer), source));
    return /^(?:src|workers)\//.test(path) ? join(import.meta.dirname, 'dist', path.replace(/ts$/, 'js')) : null;
  },
};

const settings = {
  setupFiles: ['test/stack/seed.ts', 'test/stack/leaks.ts'],
  env: { SEED: String(seed) },
  pool: 'forks',
  server: { deps: { external: [/\/dist\/(?:src|workers)\//] } },
  // A worker keeps the modules for its next file: loading them was 1 s of CPU of every file that starts a Laurel.
  isolate: false,
  // A Redis that was given to us cannot be used by two test files at once. Files wait for servers longer than they compute: three
  // at a time left a third of two cores idle, four about a tenth.
  maxWorkers: process.env['REDIS_URL'] ? 1 : Math.max(6, availableParallelism()),
  sequence: { seed },
  testTimeout: 300_000,
  // What is waited for comes in milliseconds on a quiet machine; others may keep it busy.
  // A poll often asks Laurel or Postgres, which takes 1 to 4 ms of CPU.
  expect: { poll: { timeout: 120_000, interval: 100 } },
  hookTimeout: 300_000,
  teardownTimeout: 30_000,
} as const satisfies TestProjectInlineConfiguration['test'];

export default defineConfig({
  plugins: [fromBuild],
  test: {
    ...settings,
    sequence: { ...settings.sequence, sequencer: LongestFirst },
    // The two projects transform the same files: the second one, and later runs, find them in node_modules.
    experimental: { fsModuleCache: true },
    globalSetup: 'test/stack/global-setup.ts',
    projects: [
      { plugins: [fromBuild], test: { ...settings, name: 'one shard', include: ['test/**/*.test.ts'] } },
      // Clients must see no difference between a tenant on one shard and one spread over several.
      {
        plugins: [fromBuild],
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
