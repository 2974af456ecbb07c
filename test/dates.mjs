/**
 * Repeats tests on other dates: `npm run test:dates -- [FILE …]`, by default those that depend on the date (`FILES`). `DATES`
 * selects by name, for example `DATES="29 February"`. `clock-offset.c`, preloaded, moves the clocks of the tests and of the servers
 * that they start by the same offset, so all agree. libfaketime does not work: a Redis with jemalloc hangs in it, because jemalloc
 * reads a clock while libfaketime looks for the functions to replace. Durations keep the machine's time. Needs Linux and a C
 * compiler (`CC`). Continues after a failure, and ends with 1 if a date failed.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Each weekday (Monday, 4 January 2027, to Sunday), then dates at which something turns over. UTC. */
const DATES = {
  Monday: '2027-01-04T10:00:00Z',
  Tuesday: '2027-01-05T10:00:00Z',
  Wednesday: '2027-01-06T10:00:00Z',
  Thursday: '2027-01-07T10:00:00Z',
  Friday: '2027-01-08T10:00:00Z',
  Saturday: '2027-01-09T10:00:00Z',
  Sunday: '2027-01-10T10:00:00Z',
  'end of a month': '2027-04-30T10:00:00Z',
  'first day of a month': '2027-05-01T10:00:00Z',
  'end of a year': '2027-12-31T10:00:00Z',
  'first day of a year': '2028-01-01T10:00:00Z',
  '29 February': '2028-02-29T10:00:00Z',
  'summer time begins': '2027-03-28T00:59:30Z',
  'summer time ends': '2027-10-31T00:59:30Z',
  'before midnight': '2027-06-15T23:58:30Z',
  'after midnight': '2027-06-16T00:00:10Z',
  'a year ahead': new Date(Date.now() + 365 * 86_400_000).toISOString(),
};

/** Tests whose results depend on the date: those that start from the machine's time and span days, runs, weeks or partitions. */
const FILES = [
  'test/engine/activity',
  'test/engine/partitions',
  'test/engine/leaderboards',
  'test/engine/streaks',
  'test/engine/points',
  'test/engine/history',
  'test/engine/imports',
  'test/engine/clock',
  'test/engine/analytics',
  'test/domain',
  'test/catalog',
  'test/operations/application',
];

const COMPILER = process.env.CC ?? 'cc';
/** Servers run as another user if this is root, and have to read the library. */
const folder = mkdtempSync(join(tmpdir(), 'laurel-dates-'));
chmodSync(folder, 0o755);
process.on('exit', () => rmSync(folder, { recursive: true }));

/** Compiles the library that moves the clock. Throws if that fails. */
function libraryFor(offsetS) {
  const library = join(folder, `clock-offset-${offsetS}.so`);
  const source = join(import.meta.dirname, 'clock-offset.c');
  const args = ['-shared', '-fPIC', '-O2', `-DOFFSET_S=${offsetS}`, '-o', library, source];
  const { error, status } = spawnSync(COMPILER, args, { stdio: 'inherit' });
  if (error || status !== 0) throw new Error(`${COMPILER} cannot compile ${source}; CC names another C compiler.`);
  return library;
}

/** Runs the files on a date. Returns whether they passed. */
function passesOn(name, files) {
  const offsetS = Math.round((Date.parse(DATES[name]) - Date.now()) / 1_000);
  console.log(`\n${name}: ${DATES[name]}`);
  const { status } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files], {
    stdio: 'inherit',
    env: { ...process.env, TZ: 'UTC', LD_PRELOAD: libraryFor(offsetS) },
  });
  return status === 0;
}

const wanted = process.env.DATES?.split(',').map((name) => name.trim()) ?? Object.keys(DATES);
const unknown = wanted.filter((name) => !(name in DATES));
if (unknown.length > 0) {
  console.error(`DATES: unknown ${unknown.join(', ')}. There are: ${Object.keys(DATES).join(', ')}`);
  process.exitCode = 1;
} else {
  const files = process.argv.length > 2 ? process.argv.slice(2) : FILES;
  const failed = wanted.filter((name) => !passesOn(name, files));
  console.log(failed.length === 0 ? `Passed on ${wanted.length} dates.` : `Failed on: ${failed.join(', ')}`);
  if (failed.length > 0) process.exitCode = 1;
}
