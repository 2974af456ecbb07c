import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { privatePostgres } from './private-services.ts';

/** Space on a disk, and the share of it that is used. */
interface DiskSpace {
  freeBytes: number;
  usedRatio: number;
  isPostgresOnly: false;
}

/** The space on the disk of a directory, which need not exist yet. */
export async function diskSpace(directory: string): Promise<DiskSpace> {
  let place = directory;
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bfree, blocks, bsize } = await statfs(place);
  const used = blocks - bfree;
  // As `df` shows it: what is reserved for root counts neither as used nor as free.
  return {
    freeBytes: bavail * bsize,
    usedRatio: used + bavail === 0 ? 0 : used / (used + bavail),
    isPostgresOnly: false,
  };
}

/** Measures the disk of the private Postgres of a running Laurel; `null` if the database is another one, whose disk nobody can see. */
export const privateDisk = async (dataDir: string, databaseUrl: string): Promise<(() => Promise<DiskSpace>) | null> =>
  (await privatePostgres(dataDir)) === databaseUrl ? () => diskSpace(dataDir) : null;
