import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isMigrated, migrate, MigrationError } from '../../src/postgres/migrate.ts';
import { readEnv } from '../../src/settings/env.ts';
import { prepareDatabase } from '../../src/processes/first-start.ts';
import { FORM_LOCK } from '../../src/postgres/running-versions.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { Start } from '../processes/start.ts';
import { inFewFiles } from '../stack/in-few-files.ts';
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

const tables = async (): Promise<string[]> =>
  (await pool.query(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`)).rows.map(
    ({ relname }) => relname,
  );

test('a start with MIGRATE_AT_START=0 waits until `laurel migrate` has migrated, which no incompatible version allows', async () => {
  const servers = { redisUrl: 'redis://127.0.0.1:1', databaseUrl: stack.databaseUrl };
  const laurelMigrate = async (): Promise<[number | null, string]> => {
    const command = ['node', join(await inFewFiles(), 'src/cli/main.js'), 'migrate'];
    const started = new Start({ DATABASE_URL: stack.databaseUrl }, command);
    return [await started.end(), started.output];
  };
  const other = await pool.connect();
  await other.query('SELECT pg_advisory_lock_shared($1, 9999)', [FORM_LOCK]);
  expect(await laurelMigrate()).toEqual([2, expect.stringContaining('cannot run beside')]);
  expect(await tables()).toEqual([]);
  await other.query('SELECT pg_advisory_unlock_shared($1, 9999)', [FORM_LOCK]);
  other.release();

  const env = readEnv({ MIGRATE_AT_START: '0', LAUREL_DEMO: '0' });
  const prepared = prepareDatabase(env, servers);
  expect(await laurelMigrate()).toEqual([0, expect.stringMatching(/^Applied 000100_schema.sql.*\.\n$/)]);
  const files = await readdir(new URL('../../src/postgres/migrations/', import.meta.url));
  // `prepared` would wait for the missing migrations until the test's timeout.
  expect(await applied(), 'dist has other migrations than src: npm run build').toEqual(files.toSorted());
  expect((await prepared).newKey).not.toBeNull();
  expect(await laurelMigrate()).toEqual([0, 'The database is of this version.\n']);
});

describe('with the schema of 1.0', () => {
  const record = (no: number, file: string) =>
    pool.query('INSERT INTO laurel_migrations (no, file) VALUES ($1, $2)', [no, file]);

  test('its number is above those of earlier commits, and a database that recorded it as 1 gets the new number', async () => {
    await migrate(pool);
    const [{ no }] = (await pool.query('SELECT min(no) AS no FROM laurel_migrations')).rows;
    expect(no).toBe(100);
    const files = await applied();
    await pool.query(`UPDATE laurel_migrations SET no = 1, file = '000001_schema.sql' WHERE no = 100`);
    const before = await tables();
    expect(await isMigrated(pool)).toBe(false);
    expect(await Promise.all([migrate(pool), migrate(pool), migrate(pool)])).toEqual([[], [], []]);
    expect([await applied(), await isMigrated(pool), await tables()]).toEqual([files, true, before]);
  });

  test('a database that an earlier commit made or changed is older', async () => {
    await migrate(pool);
    const [, ...later] = await applied();
    const refusal = 'migrated by an older version of Laurel that cannot be upgraded: it has 000004_backdatings.sql';
    await record(4, '000004_backdatings.sql');
    for (const start of [migrate, isMigrated]) await expect(start(pool)).rejects.toThrow(refusal);
    await pool.query(`UPDATE laurel_migrations SET no = 1, file = '000001_schema.sql' WHERE no = 100`);
    for (const start of [migrate, isMigrated]) await expect(start(pool)).rejects.toThrow(refusal);
    expect(await applied()).toEqual(['000001_schema.sql', '000004_backdatings.sql', ...later]);
    await pool.query('DELETE FROM laurel_migrations');
    await record(1, '000001_initial.sql');
    for (const start of [migrate, isMigrated]) await expect(start(pool)).rejects.toThrow('it has 000001_initial.sql');
  });

  test('a newer one and one with other files under the same numbers are named', async () => {
    await migrate(pool);
    await record(900, '000900_later.sql');
    for (const start of [migrate, isMigrated])
      await expect(start(pool)).rejects.toThrow('migrated by a newer version of Laurel: it has 000900_later.sql');
    await pool.query(`UPDATE laurel_migrations SET file = '000100_other.sql' WHERE no = 100`);
    for (const start of [migrate, isMigrated])
      await expect(start(pool)).rejects.toThrow(
        'migrated by a foreign version of Laurel, neither older nor newer: it has 000100_other.sql',
      );
  });

  test('a worker and the command line end with the reason', async () => {
    await migrate(pool);
    await record(900, '000900_later.sql');
    const variables = { DATABASE_URL: stack.databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' };
    const built = await inFewFiles();
    for (const [code, file, ...words] of [
      [1, 'workers/main.js'],
      [2, 'src/cli/main.js', 'verify'],
      [2, 'src/cli/main.js', 'migrate'],
    ] as const) {
      const started = new Start(variables, ['node', join(built, file), ...words]);
      expect([await started.end(), started.output]).toEqual([
        code,
        expect.stringContaining('migrated by a newer version of Laurel: it has 000900_later.sql'),
      ]);
    }
  });

  test('a database with the objects of another application is left unchanged', async () => {
    await pool.query('CREATE TABLE organisation (n int)');
    await expect(migrate(pool)).rejects.toThrow('000100_schema.sql failed: relation "organisation" already exists');
    expect(await tables()).toEqual(['organisation']);
  });
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
