import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../src/local/free-ports.ts';
import { serverEnvironment, startGuarded } from '../../src/local/guarded-process.ts';
import { createRedis } from '../../src/redis/client.ts';
import { readProfile, type Profile } from './profile.ts';

/** A Redis whose instructions are counted. */
export interface CountedRedis {
  url: string;
  /** The instructions that it executes until the work is done. */
  count(work: () => Promise<unknown>): Promise<Profile>;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 120_000;

/** Starts it on the `dump.rdb` of a directory, without a log. Throws if valgrind is missing. */
export async function startCountedRedis(options: { program: string; directory: string }): Promise<CountedRedis> {
  const { program, directory } = options;
  try {
    execFileSync('vgdb', ['--help'], { stdio: 'ignore' });
  } catch {
    throw new Error('This counts with valgrind, which is not on the PATH: install the package `valgrind`.');
  }
  const port = await freePort();
  const out = join(directory, 'callgrind.out');
  const configuration = join(directory, 'redis.conf');
  // Otherwise its periodic work would count, in proportion to the elapsed time.
  const quiet = ['hz 1', 'dynamic-hz no', 'activerehashing no', 'save ""', 'appendonly no'];
  const own = ['bind 127.0.0.1', `port ${port}`, `dir ${JSON.stringify(directory)}`];
  writeFileSync(configuration, [...own, ...quiet, ''].join('\n'));
  const server = startGuarded({
    command: 'valgrind',
    args: [
      '--tool=callgrind',
      '--instr-atstart=no',
      '--compress-strings=no',
      '--compress-pos=no',
      `--callgrind-out-file=${out}`,
      program,
      configuration,
    ],
    stopSignal: 'SIGTERM',
    as: null,
    env: serverEnvironment(),
    removeAfterwards: null,
  });
  const url = `redis://127.0.0.1:${port}`;
  await loaded(url, () => server.output());
  const control = (...command: string[]): void => {
    execFileSync('vgdb', [`--pid=${server.pid}`, ...command], { stdio: 'ignore' });
  };
  let dumps = 0;
  return {
    url,
    count: async (work) => {
      control('instrumentation', 'on');
      await work();
      control('dump');
      control('instrumentation', 'off');
      dumps += 1;
      const dump = `${out}.${dumps}`;
      const profile = readProfile(readFileSync(dump, 'utf8'));
      rmSync(dump);
      return profile;
    },
    stop: () => server.stop(),
  };
}

/** Waits until the server has read its data. */
async function loaded(url: string, output: () => string): Promise<void> {
  const redis = createRedis(url);
  redis.on('error', () => undefined);
  const deadline = Date.now() + READY_TIMEOUT_MS;
  try {
    for (;;) {
      const reply = await redis.dbsize().catch(() => 0);
      if (reply > 0) return;
      if (Date.now() > deadline) throw new Error(`The counted Redis did not start. Its last output:\n${output()}`);
      await sleep(100);
    }
  } finally {
    redis.disconnect();
  }
}
