import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../../src/domain/catalog.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { loadRules } from './load-rules.ts';

/**
 * Creates the plain service's database beside Laurel's, in the same Postgres: the catalog's rules, and this many users with
 * a total, points and leaderboard scores each. Returns its URL.
 */
export async function preparePlainService(
  databaseUrl: string,
  { catalog, users }: { catalog: Catalog; users: number },
): Promise<string> {
  const admin = createPool(databaseUrl, { max: 1 });
  await admin.query('CREATE DATABASE plain');
  await admin.end();
  const url = new URL(databaseUrl);
  url.pathname = '/plain';
  const pool = createPool(url.href, { max: 1 });
  await pool.query(await readFile(join(PACKAGE_ROOT, 'bench', 'plain-service', 'schema.sql'), 'utf8'));
  await loadRules(pool, catalog);
  await pool.query(
    `INSERT INTO users (id, streak, streak_day, points) SELECT 'user-' || n, 1, current_date, 15 FROM generate_series(0, $1 - 1) n`,
    [users],
  );
  await pool.query(`INSERT INTO totals SELECT 'user-' || n, no, 10, 10 FROM generate_series(0, $1 - 1) n, metrics`, [
    users,
  ]);
  await pool.query(
    `INSERT INTO scores
     SELECT no, CASE WHEN interval_days IS NULL THEN first_day ELSE current_date - (current_date - first_day) % interval_days END,
            CASE WHEN breakdown IS NULL THEN '' ELSE 'one' END, 'user-' || n, 1 + n % 20
     FROM generate_series(0, $1 - 1) n, boards`,
    [users],
  );
  await pool.query(
    'INSERT INTO standings SELECT board, run, grp, floor(score), count(*) FROM scores GROUP BY 1, 2, 3, 4',
  );
  // Rows in every table, so that the plans that Postgres keeps use the indexes.
  await pool.query("INSERT INTO counts SELECT 'user-' || n, -1, 1, 1 FROM generate_series(0, $1 - 1) n", [users]);
  await pool.query("INSERT INTO completions SELECT 'user-' || n, -1, now() FROM generate_series(0, $1 - 1) n", [users]);
  await pool.query(
    "INSERT INTO events SELECT gen_random_uuid(), 'user-' || n, -1, 1, 1, now(), NULL, 'first' FROM generate_series(0, $1 - 1) n",
    [users],
  );
  await pool.query('VACUUM ANALYZE');
  await pool.end();
  return url.href;
}
