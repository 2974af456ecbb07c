import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import type { ScheduledWork } from '../../src/engine/schedule/due-work.ts';
import { Persister } from '../../src/engine/persist/persister.ts';
import { RedisGuards } from '../../src/engine/availability/redis-guards.ts';
import { Schedule } from '../../src/engine/schedule/schedule.ts';
import { createPatientRedis, createRedis, redisReady } from '../../src/redis/client.ts';
import { batchesKey, SHARD_NUMBERS } from '../../src/redis/keys.ts';
import { noteShardsInUse } from '../../src/redis/endpoints.ts';
import { Signals } from '../../src/redis/signals.ts';
import { batchWorker } from '../../workers/jobs/batch.ts';
import { scheduleWorker } from '../../workers/jobs/schedule.ts';
import { jobWorker } from '../../workers/jobs/run-jobs.ts';
import { watchOutbox } from '../../workers/watch.ts';
import { eventRecord, writeEntry } from '../engine/persist/outbox-writer.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

/** With this interval polling does nothing in these tests. */
const backstopMs = 3_600_000;
const log = pino({ level: 'silent' });
let ending: AbortController;
let signals: Signals;

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
  signals = new Signals(redis);
  await signals.start();
});

beforeEach(() => {
  ending = new AbortController();
});

afterEach(() => noteShardsInUse(redis, null));

afterAll(async () => {
  await signals.close();
});

/** The number of calls of each command of Redis. */
const allCalls = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    [...(await redis.info('commandstats')).matchAll(/cmdstat_([^:]+):calls=(\d+)/g)].map(([, name, count]) => [
      name!,
      Number(count),
    ]),
  );

const calls = async (command: string): Promise<number> => (await allCalls())[command] ?? 0;

/** Writes an entry without announcing it; returns its event's ID. */
async function writeEvent(shard: number): Promise<string> {
  const record = eventRecord();
  await writeEntry(redis, shard, { records: [record] });
  return record.i;
}

const stored = async (id: string): Promise<boolean> =>
  (await database.pool.query('SELECT FROM events WHERE id = $1', [id])).rowCount === 1;

/** A watch of the outboxes that has made its first check. */
async function watching(interval: number): Promise<{ close(): Promise<void> }> {
  const persister = new Persister({ redis, pool: database.pool });
  const first = await writeEvent(1);
  const watch = watchOutbox({ redis, signals, persister, log, ending: ending.signal, backstopMs: interval });
  await expect.poll(() => stored(first)).toBe(true);
  return watch;
}

test('a signal stores an entry without a wake-up, even in shards not known to be in use', async () => {
  noteShardsInUse(redis, [3]);
  const watch = await watching(backstopMs);
  for (const shard of [3, 5]) {
    const id = await writeEvent(shard);
    signals.announce('outbox', shard);
    await expect.poll(() => stored(id)).toBe(true);
  }
  await watch.close();
});

test('polling stores an entry whose wake-up and signal are lost', async () => {
  const watch = await watching(20);
  const id = await writeEvent(5);
  await expect.poll(() => stored(id)).toBe(true);
  await watch.close();
});

/** A batch worker that records the shards it was called for, and forgets their batches. */
function batches(interval: number): { drained: number[]; close: () => Promise<void> } {
  const queueRedis = createPatientRedis(database.stack.redisUrl);
  const drained: number[] = [];
  const processor = {
    drain: async (shard: number) => {
      drained.push(shard);
      await redis.del(batchesKey(shard));
    },
  };
  const worker = batchWorker({
    redis,
    signals,
    queueRedis,
    processor,
    log,
    ending: ending.signal,
    backstopMs: interval,
  });
  return {
    drained,
    close: async () => {
      ending.abort();
      await worker.close();
      queueRedis.disconnect();
    },
  };
}

test.for([
  ['because of its signal', backstopMs],
  ['at the backstop if its signal is lost', 20],
] as const)('picks up a batch without a wake-up %s', async ([, interval]) => {
  noteShardsInUse(redis, [3]);
  await redis.xadd(batchesKey(4), '*', 'a', 'b');
  const { drained, close } = batches(interval);
  await expect.poll(() => drained).toContain(4);
  await redis.xadd(batchesKey(6), '*', 'a', 'b');
  if (interval === backstopMs) signals.announce('batches', 6);
  await expect.poll(() => drained).toContain(6);
  await close();
});

test('while idle one command checks the outboxes or batches of all shards, regardless of the number with a tenant', async () => {
  noteShardsInUse(redis, SHARD_NUMBERS);
  const { close } = batches(20);
  const persister = new Persister({ redis, pool: database.pool });
  const watch = watchOutbox({ redis, signals, persister, log, ending: ending.signal, backstopMs: 20 });
  const ofShards = async (): Promise<number[]> => Promise.all(['xlen', 'xrange', 'xinfo'].map(calls));
  const counted = { shards: await ofShards(), reads: await calls('xread') };
  await expect.poll(() => calls('xread')).toBeGreaterThan(counted.reads + 20);
  expect(await ofShards()).toEqual(counted.shards);
  await watch.close();
  await close();
});

