/**
 * The number of instructions that Redis executes for an event: counted, not timed, so that a busy machine gives the same
 * figures (± 1 %). Users (default 5,000) of the demo catalog get some events each (default 5), then events of random users
 * are sent at 1, 8 and 64 per call to a Redis under valgrind's callgrind, without append-only file. Also prints the memory
 * of a user at that time.
 *
 *   npm run bench:instructions -- [users] [events each] [folder of another checkout …]
 *   npm run bench:instructions -- --tenants <n> [users] [events each]
 *   npm run bench:instructions -- --features [users] [events each]
 *
 * Every other checkout needs `npm run build` and `tsc -p tsconfig.bench.json`; it is measured with its own scripts.
 *
 * With tenants, each of which has that many users, the events of a call alternate between them. This measures one tenant,
 * all of them with a command each, and all with one command.
 *
 * With features, measures the demo catalog with each of `instructions/features.ts` alone.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findRedisProgram } from '../src/local/redis-server.ts';
import { PACKAGE_ROOT } from '../src/package-root.ts';
import { outboxKey, SHARD_NUMBERS } from '../src/redis/keys.ts';
import { redisUse } from './cpu.ts';
import { startCountedRedis } from './instructions/counted-redis.ts';
import { type Feature, FEATURES, spendPoints } from './instructions/features.ts';
import type { Profile } from './instructions/profile.ts';
import type { DirectJob, Outcome } from './jobs.ts';
import { askDirect } from './stack.ts';
import type { demoCatalog, temporaryServers } from './temporary-servers.ts';

const { values, positionals } = parseArgs({
  options: { tenants: { type: 'string' }, features: { type: 'boolean' } },
  allowPositionals: true,
});
const [users = 5_000, eventsEach = 5] = positionals.slice(0, 2).map(Number);
const OTHERS = positionals.slice(2);
const TENANTS = values.tenants === undefined ? null : Number(values.tenants);
const BATCHES = [1, 8, 64];
/** Whether users are recalled instead of read, if the process changed them last. */
const RECALLS = [false, true];
/** Counted events of each call size; the same number before them is not counted. */
const EVENTS = 1_920;

/** A breakdown of the instructions by functions of Redis that do not call themselves or each other. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  'the function, in all': ['fcallCommand'],
  'unpacking (cmsgpack)': ['mp_unpack'],
  'packing (cmsgpack)': ['mp_pack'],
  'MGET, GET, HGET': ['mgetCommand', 'getCommand', 'hgetCommand'],
  'MSET, HSET, HINCRBY, HDEL': ['msetCommand', 'hsetCommand', 'hincrbyCommand', 'hdelCommand'],
  'ZADD, ZREM': ['zaddCommand', 'zremCommand'],
  'ZCOUNT, ZREVRANGE': ['zcountCommand', 'zrevrangeCommand'],
  XADD: ['xaddCommand'],
};

interface Result {
  bytesAUser: number;
  /** Instructions per event, by whether users are recalled, then by events per call. */
  profiles: Map<boolean, Map<number, Profile>>;
}

