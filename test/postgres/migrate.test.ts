import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isMigrated, migrate, MigrationError } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testStack, type TestStack } from '../stack/stack.ts';

let stack: TestStack;
let pool: Pool;
let folder: string;

beforeAll(async () => {
  stack = await testStack();
  pool = createPool(stack.databaseUrl, { max: 6 });
  folder = await mkdtemp(join(tmpdir(), 'laurel-migrations-'));
});

afterAll(async () => {
  await pool.end();
  await rm(folder, { recursive: true });
  await stack.close();
});

test('many at once apply every file once', async () => {
  await Promise.all(Array.from({ length: 5 }, () => migrate(pool)));
  const { rows } = await pool.query('SELECT no FROM laurel_migrations');
  expect(rows).toEqual([{ no: 1 }]);
  expect(await isMigrated(pool)).toBe(true);
});

test('a database that a newer version migrated is refused, and still is when asked again', async () => {
  await writeFile(join(folder, '000000_nothing.sql'), 'SELECT 1');
  await expect(migrate(pool, folder)).rejects.toThrow(MigrationError);
  await expect(migrate(pool, folder)).rejects.toThrow(
    'it has had 000001_initial.sql, and this version ends with number 0',
  );
});

test('a file that fails leaves nothing, names itself, and gives the lock back', async () => {
  await writeFile(join(folder, '000001_initial.sql'), 'SELECT 1');
  await writeFile(join(folder, '000002_broken.sql'), 'CREATE TABLE half_done (n int); SELECT * FROM nowhere');
  await expect(migrate(pool, folder)).rejects.toThrow('000002_broken.sql failed: relation "nowhere" does not exist');
  expect((await pool.query(`SELECT to_regclass('half_done') AS it`)).rows).toEqual([{ it: null }]);
  await writeFile(join(folder, '000002_broken.sql'), 'CREATE TABLE half_done (n int)');
  await migrate(pool, folder);
  expect((await pool.query('SELECT count(*) AS n FROM laurel_migrations')).rows).toEqual([{ n: 3 }]);
});
