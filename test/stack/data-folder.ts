import { accessSync, constants, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
/** The run's Postgres takes a third of this at most, and the servers that single test files start less. */
const ENOUGH_BYTES = 3 * 2 ** 30;

/**
 * The folder for data of test servers: in memory if there is enough. On a disk a new database, which is 900 files, took 200
 * to 400 ms of CPU, nearly all of it in the file system; in memory 20. A killed server's writes stay in both.
 */
export const DATA_FOLDER = hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir();

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem()) >= ENOUGH_BYTES;
  } catch {
    return false;
  }
}