test('while idle a process checks the marks of all shards with one command, and otherwise sends only INFO', async () => {
  const guard = new RedisGuards({ redis, pool: database.pool, log });
  await guard.start();
  await expect.poll(() => guard.isWhole).toBe(true);
  noteShardsInUse(redis, SHARD_NUMBERS);
  const looks = async (more: number): Promise<unknown> => {
    const so = await calls('mget');
    return expect.poll(() => calls('mget')).toBeGreaterThanOrEqual(so + more);
  };
  // The first check after the start compares each shard with Postgres, which is repeated after a minute.
  await looks(3);
  const before = await allCalls();
  await looks(2);
  const after = await allCalls();
  expect({ ...after, info: 0, mget: 0 }).toEqual({ ...before, info: 0, mget: 0 });
  await guard.close();
});

test('runs jobs when they are announced, until there are none', async () => {
  let slices = 0;
  let looks = 0;
  const runner = {
    step: async () => slices > 0 && (slices -= 1) >= 0,
    untilNextMs: async () => ((looks += 1) > 0 && slices > 0 ? 0 : null),
  };
  const worker = jobWorker({ runner, log, ending: ending.signal, lanes: 1 });
  await expect.poll(() => looks).toBe(1);
  slices = 3;
  worker.wake();
  await expect.poll(() => looks).toBe(2);
  expect(slices).toBe(0);
  ending.abort();
  await worker.close();
});

test('looks for jobs with one lane; a lane that begins a slice has the next one look, up to the number of lanes', async () => {
  let [waiting, looks] = [0, 0];
  const slices: (() => void)[] = [];
  const end = (): void => slices.splice(0).forEach((slice) => slice());
  const runner = {
    step: async (onLeased?: () => void) => {
      looks += 1;
      if (waiting === 0) return false;
      waiting -= 1;
      onLeased?.();
      await new Promise<void>((resolve) => slices.push(resolve));
      return true;
    },
    untilNextMs: async () => null,
  };
  const worker = jobWorker({ runner, log, ending: ending.signal, lanes: 3 });
  await expect.poll(() => looks).toBe(1);
  await sleep(50);
  expect(looks).toBe(1);
  waiting = 1;
  worker.wake();
  await expect.poll(() => looks).toBe(3);
  // A job that is announced while the first lane works does not wait for it.
  waiting = 1;
  worker.wake();
  await expect.poll(() => slices.length).toBe(2);
  waiting = 4;
  worker.wake();
  await expect.poll(() => slices.length).toBe(3);
  worker.wake();
  await sleep(50);
  expect([slices.length, waiting]).toEqual([3, 3]);
  // Lanes that end a slice look again by themselves.
  await expect.poll(() => (end(), waiting)).toBe(0);
  ending.abort();
  end();
  await worker.close();
});

test('retries a job that may not run yet, without a wake-up', async () => {
  let tries = 0;
  let waits = true;
  const runner = {
    step: async () => (tries += 1) === 3 && !(waits = false),
    untilNextMs: async () => (waits ? 10_000 : null),
  };
  const worker = jobWorker({ runner, log, ending: ending.signal, everyMs: 1, lanes: 1 });
  await expect.poll(() => waits).toBe(false);
  ending.abort();
  await worker.close();
});

/** Work at some times, of which only those in `foreseen` are known beforehand. */
class Listed implements ScheduledWork {
  readonly name = 'listed';
  times: number[] = [];
  foreseen: number[] = [];
  looks = 0;
  readonly done: number[] = [];

  async due(upToMs: number): Promise<number | null> {
    this.looks += 1;
    return this.times.find((time) => time <= upToMs) ?? null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return this.foreseen.find((time) => time <= untilMs) ?? null;
  }

  async perform(dueMs: number): Promise<void> {
    this.times = this.times.filter((time) => time !== dueMs);
    this.foreseen = this.times;
    this.done.push(dueMs);
  }
}

function scheduled(kind: Listed, clock: { now(): number }): ReturnType<typeof scheduleWorker> {
  const schedule = new Schedule({ kinds: [kind], clock, settled: async () => true, onTrouble: () => undefined });
  return scheduleWorker({
    pass: () => schedule.pass(ending.signal),
    untilNextMs: (withinMs) => schedule.untilNextMs(withinMs),
    log,
    ending: ending.signal,
    backstopMs,
  });
}

test('the schedule waits for the next known time, and does what is due then', async () => {
  const kind = new Listed();
  const nowMs = Date.now();
  kind.times = kind.foreseen = [nowMs + 300, nowMs + 350];
  const worker = scheduled(kind, { now: () => Date.now() });
  await expect.poll(() => kind.done).toEqual([nowMs + 300, nowMs + 350]);
  await worker.close();
});

test('the schedule does what becomes due meanwhile when it is woken', async () => {
  const kind = new Listed();
  const worker = scheduled(kind, new FixedClock(1_000));
  await expect.poll(() => kind.looks).toBe(1);
  kind.times = [900];
  worker.wake(1);
  await expect.poll(() => kind.done).toEqual([900]);
  await worker.close();
});
