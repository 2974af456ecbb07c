import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { RedisGuard } from '../../../src/engine/availability/redis-guard.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { startWorkers } from '../../../workers/start.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { dump } from './dump.ts';
import { OwnRedis } from './own-redis.ts';
import { emptyRedis } from '../../stack/all-servers.ts';

const log = createLog({ level: 'fatal', name: 'test' });

let own: OwnRedis;
let laurel: TestLaurel;
let other: Awaited<ReturnType<TestLaurel['another']>>;
let closing: (() => Promise<unknown>)[];

beforeEach(async () => {
  closing = [];
  own = await OwnRedis.start();
  laurel = await startLaurel({ configuration: STUDY_APP, redisUrl: own.url });
  other = await laurel.another();
});
afterEach(async () => {
  for (const close of closing) await close();
  await laurel.close();
  await own.close();
});

async function work(): Promise<void> {
  const workers = await startWorkers({ redisUrl: own.url, databaseUrl: laurel.databaseUrl, log });
  closing.push(() => workers.close());
}

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

const epoch = async (): Promise<number> =>
  (await laurel.pool.query<{ epoch: number }>('SELECT epoch FROM redis_epoch')).rows[0]!.epoch;

async function event(
  user: string,
  value: number,
  key?: string,
): Promise<{ status: number; body: { total: number; eventId: string } }> {
  return laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id: user, attributes: { plan: 'pro' } }, value },
    key === undefined ? {} : { headers: { 'Idempotency-Key': key } },
  );
}

/** Like a client: retries until it is accepted. Returns the number of 503s before that, and the answer. */
async function insist(
  user: string,
  value: number,
  key: string,
): Promise<{ refused: number; body: { total: number; eventId: string } }> {
  for (let refused = 0; ; refused += 1) {
    const { status, body } = await event(user, value, key);
    if (status !== 503) {
      expect([201, 202]).toContain(status);
      return { refused, body };
    }
    await sleep(20);
  }
}

/** Events that are accepted, one after another: on a busy machine one may be refused. */
async function act(user: string, value: number, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) await insist(user, value, `act ${(acts += 1)}`);
}
let acts = 0;

const total = async (user: string): Promise<number> => {
  const { body } = await laurel.app.get(`/v1/users/${user}/metrics/flips`);
  return body.current as number;
};

const outbox = (): Promise<number> => laurel.redis.xlen('{s0}:outbox');

test('Redis returns empty under running frontends and workers: 503 until it is complete again, and nothing is forgotten', async () => {
  await work();
  const first = await insist('ada', 7, 'first');
  for (let n = 0; n < 40; n += 1) await act(`user ${n % 10}`, 1.5, 1);
  await expect.poll(outbox).toBe(0);
  expect(await stored()).toBe(41);
  const before = await dump(laurel.redis);

  await own.kill();
  own.lose();
  const refused = await event('ada', 1, 'second');
  expect(refused.status).toBe(503);
  const clients = Array.from({ length: 8 }, (_, n) => insist('ada', 1, `back ${n}`));
  await own.start();

  expect((await Promise.all(clients)).some(({ refused: count }) => count > 0)).toBe(true);
  expect((await insist('ada', 1, 'first')).body).toMatchObject({ eventId: first.body.eventId, total: 15 });
  // The other frontend checks for itself whether Redis is complete.
  await expect.poll(async () => (await other.app.get('/v1/users/ada/metrics/flips')).body.current).toBe(15);
  await expect.poll(stored).toBe(49);
  const after = await dump(laurel.redis);
  const ofOthers = Object.entries(before).filter(([key]) => key.includes(':u:user'));
  expect(ofOthers.length).toBe(10);
  expect(after).toMatchObject(Object.fromEntries(ofOthers));
  expect(after['{s0}:0:n']).toMatchObject(before['{s0}:0:n'] as object);
  expect(await epoch()).toBe(2);
});

test('somebody empties Redis while everything runs', async () => {
  await work();
  await act('ada', 1, 20);
  await expect.poll(outbox).toBe(0);
  await emptyRedis(laurel.redis);
  await insist('ada', 1, 'after');
  expect((await insist('ada', 1, 'last')).body.total).toBe(22);
  await expect.poll(stored).toBe(22);
});

