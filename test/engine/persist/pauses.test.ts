import { beforeAll, expect, test } from 'vitest';
import { isPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { lastPosition } from '../../../src/redis/outbox.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

const SHARD = 7;
/** So many that the pause after them is long. */
const MANY = 150;
const LONG_MS = 500;

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
});

const write = (events: number): Promise<string> =>
  writeEntry(redis, SHARD, { records: Array.from({ length: events }, () => eventRecord()) });

/** Stores many events, then one more that comes in the pause after them. Returns how long that one waited. */
async function pauseWith(during: (persister: Persister) => Promise<unknown>): Promise<number> {
  const storedMs: number[] = [];
  const persister = new Persister({
    redis,
    pool: database.pool,
    onStep: async (step) => {
      // The next one is there before the pause begins.
      if (step === 'committed' && storedMs.push(performance.now()) === 1) await write(1);
    },
  });
  await write(MANY);
  const drained = persister.drain(SHARD);
  await expect.poll(() => storedMs.length, { interval: 5 }).toBeGreaterThan(0);
  await during(persister);
  expect(await drained).toBe(2);
  return storedMs[1]! - storedMs[0]!;
}

test('many events are followed by a long pause', async () => {
  expect(await pauseWith(() => Promise.resolve())).toBeGreaterThanOrEqual(LONG_MS - 5);
});

test.each([
  ['a caller who waits', () => isPersisted({ redis, pool: database.pool }, SHARD)],
  ['work that waits for all events', (persister: Persister) => Promise.resolve(persister.hasten(SHARD))],
])('%s ends it', async (_, during) => {
  // On a busy machine, storing may take as long as the pause.
  let waitedMs = Infinity;
  for (let tries = 0; tries < 50 && waitedMs >= LONG_MS; tries += 1)
    waitedMs = Math.min(waitedMs, await pauseWith(during));
  expect(waitedMs).toBeLessThan(LONG_MS);
});

test('storing up to a position ends there, however many events follow', async () => {
  let isFirst = true;
  const persister = new Persister({
    redis,
    pool: database.pool,
    // Without an end, each batch would find the next event.
    onStep: async (step) => {
      if (step === 'written' && isFirst) await write(1);
      if (step === 'written') isFirst = false;
    },
  });
  await write(1);
  const upTo = await lastPosition(redis, SHARD);
  expect(await persister.drain(SHARD, AbortSignal.abort(), upTo)).toBe(1);
  expect(await persister.drain(SHARD, AbortSignal.abort())).toBe(1);
});
