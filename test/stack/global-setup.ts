import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/local/postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's URL of the Postgres that all test files share. */
    postgresUrl: string;
  }
}

/** One Postgres for the whole run: `DATABASE_URL` if set, else a temporary one, which ends with the run however that ends. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  console.log(`Seed ${process.env['SEED']}; the same again: SEED=${process.env['SEED']} npm test`);
  const given = process.env['DATABASE_URL'];
  if (given !== undefined && given !== '') {
    project.provide('postgresUrl', given);
    return undefined;
  }
  const directory = join(tmpdir(), `laurel-test-postgres-${randomUUID()}`);
  const server = await startPostgres({ directory, password: 'test', temporary: true });
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}
