import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { startWorkers, type Workers } from '../../workers/start.ts';
import { OwnRedis } from '../engine/rebuild/own-redis.ts';
import { testDatabase } from '../postgres/database.ts';
import { OwnSentinel } from './own-sentinel.ts';

/** Ends what was started, in reverse order, after any failure. */
const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

test('a worker ends though its Redis and all Sentinels are gone for good', async () => {
  const database = await testDatabase();
  closing.unshift(() => database.close());
  const master = await OwnRedis.start();
  closing.unshift(() => master.close());
  const replica = await OwnRedis.start();
  closing.unshift(() => replica.close());
  await replica.follow(master);
  const sentinel = await OwnSentinel.start(master, null);
  let workers: Workers;
  try {
    const log = pino({ level: 'silent' });
    workers = await startWorkers({ redisUrl: sentinel.url, databaseUrl: database.stack.databaseUrl, log });
  } finally {
    await sentinel.close();
  }
  await Promise.all([master.kill(), replica.kill()]);
  await expect(workers.close(0)).resolves.toBeUndefined();
});
