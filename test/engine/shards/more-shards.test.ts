import { afterEach, beforeEach, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { REBUILD_LOCK } from '../../../src/engine/rebuild/accept.ts';
import { rebuild } from '../../../src/engine/rebuild/rebuild.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { createLog } from '../../../src/log/log.ts';
import { exclusively } from '../../../src/postgres/exclusively.ts';
import { migrate } from '../../../src/postgres/migrate.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { beliefOf, RedisNotReady } from '../../../src/redis/gate.ts';
import { batchesKey, batchProgressKey, keptEntriesKey, markKey, outboxKey, userKey } from '../../../src/redis/keys.ts';
import { moveMisplacedBatches } from '../../../src/redis/move-batches.ts';
import { packFields } from '../../../src/redis/outbox-entry.ts';
import { readRun } from '../../../src/redis/run.ts';
import { Script } from '../../../src/redis/script.ts';
import { startWorkers, type Workers } from '../../../workers/start.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { dump } from '../rebuild/dump.ts';
import { OwnRedis } from '../rebuild/own-redis.ts';
import { asBefore } from './as-before.ts';

/** In the order of their numbers, 1 to 10: 9 was on shard 1 and 10 on shard 2 of 8, with the tenants 1 and 2. */
const TENANTS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10'];
const log = createLog({ level: 'fatal', name: 'test' });

let own: OwnRedis;
let laurel: TestLaurel;
/** A connection that nobody guards. */
let redis: ReturnType<typeof createRedis>;
let workers: Workers | null = null;

beforeEach(async () => {
  own = await OwnRedis.start();
  laurel = await startLaurel({ redisUrl: own.url });
  redis = createRedis(own.url);
  await redisReady(redis);
  await addTenants(laurel, TENANTS);
});
afterEach(async () => {
  await workers?.close();
  workers = null;
  redis.disconnect();
  await laurel.close();
  await own.close();
});

async function work(): Promise<void> {
  workers = await startWorkers({ redisUrl: own.url, databaseUrl: laurel.databaseUrl, log });
}

async function rest(): Promise<void> {
  await workers?.close();
  workers = null;
}

const event = async (tenantId: string, user: string, key?: string): Promise<number> =>
  (
    await laurel.app.post(
      '/v1/metrics/flips/event',
      { user: { id: user, attributes: { plan: 'pro' } }, value: 2 },
      { tenantId, ...(key !== undefined && { headers: { 'Idempotency-Key': key } }) },
    )
  ).status;

async function total(tenantId: string, user = 'ada'): Promise<number> {
  const { status, body } = (await laurel.app.get(`/v1/users/${user}/metrics/flips`, { tenantId })) as {
    status: number;
    body: { current: number };
  };
  return status === 200 ? body.current : -status;
}

const stored = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

async function differences(): Promise<unknown[]> {
  const found: unknown[] = [];
  await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: (each) => void found.push(each) });
  return found;
}

/** What a process of the version with 8 shards still believes of shard 1. */
interface Old {
  mark: string;
  fence: string;
}

/** A process of the version with 8 shards stores nothing, and takes no Redis for whole. */
async function expectNothingStored(old: Old): Promise<void> {
  const { pool } = laurel;
  const before = await stored();
  expect(await new Persister({ redis, pool, gate: { fenceOf: () => old.fence } }).drain(1)).toBe(0);
  expect(await stored()).toBe(before);
  const accepting = pool.query(
    `SELECT installation, stream_id AS position, fence, batch_progress AS "batchProgress"
       FROM redis_epoch, outbox_cursors WHERE shard < 8 ORDER BY shard`,
  );
  await expect(accepting).rejects.toThrow('column "installation" does not exist');
}

/** Nor does it write anything to Redis. */
async function expectNothingWritten(old: Old): Promise<void> {
  const before = await redis.xlen(batchesKey(1));
  const belief = beliefOf(markKey(1), old.mark, await readRun(redis));
  const call = new Script('add_batch').runBelieving(redis, belief, { keys: [batchesKey(1)], args: ['10', 't', '9'] });
  await expect(call).rejects.toThrow(RedisNotReady);
  expect(await redis.xlen(batchesKey(1))).toBe(before);
}