async function measure(
  root: string,
  { tenants, feature }: { tenants?: DirectJob['tenants']; feature?: Feature } = {},
): Promise<Result> {
  const theirs = (await import(join(root, 'dist/bench/temporary-servers.js'))) as {
    demoCatalog: typeof demoCatalog;
    temporaryServers: typeof temporaryServers;
  };
  const folder = await mkdtemp(join(tmpdir(), 'laurel-bench-instructions-'));
  const servers = await theirs.temporaryServers({ durable: false });
  const { redis, pool, databaseUrl } = servers;
  const caller = fork(join(root, 'dist/bench/direct.js'));
  let seed = 0;
  const send = (
    redisUrl: string,
    { amount, batch, everyUser, recalls }: Pick<DirectJob, 'amount' | 'batch' | 'everyUser' | 'recalls'>,
  ): Promise<Outcome> => {
    seed += 1;
    return ask(caller, {
      kind: 'direct',
      redisUrl,
      databaseUrl,
      batch,
      atOnce: 1,
      amount,
      crowd: { users },
      seed,
      everyUser,
      recalls,
      ...(tenants && { tenants }),
    });
  };
  try {
    const catalog = await theirs.demoCatalog(pool, feature?.configuration);
    const { bytes: empty } = await redisUse(redis);
    const all = users * (tenants?.count ?? 1);
    for (let round = 0; round < eventsEach; round += 1)
      await send(servers.redisUrl, { amount: all, batch: 50, everyUser: true });
    if (feature?.spends) await spendPoints(redis, catalog, users);
    // Outbox entries that Postgres lacks are not part of a user's memory.
    await redis.del(SHARD_NUMBERS.map(outboxKey));
    const { bytes } = await redisUse(redis);
    await redis.save();
    const [, directory] = (await redis.config('GET', 'dir')) as [string, string];
    await copyFile(join(directory, 'dump.rdb'), join(folder, 'dump.rdb'));

    const counted = await startCountedRedis({ program: findRedisProgram()!, directory: folder });
    const profiles = new Map(RECALLS.map((recalls) => [recalls, new Map<number, Profile>()]));
    try {
      for (const [recalls, counts] of profiles) {
        for (const batch of BATCHES) {
          const job = { amount: EVENTS, batch, everyUser: false, recalls };
          await send(counted.url, job);
          counts.set(batch, await counted.count(() => send(counted.url, job)));
        }
      }
    } finally {
      await counted.stop();
    }
    return { bytesAUser: (bytes - empty) / all, profiles };
  } finally {
    caller.disconnect();
    await servers.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function ask(child: ChildProcess, job: DirectJob): Promise<Outcome> {
  const outcome = await askDirect(child, job);
  if (outcome.processed !== job.amount)
    throw new Error(`Not every event was applied: ${JSON.stringify(outcome.statuses)}`);
  return outcome;
}

const perEvent = (instructions: number): string => (instructions / EVENTS / 1_000).toFixed(1).padStart(10);

function print(root: string, { bytesAUser, profiles }: Result): void {
  const line = (name: string, of: (profile: Profile) => number): void =>
    console.log(
      `  ${name.padEnd(28)}${RECALLS.flatMap((recalls) => BATCHES.map((batch) => perEvent(of(profiles.get(recalls)!.get(batch)!)))).join('')}`,
    );
  console.log(`${root}\n  thousands of instructions per event, at`);
  console.log(`  ${''.padEnd(28)}${'users are read'.padStart(30)}${'users are recalled'.padStart(30)}`);
  const header = BATCHES.map((batch) => `${batch} a call`.padStart(10)).join('');
  console.log(`  ${''.padEnd(28)}${header.repeat(RECALLS.length)}`);
  line('in all', ({ total }) => total);
  for (const [name, functions] of Object.entries(PARTS)) {
    line(name, ({ inclusive }) => functions.reduce((sum, each) => sum + (inclusive.get(each) ?? 0), 0));
  }
  console.log(`  ${bytesAUser.toFixed(0)} bytes of Redis per user after ${eventsEach} events each`);
}

/** Prints one line per feature, with the instructions in all and their change. */
async function printFeatures(): Promise<void> {
  console.log(
    `${'thousands of instructions per event, at'.padEnd(40)}${BATCHES.map((batch) => `${batch} a call`.padStart(18)).join('')}`,
  );
  let none: number[] | null = null;
  for (const feature of FEATURES) {
    const { profiles } = await measure(PACKAGE_ROOT, { feature });
    const totals = BATCHES.map((batch) => profiles.get(false)!.get(batch)!.total);
    none ??= totals;
    const cells = totals.map(
      (total, at) => `${perEvent(total)} ${`${(100 * (total / none![at]! - 1)).toFixed(1)} %`.padStart(7)}`,
    );
    console.log(`${feature.name.padEnd(40)}${cells.join('')}`);
  }
}

if (values.features) await printFeatures();
else if (TENANTS === null) for (const root of [PACKAGE_ROOT, ...OTHERS]) print(root, await measure(root));
else
  for (const [name, tenants] of [
    ['one tenant', { count: 1, joined: false }],
    [`${TENANTS} tenants, one command each`, { count: TENANTS, joined: false }],
    [`${TENANTS} tenants, one command`, { count: TENANTS, joined: true }],
  ] as const)
    print(name, await measure(PACKAGE_ROOT, { tenants }));
