import type { TestProject } from 'vitest/node';
import { requireRedisProgram } from '../../src/local/redis-server.ts';
import { removeOutdatedCopy } from './in-few-files.ts';
import { sharedPostgres } from './shared-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the Postgres that all test files share, see `shared-postgres.ts`. */
    postgresAt: string;
    /** The Redis program, installed if necessary; or why there is none, for the first test that needs it. */
    redisProgram: { path: string } | { problem: string };
  }
}

/**
 * Finds what the tests need and starts nothing: servers start when a test file needs them, and end with the run in any case.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  console.log(`Seed ${process.env['SEED']}; the same again: SEED=${process.env['SEED']} npm test`);
  await removeOutdatedCopy();
  project.provide('redisProgram', await redisProgram());
  const postgres = await sharedPostgres(process.env['DATABASE_URL']);
  project.provide('postgresAt', postgres.address);
  return () => postgres.close();
}

async function redisProgram(): Promise<{ path: string } | { problem: string }> {
  if (process.env['REDIS_URL']) return { problem: 'REDIS_URL is set.' };
  try {
    return { path: await requireRedisProgram((line) => console.log(line)) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}
