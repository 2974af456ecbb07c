/**
 * What the clock does with a board of N members (default 1,000,000): a daily snapshot, another one after a hundredth of
 * them moved, and the final standings of the run. Prints seconds, bytes in Postgres, and how long a small read of
 * Redis took meanwhile, for that is what events wait for.
 *
 *   npm run bench:boards -- [members]
 */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DAY_MS, dayOf } from '../src/domain/periods.ts';
import { DailySnapshots } from '../src/engine/leaderboards/daily-snapshots.ts';
import { FinalRuns } from '../src/engine/leaderboards/final-runs.ts';
import type { DueWork } from '../src/engine/schedule/due-work.ts';
import { boardKey } from '../src/redis/keys.ts';
import { temporaryServers } from './temporary-servers.ts';

const BOARD_NO = 1;
const RUN_DAY = dayOf('2026-11-01');
const KEY = boardKey(0, { boardNo: BOARD_NO, runDay: RUN_DAY, group: '' });
const CHUNK = 10_000;

async function load(redis: Redis, members: number, every: number): Promise<void> {
  for (let from = 0; from < members; from += CHUNK * every) {
    const pairs: (string | number)[] = [];
    for (let n = from; n < Math.min(from + CHUNK * every, members); n += every)
      pairs.push(1 + ((n * 7919 + every) % (members * 3)), `user-${n}`);
    await redis.zadd(KEY, ...pairs);
  }
}

/** Reads of Redis while something goes on: the median and the 99th percentile, ms. */
async function reading<T>(
  redis: Redis,
  work: () => Promise<T>,
): Promise<{ seconds: number; p50: number; p99: number }> {
  const times: number[] = [];
  let over = false;
  const reads = (async () => {
    while (!over) {
      const start = performance.now();
      await redis.zscore(KEY, 'user-1');
      times.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  over = true;
  await reads;
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { seconds, p50: at(0.5), p99: at(0.99) };
}

async function measure(
  name: string,
  { redis, pool, kind, upToMs }: { redis: Redis; pool: Pool; kind: DueWork; upToMs: number },
): Promise<void> {
  const { seconds, p50, p99 } = await reading(redis, async () => {
    for (let due = await kind.due(upToMs); due !== null; due = await kind.due(upToMs))
      await kind.perform(due, new AbortController().signal, due + 1, due);
  });
  const { rows } = await pool.query<{ kept: string }>(
    `SELECT string_agg(relname || ' ' || round(pg_total_relation_size(oid) / 1e6) || ' MB', ', ' ORDER BY relname) AS kept
       FROM pg_class WHERE relname IN ('board_finals', 'board_snapshot_parts')`,
  );
  console.log(
    `${name}: ${seconds.toFixed(1)} s; reads meanwhile p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms; ${rows[0]?.kept}`,
  );
}

async function main(): Promise<void> {
  const members = Number(process.argv[2] ?? 1_000_000);
  const servers = await temporaryServers({ durable: false });
  const { redis, pool } = servers;
  try {
    const doc = { status: 'active', rankBy: 'metric', start: '2026-11-01', end: '2026-11-03', maxParticipants: null };
    const board = { ...doc, key: 'board', runUnit: null, runInterval: null, breakdownAttributes: [] };
    await pool.query(
      `INSERT INTO catalog_resources (id, tenant_no, no, kind, identity, doc, created, updated)
       VALUES (gen_random_uuid(), 0, $1, 'leaderboard', 'board', $2, now(), now())`,
      [BOARD_NO, JSON.stringify(board)],
    );
    await pool.query('INSERT INTO board_progress VALUES (0, $1, $2, $2)', [BOARD_NO, RUN_DAY]);
    await load(redis, members, 1);
    console.log(`${members} members`);
    const snapshots = new DailySnapshots({ redis, pool });
    await measure('a first snapshot', { redis, pool, kind: snapshots, upToMs: (RUN_DAY + 1) * DAY_MS });
    await measure('one after a day without events', { redis, pool, kind: snapshots, upToMs: (RUN_DAY + 2) * DAY_MS });
    await load(redis, members, 100);
    await measure('one after a hundredth moved', { redis, pool, kind: snapshots, upToMs: (RUN_DAY + 3) * DAY_MS });
    const finals = new FinalRuns({ redis, pool });
    await measure('final standings', { redis, pool, kind: finals, upToMs: (RUN_DAY + 4) * DAY_MS });
  } finally {
    await servers.close();
  }
}

await main();
