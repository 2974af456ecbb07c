import { createHash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { packedUse, UNKNOWN_BODY } from '../../src/redis/idempotency.ts';
import { idempotencyKey, oldKeysKey } from '../../src/redis/keys.ts';
import { ageKeys, findAgedKeys, oldKeysHeld, scanBuckets, type BucketKeys } from '../../src/redis/old-keys.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { onlyPart } from '../stack/only-part.ts';

const redis = await connectedRedis();
beforeEach(async () => {
  await redis.flushall();
});

/** The place of the nth key of a run of the tests. */
function place(n: number | string, tenantNo = 0): { tenantNo: number; bucket: string; field: string } {
  const digest = createHash('sha1').update(`${process.env['SEED']} ${n}`).digest();
  return {
    tenantNo,
    bucket: idempotencyKey(onlyPart(tenantNo), (digest.readUInt16BE(0) & 0x1fff).toString(16).padStart(4, '0')),
    field: digest.toString('base64url', 2, 14),
  };
}

/** Makes keys hot at a time, then finds and moves those from before another one. */
async function use(places: readonly ReturnType<typeof place>[], timeMs: number): Promise<void> {
  const pipeline = redis.pipeline();
  for (const { bucket, field } of places) pipeline.hset(bucket, field, packedUse(timeMs, UNKNOWN_BODY));
  await pipeline.exec();
}
async function ageAll(beforeMs: number): Promise<number> {
  let moved = 0;
  let cursor = '0';
  do {
    const found = await scanBuckets(redis, cursor, 1_000);
    moved += await ageKeys(redis, await findAgedKeys(redis, found.buckets, beforeMs));
    cursor = found.cursor;
  } while (cursor !== '0');
  return moved;
}

test('at every fill level finds old keys, and less than one in a hundred new ones looks old', async () => {
  const old: ReturnType<typeof place>[] = [];
  for (const fill of [1, 2, 383, 384, 385, 900, 5_000, 40_000]) {
    const added = Array.from({ length: fill - old.length }, (_, n) => place(old.length + n));
    await use(added, 10);
    expect(await ageAll(11)).toBe(added.length);
    old.push(...added);
    expect(await redis.hgetall(oldKeysKey(onlyPart(0)))).toEqual({ n: String(fill), s: String(Math.ceil(fill / 384)) });
    expect((await oldKeysHeld(redis, old)).every(Boolean)).toBe(true);
    const others = Array.from({ length: 10_000 }, (_, n) => place(`new ${fill} ${n}`));
    expect((await oldKeysHeld(redis, others)).filter(Boolean).length).toBeLessThan(100);
  }
});

test('moves only keys from before the time, each to its own tenant', async () => {
  // Tenant 8 is on the same shard, 1 on another.
  const young = [place('a'), place('b', 8), place('c', 1)];
  const old = [place('d'), place('e', 8), place('f', 1)];
  await use(young, 20);
  await use(old, 19);
  expect(await ageAll(20)).toBe(3);
  expect(await oldKeysHeld(redis, old)).toEqual([true, true, true]);
  expect(await oldKeysHeld(redis, young)).toEqual([false, false, false]);
  for (const { bucket, field } of young) expect(await redis.hget(bucket, field)).toBe(packedUse(20, UNKNOWN_BODY));
  expect(await ageAll(20)).toBe(0);
});

test('moving a key again changes nothing', async () => {
  const { tenantNo, bucket, field } = place('once');
  await use([place('once')], 5);
  const keys: BucketKeys[] = [{ tenantNo, bucket, fields: [field] }];
  expect(await ageKeys(redis, keys)).toBe(1);
  const before = await redis.hgetall(oldKeysKey(onlyPart(0)));
  expect(await ageKeys(redis, keys)).toBe(0);
  expect(await redis.hgetall(oldKeysKey(onlyPart(0)))).toEqual(before);
});

test('moves a bucket with more keys than a call takes completely', async () => {
  const fields = Array.from({ length: 700 }, (_, n) => place(n).field);
  const bucket = idempotencyKey(onlyPart(3), 'beef');
  const pipeline = redis.pipeline();
  for (const field of fields) pipeline.hset(bucket, field, 1);
  await pipeline.exec();
  expect(await ageAll(2)).toBe(700);
  expect(await redis.exists(bucket)).toBe(0);
  const held = await oldKeysHeld(
    redis,
    fields.map((field) => ({ tenantNo: 3, bucket, field })),
  );
  expect(held.every(Boolean)).toBe(true);
});
