import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMigrated, migrate, MigrationError } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let pool: Pool;

beforeEach(async () => {
  stack = await testStack({ redis: false });
  pool = createPool(stack.databaseUrl, { max: 6 });
});

afterEach(async () => {
  await pool.end();
  await stack.close();
});

const applied = async (): Promise<string[]> =>
  (await pool.query('SELECT file FROM laurel_migrations ORDER BY no')).rows.map(({ file }) => file);

test('concurrent runs apply every migration once', async () => {
  expect(await isMigrated(pool)).toBe(false);
  await Promise.all(Array.from({ length: 5 }, () => migrate(pool)));
  const files = await readdir(new URL('../../src/postgres/migrations/', import.meta.url));
  expect(await applied()).toEqual(files.toSorted());
  expect(await isMigrated(pool)).toBe(true);
});

describe('with files of another version', () => {
  let folder: string;
  const write = (file: string, sql: string): Promise<void> => writeFile(join(folder, file), sql);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'laurel-migrations-'));
    await write('000001_one.sql', 'CREATE TABLE one (n int)');
    await migrate(pool, folder);
  });

  afterEach(() => rm(folder, { recursive: true }));

  test('applies a file once, also one that is added late', async () => {
    await write('000003_three.sql', 'CREATE TABLE three (n int)');
    expect(await migrate(pool, folder)).toEqual(['000003_three.sql']);
    expect(await migrate(pool, folder)).toEqual([]);
    await write('000002_two.sql', 'CREATE TABLE two (n int)');
    await migrate(pool, folder);
    expect(await applied()).toEqual(['000001_one.sql', '000002_two.sql', '000003_three.sql']);
  });

  test('refuses a database that a newer version migrated, also when asked again', async () => {
    await write('000002_two.sql', 'CREATE TABLE two (n int)');
    await migrate(pool, folder);
    await rm(join(folder, '000002_two.sql'));
    await expect(migrate(pool, folder)).rejects.toThrow(MigrationError);
    await expect(migrate(pool, folder)).rejects.toThrow('it has 000002_two.sql, but this version ends with number 1');
  });

  test('a connection that breaks in the middle is an error of the migration, and the next start continues', async () => {
    await write('000002_slow.sql', 'SELECT pg_sleep(300)');
    const outcome = migrate(pool, folder).then(
      () => 'migrated',
      (error: Error) => error.message,
    );
    const broken = async (): Promise<number> =>
      (
        await pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND query = 'SELECT pg_sleep(300)' AND state = 'active'`,
        )
      ).rowCount!;
    await expect.poll(broken).toBe(1);
    expect(await outcome).toContain('000002_slow.sql failed');
    await write('000002_slow.sql', 'CREATE TABLE two (n int)');
    await migrate(pool, folder);
    expect(await applied()).toEqual(['000001_one.sql', '000002_slow.sql']);
  });

  test('a failing file leaves nothing, names itself, and releases the lock', async () => {
    await write('000002_broken.sql', 'CREATE TABLE half_done (n int); SELECT * FROM nowhere');
    await expect(migrate(pool, folder)).rejects.toThrow('000002_broken.sql failed: relation "nowhere" does not exist');
    expect((await pool.query(`SELECT to_regclass('half_done') AS it`)).rows).toEqual([{ it: null }]);
    await write('000002_broken.sql', 'CREATE TABLE half_done (n int)');
    await migrate(pool, folder);
    expect(await applied()).toEqual(['000001_one.sql', '000002_broken.sql']);
  });
});
