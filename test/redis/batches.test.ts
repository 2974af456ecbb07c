import { afterAll, beforeEach, expect, test } from 'vitest';
import { addBatch, compareProgress, firstBatch, type AcceptedBatch } from '../../src/redis/batches.ts';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { Gate, RedisNotReady } from '../../src/redis/gate.ts';
import { batchesKey, markKey } from '../../src/redis/keys.ts';
import { readRedisProcessId } from '../../src/redis/server-info.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const SHARD = 3;
const BATCH: AcceptedBatch = {
  tenantNo: SHARD,
  shard: SHARD,
  acceptedMs: 1_700_000_000_000,
  catalogVersion: 2,
  awaited: true,
  events: [{ key: 'flips', user: { id: 'zoë' }, value: 1.5 }],
};

const redis = await connectedRedis();
const guarded = createRedis(`redis://127.0.0.1:${redis.options.port}`);
await redisReady(guarded);
const gate = new Gate(guarded);
afterAll(() => guarded.disconnect());

beforeEach(async () => {
  await redis.flushdb();
  await redis.set(markKey(SHARD), 'mark');
  gate.accept(
    gate.beginInspection([SHARD]),
    new Map([[SHARD, { mark: 'mark', storageEpoch: `1/${await readRedisProcessId(redis)}` }]]),
  );
});

test('adds batches in order, up to the limit', async () => {
  const first = await addBatch(guarded, BATCH, 2);
  expect(await firstBatch(guarded, SHARD)).toEqual({ progress: '', batch: { ...BATCH, id: first } });
  expect(await addBatch(guarded, BATCH, 2)).not.toBe(first);
  expect(await addBatch(guarded, BATCH, 2)).toBeNull();
  expect(await redis.xlen(batchesKey(SHARD))).toBe(2);
});

test.each([
  ['that has lost its mark', () => redis.del(markKey(SHARD))],
  ['that has another epoch', () => redis.set(markKey(SHARD), 'another')],
])('accepts no batch on a shard %s though the gate is open', async (_, act) => {
  await act();
  await expect(addBatch(guarded, BATCH, 2)).rejects.toBeInstanceOf(RedisNotReady);
  expect(await redis.xlen(batchesKey(SHARD))).toBe(0);
  expect(gate.isOpen(SHARD)).toBe(false);
});

test.each([
  ['', '5-1:0', -1],
  ['5-1:0', '', 1],
  ['5-1:100', '5-1:100', 0],
  ['5-1:100', '5-1:99', 1],
  ['5-1:100', '5-2:0', -1],
  ['10-0:0', '9-9:7', 1],
])('the progress %s compared with %s: %i', (a, b, sign) => {
  expect(Math.sign(compareProgress(a, b))).toBe(sign);
});
