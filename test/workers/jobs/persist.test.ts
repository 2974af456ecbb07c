import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createPatientRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import { QUEUE_PREFIX } from '../../../src/redis/keys.ts';
import { PERSIST_QUEUE, WakeUp } from '../../../src/redis/wake-up.ts';
import { persistWorker } from '../../../workers/jobs/persist.ts';
import { eventRecord, writeEntry } from '../../engine/persist/outbox-writer.ts';
import { testDatabase } from '../../postgres/database.ts';
import { opened } from '../../stack/opened.ts';

let redis: Redis;
let queueRedis: Redis;
let wakeUp: WakeUp;
const workers: Worker[] = [];
const ending = new AbortController();
/** Runs once between the last check of the outbox and the end of a job that stored something. */
let afterDrain: (() => Promise<void>) | null = null;

const database = opened(() => testDatabase());
beforeAll(async () => {
  redis = createRedis(database.stack.redisUrl);
  queueRedis = createPatientRedis(database.stack.redisUrl);
  await redisReady(redis);
  wakeUp = new WakeUp(redis);
  // Two, as on two machines, and no watch: everything stored here is stored because of a wake-up.
  for (let n = 0; n < 2; n++) {
    const persister = new Persister({ redis, pool: database.pool });
    const drain: Persister['drain'] = async (shard, hurry) => {
      const entries = await persister.drain(shard, hurry);
      // Jobs of earlier wake-ups may still find nothing.
      if (entries === 0) return entries;
      const then = afterDrain;
      afterDrain = null;
      await then?.();
      return entries;
    };
    const log = pino({ level: 'silent' });
    workers.push(persistWorker({ redis: queueRedis, persister: { drain }, log, ending: ending.signal }));
  }
});

afterAll(async () => {
  ending.abort();
  await wakeUp.close();
  await Promise.all(workers.map((worker) => worker.close()));
  redis.disconnect();
  queueRedis.disconnect();
});

const stored = async (): Promise<number> =>
  Number((await database.pool.query<{ n: number }>('SELECT count(*) AS n FROM events')).rows[0]?.n);

async function write(): Promise<void> {
  await writeEntry(redis, 1, { records: [eventRecord()] });
  wakeUp.touched(1);
}

const patience = { interval: 20 };

test('wake-ups store events', async () => {
  for (let n = 0; n < 100; n++) {
    await write();
    await sleep(n % 5);
  }
  await expect.poll(stored, patience).toBe(100);
  // Entries leave the outbox after the commit.
  await expect.poll(() => backlog(redis, 1), patience).toBe(0);
});

test('the next job stores an event that arrives after the last check of an earlier job', async () => {
  const before = await stored();
  let wasLate = false;
  afterDrain = async () => {
    await write();
    // The wake-up has gone out while this job is still active: BullMQ keeps it for when the job ends.
    await expect.poll(() => redis.exists(`${QUEUE_PREFIX}:${PERSIST_QUEUE}:dn:1`)).toBe(1);
    wasLate = (await stored()) === before + 1;
  };
  await write();
  await expect.poll(stored, patience).toBe(before + 2);
  expect(wasLate).toBe(true);
});
