import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres } from '../../src/local/postgres-server.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(DATA_FOLDER, 'laurel-test-recovery-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(url: string, statements: readonly string[]): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const statement of statements) rows = (await client.query<object>(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

test('waits longer for a recovering Postgres than for one that shows no sign of life', async () => {
  const options = { directory: join(folder, 'postgres'), password: 'test', temporary: false, silenceMs: 3_000 };
  const first = await startPostgres({ ...options, silenceMs: 60_000 });
  // The next start recovers, and waits a second for each file of an archive that has none, 5 s in all; it refuses
  // connections meanwhile.
  await run(first.url, [
    'CREATE TABLE kept AS SELECT 7 AS n',
    `ALTER SYSTEM SET restore_command = 'sleep 1; false'`,
    'ALTER SYSTEM SET hot_standby = off',
    `COPY (SELECT) TO '${join(options.directory, 'recovery.signal')}'`,
  ]);
  await first.stop();

  const startedMs = performance.now();
  const second = await startPostgres(options);
  try {
    expect(performance.now() - startedMs).toBeGreaterThan(options.silenceMs);
    expect(await run(second.url, ['SELECT n FROM kept'])).toEqual([{ n: 7 }]);
  } finally {
    await second.stop();
  }
});
