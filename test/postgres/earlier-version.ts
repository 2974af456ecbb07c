import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { migrate } from '../../src/postgres/migrate.ts';

const MIGRATIONS = fileURLToPath(new URL('../../src/postgres/migrations/', import.meta.url));

/** Brings an empty database to what it was before a migration (its file's name, or the beginning of it). */
export async function migrateToBefore(pool: Pool, first: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'laurel-migrations-'));
  const earlier = (await readdir(MIGRATIONS)).filter((file) => file < first);
  await Promise.all(earlier.map((file) => cp(join(MIGRATIONS, file), join(folder, file))));
  await migrate(pool, folder);
  await rm(folder, { recursive: true });
}