const crash = new Error('killed');
const STEPS = ['store outbox', 'split shards', 'remove old keys', 'users', 'idempotency keys', 'done'] as const;

test('an installation of 8 shards is carried over at its first start: nothing is lost, nothing counts twice, whatever is killed meanwhile', async () => {
  const { pool } = laurel;
  await work();
  for (const tenantId of TENANTS) for (const user of ['ada', 'eve']) await event(tenantId, user, `${tenantId} ${user}`);
  await expect.poll(stored).toBe(20);
  await rest();
  for (const tenantId of TENANTS) expect(await event(tenantId, 'late')).toBe(201);
  const batch = Array.from({ length: 5 }, () => ({ key: 'flips', user: { id: 'queued' }, value: 2 }));
  for (const tenantId of ['1', '9', '2'])
    expect((await laurel.admin.post('/v1/metrics/events', batch, { tenantId })).status).toBe(202);
  // Two events of the batch of tenant 9 were applied before.
  const [[id] = ['']] = await redis.xrange(batchesKey(9), '-', '+');
  await redis.set(batchProgressKey(9), `${id}:2`);
  const kept = packFields(['t', '9', 'r', 'no record'].map((text) => Buffer.from(text)));
  await redis.hset(keptEntriesKey(9), '1-1', kept);
  await pool.query(
    `INSERT INTO dead_letters (shard, position, tenant_no, user_ids, entry, in_redis, parts, reason)
     VALUES (9, '1-1', 9, '{}', NULL, true, '[{"part":"entry"}]', 'for this test')`,
  );

  let old: Old = { mark: '', fence: '' };
  await exclusively(pool, REBUILD_LOCK, async () => {
    old = await asBefore({ redis, pool });
    expect((await redis.keys('{s9}:*')).length + (await redis.keys('{s10}:*')).length).toBe(0);
    expect(await redis.xlen(outboxKey(1))).toBeGreaterThanOrEqual(2);
    expect(await migrate(pool)).toEqual(['000054_more_shards.sql']);
    await expectNothingStored(old);
    for (const step of STEPS) {
      const killed = rebuild({
        redis,
        pool,
        onProgress: (progress) => {
          if (progress.step === step) throw crash;
        },
      });
      await expect(killed).rejects.toThrow(crash);
      // As one that is killed between moving batches and saying so in Postgres.
      if (step === 'split shards') expect(await moveMisplacedBatches(redis, 1)).toBe(1);
      await expectNothingStored(old);
      await expectNothingWritten(old);
      if (step !== 'done') expect(await event('9', 'meanwhile', 'meanwhile')).toBe(503);
    }
  });
  const insisted = async (): Promise<number> => event('9', 'meanwhile', 'meanwhile');
  await expect.poll(insisted).toBe(201);
  expect(await insisted()).toBe(202);
  await expectNothingStored(old);
  await expectNothingWritten(old);
  await work();
  // 20 and 10 events, the batches without the two that were applied, one meanwhile.
  await expect.poll(stored).toBe(20 + 10 + 5 + 3 + 5 + 1);

  for (const tenantId of TENANTS) {
    expect(await Promise.all(['ada', 'eve', 'late'].map((user) => total(tenantId, user)))).toEqual([2, 2, 2]);
  }
  expect(await Promise.all(['1', '9', '2'].map((tenantId) => total(tenantId, 'queued')))).toEqual([10, 6, 10]);
  expect(await total('9', 'meanwhile')).toBe(2);
  expect(await event('10', 'ada', '10 ada')).toBe(202);
  expect(await total('10')).toBe(2);
  for (const key of Object.keys(await dump(redis))) {
    const [, shard, tenantNo] = /^\{s(\d+)\}:(\d+):/.exec(key) ?? [];
    expect([key, tenantNo ?? shard]).toEqual([key, shard]);
  }
  expect(await redis.exists(userKey(9, 'queued'))).toBe(1);
  const { rows } = await pool.query('SELECT shard FROM dead_letters');
  expect(rows).toEqual([{ shard: 9 }]);
  expect(await redis.hgetallBuffer(keptEntriesKey(9))).toEqual({ '1-1': kept });
  expect(await redis.exists(keptEntriesKey(1))).toBe(0);
  expect(await differences()).toEqual([]);
});
