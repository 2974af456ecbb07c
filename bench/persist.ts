/**
 * The cost of an event for the persister and Postgres, with Postgres's data in its default place. The script records events
 * of the demo, and each 1,750 are persisted in one transaction, as at 7,000 events/s. Postgres compresses the full pages in
 * its WAL with each available method in turn, first right after a checkpoint, then before the next. Prints CPU and bytes of
 * WAL per event (medians).
 *
 *   npm run bench -- persist [transactions a round] [rounds] [users] [directory of the data]
 */
import { fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { Persister } from '../src/engine/persist/persister.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { treeCpu } from './cpu.ts';
import type { DirectJob } from './jobs.ts';
import { median } from './rows.ts';
import { askDirect } from './stack.ts';
import { demoCatalog } from './temporary-servers.ts';

const [transactions = 8, rounds = 5, users = 50_000] = process.argv.slice(2, 5).map(Number);
const PARENT = process.argv[5] ?? tmpdir();
const EVENTS_A_TRANSACTION = 1_750;
const EVENTS_A_CALL = 8;
const SHARD = 0;

const WHEN = ['after a checkpoint', 'before the next'] as const;

/** Per event: µs of CPU, bytes of WAL. */
interface Cost {
  persister: number;
  postgres: number;
  wal: number;
}

interface Bench {
  redis: Redis;
  postgres: { url: string; pid: number };
  /** Records this many events. */
  record: (over: Pick<DirectJob, 'amount' | 'everyUser'>) => Promise<unknown>;
}

async function main(): Promise<void> {
  console.log(`Load of the machine before: ${loadavg()[0]!.toFixed(1)}`);
  const program = findRedisProgram();
  if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
  const folder = await mkdtemp(join(PARENT, 'laurel-bench-persist-'));
  const caller = fork(new URL('./direct.js', import.meta.url));
  const postgres = await startPostgres({ directory: join(folder, 'postgres'), password: 'bench', temporary: false });
  const redisServer = await startRedis({
    program,
    directory: join(folder, 'redis'),
    password: null,
    durable: false,
    temporary: true,
  });
  const redis = createRedis(redisServer.url);
  const pool = createPool(postgres.url, { max: 2 });
  let seed = 0;
  const job = {
    kind: 'direct',
    redisUrl: redisServer.url,
    databaseUrl: postgres.url,
    atOnce: 4,
    crowd: { users },
  } as const;
  const record: Bench['record'] = (over) =>
    askDirect(caller, { ...job, batch: EVENTS_A_CALL, seed: (seed += 1), ...over });
  try {
    await redisReady(redis);
    await migrate(pool);
    await demoCatalog(pool);
    await record({ amount: users, everyUser: true });
    await new Persister({ redis, pool }).drain(SHARD, AbortSignal.abort());
    await pool.query('VACUUM ANALYZE');
    await compare({ redis, postgres, record }, await compressions(pool));
  } finally {
    caller.disconnect();
    redis.disconnect();
    await pool.end();
    await Promise.all([postgres.stop(), redisServer.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** The values of `wal_compression` that the server was built with. */
async function compressions(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ values: string[] }>(
    "SELECT enumvals AS values FROM pg_settings WHERE name = 'wal_compression'",
  );
  return rows[0]!.values.filter((value) => value !== 'on');
}

async function compare(bench: Bench, ways: readonly string[]): Promise<void> {
  const costs = new Map<string, Cost[]>();
  // In the first round the pages have no free space for updates yet.
  for (let round = 0; round <= rounds; round++) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      for (const [name, cost] of await persistRound(bench, way)) {
        if (round > 0) costs.set(name, [...(costs.get(name) ?? []), cost]);
      }
    }
  }
  for (const [name, those] of costs) {
    const of = (part: keyof Cost): number => median(those.map((cost) => cost[part]));
    const range = those.map(({ persister, postgres }) => persister + postgres);
    console.log(
      `${name.padEnd(28)} persister ${of('persister').toFixed(1)} µs, Postgres ${of('postgres').toFixed(1)} µs, ` +
        `together ${Math.min(...range).toFixed(1)} to ${Math.max(...range).toFixed(1)}; WAL ${of('wal').toFixed(0)} B`,
    );
  }
}

/** Persists the events of a round twice: right after a checkpoint, and again before the next. */
async function persistRound({ redis, postgres, record }: Bench, way: string): Promise<[string, Cost][]> {
  const url = new URL(postgres.url);
  url.searchParams.set('options', `-c wal_compression=${way}`);
  const pool = createPool(url.href, { max: 2 });
  const persister = new Persister({ redis, pool });
  const measured: [string, Cost][] = [];
  await pool.query('CHECKPOINT');
  for (const when of WHEN) {
    const sum: Cost = { persister: 0, postgres: 0, wal: 0 };
    for (let one = 0; one < transactions; one++) {
      await record({ amount: EVENTS_A_TRANSACTION, everyUser: false });
      const before = { own: process.cpuUsage(), postgres: treeCpu(postgres.pid), wal: await walBytes(pool) };
      await persister.drain(SHARD, AbortSignal.abort());
      const own = process.cpuUsage(before.own);
      sum.persister += own.user + own.system;
      sum.postgres += (treeCpu(postgres.pid) - before.postgres) * 1e6;
      sum.wal += (await walBytes(pool)) - before.wal;
    }
    const events = transactions * EVENTS_A_TRANSACTION;
    const { persister: own, postgres: theirs, wal } = sum;
    measured.push([`${way}, ${when}`, { persister: own / events, postgres: theirs / events, wal: wal / events }]);
  }
  await pool.end();
  return measured;
}

async function walBytes(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes");
  return Number(rows[0]!.bytes);
}

await main();
