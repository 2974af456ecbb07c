/**
 * The midnight of a zone whose users all have a streak that ends: loads N users (default 1,000,000), then sweeps them while
 * events of other users go on, and prints how long it took, what it cost, and what the events had to wait.
 *
 *   npm run bench:sweep -- [users]
 *
 * Uses a Redis (every answer on disk) and a Postgres of its own.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pack } from 'msgpackr';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { CompiledCatalog } from '../src/catalog/compiled-catalog.ts';
import { FixedClock } from '../src/clock.ts';
import { DAY_MS } from '../src/domain/periods.ts';
import { EventBatcher } from '../src/engine/events/event-batcher.ts';
import { EventEngine } from '../src/engine/events/event-engine.ts';
import { Persister } from '../src/engine/persist/persister.ts';
import { StreakSweep } from '../src/engine/streaks/streak-sweep.ts';
import { startPostgres } from '../src/local/postgres-server.ts';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { loadCatalog } from '../src/postgres/load-catalog.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { createPool } from '../src/postgres/pool.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { userKey } from '../src/redis/keys.ts';
import { Script } from '../src/redis/script.ts';

const USERS = Number(process.argv[2] ?? 1_000_000);
const DAY = 20_800;
/** Events a second, one after another. */
const EVENTS_A_SECOND = 100;
const LOAD_AT_ONCE = 5_000;
const TICKS_A_SECOND = 100;

/** CPU time of a process so far, ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_A_SECOND;
}

async function load(redis: Redis, pool: Pool): Promise<void> {
  const streak = (last: number): unknown[] => [3, last - 2, last, (DAY - 2) * DAY_MS, last, {}];
  for (let from = 0; from < USERS; from += LOAD_AT_ONCE) {
    const pipeline = redis.pipeline();
    const ids = Array.from({ length: Math.min(LOAD_AT_ONCE, USERS - from) }, (_, index) => `user-${from + index}`);
    for (const id of ids) {
      const state = {
        c: (DAY - 40) * DAY_MS,
        up: (DAY - 2) * DAY_MS,
        n: `Name of ${id}`,
        m: { 1: [120, 0], 2: [7, 500_000], 3: [33, 0] },
        f: {},
        s: [streak(DAY - 2), streak(Math.floor((DAY - 3) / 7)), streak(2026 * 12 + 11)],
        p: { 10: 250 },
        t: { 20: (DAY - 30) * DAY_MS, 21: (DAY - 20) * DAY_MS },
        b: {},
      };
      pipeline.set(userKey(0, id), pack(state));
    }
    await pipeline.exec();
    await pool.query(
      `INSERT INTO users (tenant_no, id, created, state, attributes, points, zone, due_day)
       SELECT 0, id, now(), '\\x80', '{}', '{}', '', $2 FROM unnest($1::text[]) AS id`,
      [ids, DAY],
    );
  }
  await pool.query(`INSERT INTO streak_zones (tenant_no, zone, swept_day) VALUES (0, '', $1)`, [DAY - 1]);
  await pool.query('VACUUM ANALYZE users');
}

/** Sends events until it is called off; how long each took, ms. */
async function events(engine: EventEngine, on: AbortSignal): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; !on.aborted; n++) {
    const start = performance.now();
    const event = { user: { id: `active-${n % 1000}` }, value: 1 };
    await engine.record(0, 'm', { event, idempotencyKey: null });
    took.push(performance.now() - start);
    await sleep(1000 / EVENTS_A_SECOND);
  }
  return took.toSorted((a, b) => a - b);
}

const percentiles = (sorted: number[]): string =>
  [0.5, 0.99, 1].map((part) => (sorted[Math.ceil(sorted.length * part) - 1] ?? 0).toFixed(1)).join(' / ');

async function main(): Promise<void> {
  const program = findRedisProgram();
  if (program === null) throw new Error('There is no redis-server or valkey-server on the PATH.');
  const place = (name: string): string => join(tmpdir(), `laurel-sweep-${process.pid}-${name}`);
  const redisServer = await startRedis({
    program,
    directory: place('redis'),
    password: null,
    durable: true,
    temporary: true,
  });
  const postgres = await startPostgres({ directory: place('postgres'), password: 'sweep', temporary: true });
  const pool = createPool(postgres.url, { max: 10 });
  const redis = createRedis(redisServer.url);
  const forSweep = createRedis(redisServer.url);
  try {
    await Promise.all([redisReady(redis), redisReady(forSweep)]);
    await migrate(pool);
    const catalog = (await loadCatalog(pool, 0))!;
    const stored = { id: '00000000-0000-7000-8000-000000000001', no: 1, created: 0, updated: 0 };
    catalog.metrics.push({ ...stored, key: 'm', name: 'm', unitType: 'number', units: '' });
    const compiled = new CompiledCatalog(catalog);
    const clock = new FixedClock(DAY * DAY_MS + 1);
    await load(redis, pool);

    const batcher = new EventBatcher({
      redis,
      script: new Script('record_events'),
      clock,
      onWritten: () => undefined,
      findPersisted: async () => new Map(),
      lookUpKeys: () => Promise.reject(new Error('no key is old')),
    });
    const catalogs = {
      get: () => compiled,
      load: async () => compiled,
      of: () => compiled,
      atLeast: async () => undefined,
    };
    const engine = new EventEngine({ catalogs, batcher, clock, overloaded: () => false });
    const sweep = new StreakSweep({
      redis: forSweep,
      pool,
      catalogs,
      script: new Script('sweep_streaks'),
      onWritten: () => undefined,
    });

    const alone = new AbortController();
    setTimeout(() => alone.abort(), 10_000);
    console.log(`events alone: p50 / p99 / slowest ${percentiles(await events(engine, alone.signal))} ms`);

    const beside = new AbortController();
    const measured = events(engine, beside.signal);
    const before = { redis: cpuMs(redisServer.pid), own: process.cpuUsage() };
    const start = performance.now();
    for (let due = await sweep.due(clock.now()); due !== null; due = await sweep.due(clock.now())) {
      await sweep.perform(due, new AbortController().signal, due + 1);
    }
    const seconds = (performance.now() - start) / 1000;
    beside.abort();
    const own = process.cpuUsage(before.own);
    console.log(`events beside the sweep: p50 / p99 / slowest ${percentiles(await measured)} ms`);
    console.log(
      `${USERS} users in ${seconds.toFixed(1)} s; CPU a user: Redis ${(((cpuMs(redisServer.pid) - before.redis) * 1000) / USERS).toFixed(1)} µs, ` +
        `sweep and events ${((own.user + own.system) / USERS).toFixed(1)} µs`,
    );
    const storing = performance.now();
    await new Persister({ redis, pool }).drain(0, AbortSignal.abort());
    console.log(
      `stored in Postgres after ${((performance.now() - storing) / 1000).toFixed(1)} s more (nothing was stored meanwhile)`,
    );
    const { rows } = await pool.query('SELECT count(*) AS lost FROM streak_changes WHERE kind = 3 AND frequency = 1');
    console.log(`streaks lost: ${JSON.stringify(rows)}`);
    const again = performance.now();
    await pool.query('UPDATE streak_zones SET swept_day = $1', [DAY - 1]);
    for (let due = await sweep.due(clock.now()); due !== null; due = await sweep.due(clock.now())) {
      await sweep.perform(due, new AbortController().signal, due + 1);
    }
    console.log(`swept again, nobody due: ${((performance.now() - again) / 1000).toFixed(1)} s`);
  } finally {
    redis.disconnect();
    forSweep.disconnect();
    await pool.end();
    await redisServer.stop();
    await postgres.stop();
  }
}

await main();
