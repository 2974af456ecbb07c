/**
 * The cost of an idle installation: starts the processes of `npm start` with their own servers, waits until the start is
 * over, and prints the CPU of each process over some seconds (default 60) in % of a core, and the most frequent Redis
 * commands.
 *
 *   npm run bench -- idle [seconds] [folder of another checkout that is built]
 *
 * The other checkout runs at the same time, so that both meet the same machine.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { childrenOf, processCpu, redisUse, treeCpu } from './cpu.ts';
import { IDLE_PERCENT } from './targets.ts';
import { startMain } from './temporary-servers.ts';

const SECONDS = Number(process.argv[2] ?? 60);
const OTHER = process.argv[3];
/**
 * By then the start's own work is over: the first checks, caches, compilation. Not its garbage collection, for which Node
 * waits 100 s: a minute that begins now includes it, 0.3 to 0.5 % of a core, and later minutes do not.
 */
const SETTLE_MS = 45_000;

/** CPU seconds since the start, by process. */
type Use = Record<'worker' | 'frontend' | 'main' | 'redis' | 'postgres', number>;

interface Installation {
  use(): Promise<Use>;
  /** The number of calls of each command of Redis since the start. */
  commands(): Promise<Map<string, number>>;
  stop(): Promise<void>;
}

/** Starts the processes of `npm start` from a built checkout. Resolves when it answers. */
async function startInstallation(root: string): Promise<Installation> {
  const program = findRedisProgram();
  if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
  const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-idle-'));
  const redisDirectory = join(folder, 'redis');
  const redisServer = await startRedis({
    program,
    directory: redisDirectory,
    password: null,
    durable: true,
    temporary: false,
  });
  const postgres = await startPostgres({ directory: join(folder, 'postgres'), password: 'bench', temporary: false });
  const redis = createRedis(redisServer.url);
  redis.on('error', () => undefined);
  await redisReady(redis);
  const main = await startMain(root, { REDIS_URL: redisServer.url, DATABASE_URL: postgres.url });
  const child = (file: string): number => {
    const found = childrenOf(main.pid).find(({ command }) => command.includes(file));
    if (found === undefined) throw new Error(`${root} runs no ${file}.`);
    return found.pid;
  };
  const [worker, frontend] = [child('workers/main.js'), child('frontend.js')];
  return {
    use: async () => ({
      worker: processCpu(worker),
      frontend: processCpu(frontend),
      main: processCpu(main.pid),
      redis: (await redisUse(redis)).cpu,
      postgres: treeCpu(postgres.pid),
    }),
    commands: async () => {
      const calls = (await redis.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
      return new Map([...calls].map(([, name, count]) => [name!, Number(count)]));
    },
    stop: async () => {
      await main.stop();
      redis.disconnect();
      await Promise.all([redisServer.stop(), postgres.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const roots = OTHER === undefined ? [PACKAGE_ROOT] : [PACKAGE_ROOT, OTHER];
const installations: { root: string; installation: Installation }[] = [];
try {
  for (const root of roots) installations.push({ root, installation: await startInstallation(root) });
  await sleep(SETTLE_MS);
  const before = await Promise.all(
    installations.map(async ({ installation }) => ({
      use: await installation.use(),
      commands: await installation.commands(),
    })),
  );
  await sleep(SECONDS * 1000);
  for (const [index, { root, installation }] of installations.entries()) {
    const [use, commands] = [await installation.use(), await installation.commands()];
    const was = before[index]!;
    const percent = (name: keyof Use): number => ((use[name] - was.use[name]) / SECONDS) * 100;
    const names = Object.keys(use) as (keyof Use)[];
    const all = names.reduce((sum, name) => sum + percent(name), 0);
    console.log(`${root}\n  % of a core over ${SECONDS} s while idle`);
    for (const name of names) console.log(`    ${name.padEnd(12)} ${percent(name).toFixed(2).padStart(6)}`);
    console.log(
      `    ${'total'.padEnd(12)} ${all.toFixed(2).padStart(6)} (target ${IDLE_PERCENT})\n  Redis commands per second`,
    );
    const rates = [...commands].map(
      ([name, count]) => [name, (count - (was.commands.get(name) ?? 0)) / SECONDS] as const,
    );
    for (const [name, rate] of rates.toSorted(([, a], [, b]) => b - a).filter(([, each]) => each >= 0.05))
      console.log(`    ${name.padEnd(12)} ${rate.toFixed(2).padStart(6)}`);
  }
} finally {
  for (const { installation } of installations) await installation.stop();
}