test('the end of its log was cut off: restores what Postgres holds', async () => {
  await work();
  for (let n = 0; n < 5; n += 1) await insist('ada', 1, `key ${n}`);
  await expect.poll(outbox).toBe(0);
  const bytes = own.logBytes();
  const last = await insist('ada', 1, 'last');
  await act('eve', 100, 1);
  await expect.poll(stored).toBe(7);
  await expect.poll(outbox).toBe(0);
  const before = await dump(laurel.redis);

  await own.kill();
  own.cutLog(bytes);
  await own.start();

  await insist('ada', 1, 'key 3');
  expect((await insist('ada', 1, 'last')).body).toMatchObject({ eventId: last.body.eventId, total: 6 });
  expect(await dump(laurel.redis)).toEqual(before);
  expect(await epoch()).toBe(2);
});

test('does not process a batch again that was processed after the moment to which Redis was reset', async () => {
  const events = Array.from({ length: 350 }, (_, n) => ({ key: 'flips', user: { id: `user ${n % 3}` }, value: 1 }));
  expect((await laurel.admin.post('/v1/metrics/events', events)).status).toBe(202);
  const bytes = own.logBytes();
  await work();
  await expect.poll(stored).toBe(350);
  await expect.poll(outbox).toBe(0);
  const before = await dump(laurel.redis);

  await own.kill();
  own.cutLog(bytes);
  await own.start();

  await expect.poll(async () => (await laurel.app.get('/v1/users/user 0')).status).toBe(200);
  await expect.poll(() => laurel.redis.xlen('{s0}:batches')).toBe(0);
  await expect.poll(outbox).toBe(0);
  expect(await stored()).toBe(350);
  expect(await dump(laurel.redis)).toEqual(before);
});

test('accepts a Redis that only restarted: what it holds beyond Postgres stays', async () => {
  await act('ada', 1, 5);
  await own.kill();
  await own.start();
  await insist('ada', 1, 'sixth');
  expect((await insist('ada', 1, 'seventh')).body.total).toBe(7);
  expect(await epoch()).toBe(1);
  await work();
  await expect.poll(stored).toBe(7);
});

describe('what a persister read from a Redis that is gone', () => {
  test('is not stored after another one was accepted', async () => {
    const redis = createRedis(own.url);
    redis.on('error', () => undefined);
    await redisReady(redis);
    const guard = new RedisGuard({ redis, pool: laurel.pool, log });
    await guard.start();
    closing.push(async () => {
      await guard.close();
      redis.disconnect();
    });
    let wasRead = (): void => undefined;
    const read = new Promise<void>((resolve) => (wasRead = resolve));
    let goOn = (): void => undefined;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const persister = new Persister({
      redis,
      pool: laurel.pool,
      gate: guard.gate,
      onStep: async (step) => {
        if (step !== 'read') return;
        wasRead();
        await held;
      },
    });
    await act('ada', 1, 1);
    const bytes = own.logBytes();
    await act('ada', 10, 1);
    const draining = persister.drain(0);
    await read;

    // Redis loses the second event while the persister holds it; nobody can know, so Postgres must not get it either.
    await own.kill();
    own.cutLog(bytes);
    await own.start();
    await insist('eve', 1, 'key');
    goOn();
    await draining.catch(() => undefined);

    expect(await stored()).toBe(0);
    const next = new Persister({ redis, pool: laurel.pool, gate: guard.gate });
    await expect.poll(async () => (await next.drain(0, AbortSignal.abort()), stored())).toBe(2);
    await expect.poll(() => total('ada')).toBe(1);
  });
});

test('leaves the Redis of another Laurel alone, and says whose it is', async () => {
  await act('ada', 1, 1);
  // A start waits only 2 s for what Redis holds, which may be too short on a busy machine.
  let problem: Error | null = null;
  while (problem === null)
    await startLaurel({ redisUrl: own.url }).then(
      (started) => started.close(),
      (error: Error) => void (problem = error),
    );
  expect((problem as Error).message).toContain('another Laurel');
  expect((await insist('ada', 1, 'second')).body.total).toBe(2);
});
