import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { outboxKey } from '../../src/redis/keys.ts';
import { backlog, persistLagMs } from '../../src/redis/outbox.ts';
import { startWorkers, type Workers } from '../../workers/start.ts';
import { eventRecord, writeEntry } from '../engine/persist/outbox-writer.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

let redis: Redis;
let workers: Workers | undefined;
let logged: Record<string, unknown>[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void logged.push(JSON.parse(line) as Record<string, unknown>) });

const database = opened(() => testDatabase());
beforeAll(async () => {
  // A tenant on each of the shards that the test writes to: the others are not checked.
  await database.pool.query(
    "INSERT INTO tenants (no, id, name) SELECT no, gen_random_uuid(), 'tenant' FROM generate_series(1, 7) AS no",
  );
  redis = createRedis(database.stack.redisUrl);
  await redisReady(redis);
});

afterEach(async () => {
  await workers?.close();
  logged = [];
});

afterAll(async () => {
  redis.disconnect();
});

const start = async (onStep?: () => void): Promise<Workers> =>
  (workers = await startWorkers({
    redisUrl: database.stack.redisUrl,
    databaseUrl: database.stack.databaseUrl,
    log,
    ...(onStep && { onStep }),
  }));

const patience = { interval: 20 };

async function stored(id: string): Promise<boolean> {
  const { rows } = await database.pool.query('SELECT FROM events WHERE id = $1', [id]);
  return rows.length === 1;
}

/** Writes one event; returns its ID. */
async function write(shard: number): Promise<string> {
  const record = eventRecord();
  await writeEntry(redis, shard, { records: [record] });
  return record.i;
}

describe('the workers', () => {
  test('store an event whose wake-up was lost', async () => {
    await start();
    const ids = [await write(1), await write(2)];
    await expect.poll(() => Promise.all(ids.map(stored)), patience).toEqual([true, true]);
  });

  test('store pending entries before they end', async () => {
    const running = await start();
    const ids = await Promise.all(Array.from({ length: 200 }, (_, n) => write(n % 8)));
    await running.close(120_000);
    for (const id of ids) expect(await stored(id)).toBe(true);
    expect(await persistLagMs(redis)).toBe(0);
  });

  test('continue after Postgres cut their connections', async () => {
    let steps = 0;
    await start(() => void (steps += 1));
    const first = await write(3);
    await expect.poll(() => stored(first), patience).toBe(true);
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    const second = await write(3);
    await expect.poll(() => stored(second), patience).toBe(true);
    expect(steps).toBeGreaterThan(0);
  });

  test('log once which entry cannot be stored, and store those behind it and those of other shards', async () => {
    await start();
    const poison = await redis.xadd(outboxKey(4), '*', 't', '4', 'r', Buffer.from([0xc1]));
    const behind = await write(4);
    const other = await write(5);
    await expect.poll(() => Promise.all([behind, other].map(stored)), patience).toEqual([true, true]);
    await expect.poll(() => backlog(redis, 4), patience).toBe(0);
    const errors = (): unknown[] => logged.filter((line) => line['position'] === poison && line['level'] === 50);
    await expect.poll(() => errors().length, patience).toBeGreaterThan(0);
    expect(errors()).toHaveLength(1);
  });
});
