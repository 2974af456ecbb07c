import { accessSync, constants, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

const IN_MEMORY = '/dev/shm';
/** The run's Postgres takes a third of this at most, and the servers that single test files start less. */
const ENOUGH_BYTES = 3 * 2 ** 30;

/**
 * Where servers of tests keep their data: in memory where there is enough of it. On a disk a new database, which is 900
 * files, took 200 to 400 ms of CPU, nearly all of it the file system's; in memory 20. What a killed server has written stays
 * in both.
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
