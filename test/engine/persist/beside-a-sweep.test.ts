import { afterEach, beforeAll, expect, test } from 'vitest';
import { isPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { awaitedKey, sweepKey } from '../../../src/redis/keys.ts';
import { backlog, noteSweep, noteSweepEnd } from '../../../src/redis/outbox.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

const SHARD = 7;
let persister: Persister;

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
  persister = new Persister({ redis, pool: database.pool });
});

afterEach(async () => {
  await redis.del(sweepKey(SHARD), awaitedKey(SHARD));
});

const events = async (): Promise<number> =>
  Number((await database.pool.query<{ n: string }>('SELECT count(*) AS n FROM events')).rows[0]?.n);

test('stores what was written when the sweep is over', async () => {
  await redis.set(sweepKey(SHARD), 'goes on');
  await writeEntry(redis, SHARD, { records: [eventRecord()] });
  const drained = persister.drain(SHARD);
  await expect.poll(() => persister.gaveWay(SHARD)).toBe(true);
  expect([await events(), await backlog(redis, SHARD)]).toEqual([0, 1]);
  await noteSweepEnd(redis, SHARD);
  expect(await drained).toBe(1);
  expect(persister.gaveWay(SHARD)).toBe(false);
});

test('stores what a caller waits for during the sweep', async () => {
  await redis.set(sweepKey(SHARD), 'goes on');
  await writeEntry(redis, SHARD, { records: [eventRecord()] });
  const drained = persister.drain(SHARD);
  await expect.poll(() => persister.gaveWay(SHARD)).toBe(true);
  expect(await isPersisted({ redis, pool: database.pool }, SHARD)).toBe(true);
  expect(await drained).toBe(1);
});

test('stores what an ending process leaves as well', async () => {
  await redis.set(sweepKey(SHARD), 'goes on');
  await writeEntry(redis, SHARD, { records: [eventRecord()] });
  const ending = new AbortController();
  const drained = persister.drain(SHARD, ending.signal);
  await expect.poll(() => persister.gaveWay(SHARD)).toBe(true);
  ending.abort();
  expect(await drained).toBe(1);
});

test('a sweep that died blocks nothing', async () => {
  await noteSweep(redis, SHARD);
  expect(await redis.pttl(sweepKey(SHARD))).toBeGreaterThan(0);
  await writeEntry(redis, SHARD, { records: [eventRecord()] });
  expect(await persister.drain(SHARD)).toBe(1);
});
