import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'bullmq';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createPatientRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { backlog } from '../../../src/redis/outbox.ts';
import { WakeUp } from '../../../src/redis/wake-up.ts';
import { persistWorker } from '../../../workers/jobs/persist.ts';
import { eventRecord, writeEntry } from '../../engine/persist/outbox-writer.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';

let database: TestDatabase;
let redis: Redis;
let queueRedis: Redis;
let wakeUp: WakeUp;
const workers: Worker[] = [];
const ending = new AbortController();

beforeAll(async () => {
  database = await testDatabase();
  redis = createRedis(database.stack.redisUrl);
  queueRedis = createPatientRedis(database.stack.redisUrl);
  await redisReady(redis);
  wakeUp = new WakeUp(redis);
  // Two, as on two machines, and no watch: what is stored here is stored because of a wake-up.
  for (let n = 0; n < 2; n++) {
    const persister = new Persister({ redis, pool: database.pool });
    const log = pino({ level: 'silent' });
    workers.push(persistWorker({ redis: queueRedis, persister, log, ending: ending.signal }));
  }
});

afterAll(async () => {
  ending.abort();
  await wakeUp.close();
  await Promise.all(workers.map((worker) => worker.close()));
  redis.disconnect();
  queueRedis.disconnect();
  await database.close();
});

const stored = async (): Promise<number> =>
  Number((await database.pool.query<{ n: number }>('SELECT count(*) AS n FROM events')).rows[0]?.n);

test('every event is stored by its wake-up, also one that comes while the job of an earlier one ends', async () => {
  // A job lingers for about 100 ms after its last batch: pauses around that hit its end.
  const pauses = fc.sample(fc.integer({ min: 80, max: 140 }), { numRuns: 40, seed: Number(process.env['SEED']) });
  for (const pause of pauses) {
    await writeEntry(redis, 1, { records: [eventRecord()] });
    wakeUp.touched(1);
    await sleep(pause);
  }
  await expect.poll(stored, { timeout: 30_000 }).toBe(pauses.length);
  expect(await backlog(redis, 1)).toBe(0);
});
