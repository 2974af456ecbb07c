import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import {
  bodyDigest,
  forgetUsedKeys,
  hotUse,
  isOtherBody,
  narrowBucket,
  packedUse,
  timeOfUse,
  UNKNOWN_BODY,
  USED,
  wideBucket,
} from '../../src/redis/idempotency.ts';
import { idempotencyKey, oldKeysKey } from '../../src/redis/keys.ts';
import { ageKeys, findAgedKeys, oldKeysHeld, scanBuckets } from '../../src/redis/old-keys.ts';
import { readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { onlyPart } from '../stack/only-part.ts';

const redis = await connectedRedis();
const SCRIPT = readScript(join(PACKAGE_ROOT, 'lua', 'lib', 'idempotency_keys.lua'));
const OLD_KEYS = oldKeysKey(onlyPart(0));
/** Records one use like a script. */
const noteUse = (bucket: string, field: string, use: string): Promise<unknown> =>
  redis.eval(
    `${SCRIPT} note_use(tenant_keys(KEYS[1]), KEYS[2], narrow_bucket(KEYS[2], ARGV[1]), ARGV[1], ARGV[2])`,
    2,
    OLD_KEYS,
    bucket,
    field,
    use,
  );
const hotUseByScript = (bucket: string, field: string): Promise<unknown> =>
  redis.eval(
    `${SCRIPT} return string.sub(hot_use(KEYS[2], narrow_bucket(KEYS[2], ARGV[1]), ARGV[1], tenant_keys(KEYS[1]).is_large) or '', 1, -6)`,
    2,
    OLD_KEYS,
    bucket,
    field,
  );

beforeEach(async () => {
  await redis.flushall();
});

const fieldOf = (n: number): string =>
  createHash('sha1').update(`${process.env['SEED']} ${n}`).digest().toString('base64url', 2, 14);

const BUCKET = '15af';
const WIDE = idempotencyKey(onlyPart(0), BUCKET);

/** Keys of one wide bucket, each with its own use: more than it takes. */
const USES = Array.from({ length: 4 * USED.wideKeys }, (_, n) => ({
  bucket: BUCKET,
  field: fieldOf(n),
  use: packedUse(1_700_000_000_000 + n, bodyDigest(String(n))),
}));

async function noteAll(): Promise<void> {
  for (const { field, use } of USES) await noteUse(WIDE, field, use);
}

/** The number of hot keys; each is either hot for both sides, with its use, or for none. */
async function hotOnes(): Promise<number> {
  let hot = 0;
  for (const { field, use } of USES) {
    const found = await hotUse(redis, WIDE, field);
    expect([null, timeOfUse(use)]).toContain(found);
    expect(await hotUseByScript(WIDE, field)).toBe(found ?? '');
    if (found !== null) hot += 1;
  }
  return hot;
}

test('both sides have the same rule for narrow buckets', async () => {
  for (const { field } of USES.slice(0, 64)) {
    const narrow = narrowBucket(WIDE, field);
    expect(await redis.eval(`${SCRIPT} return narrow_bucket(KEYS[1], ARGV[1])`, 1, WIDE, field)).toBe(narrow);
    expect([wideBucket(narrow), wideBucket(WIDE)]).toEqual([WIDE, WIDE]);
  }
});

test('fills a wide bucket first, then the narrow ones; finds all keys in either', async () => {
  await noteAll();
  const wide = await redis.hlen(WIDE);
  // The first of some eight keys behind the last that it may take sees it.
  expect(wide).toBeGreaterThanOrEqual(USED.wideKeys);
  expect(wide).toBeLessThan(2 * USED.wideKeys);
  const buckets = await redis.keys(`${WIDE}?`);
  const lengths = await Promise.all(buckets.map((key) => redis.hlen(key)));
  expect(lengths.reduce((sum, length) => sum + length, wide)).toBe(USES.length);
  expect(lengths).toHaveLength(USED.narrow);
  expect(await hotOnes()).toBe(USES.length);
  expect(await hotUse(redis, WIDE, fieldOf(-1))).toBeNull();
  expect(await hotUseByScript(WIDE, fieldOf(-1))).toBe('');
});

test('keys stay found while those before them become old, and each is itself old then, once', async () => {
  await noteAll();
  const places = USES.map(({ field }) => ({ tenantNo: 0, bucket: WIDE, field }));
  for (const old of [3, USED.wideKeys, 2 * USED.wideKeys, USES.length]) {
    let cursor = '0';
    do {
      const found = await scanBuckets(redis, cursor, 1_000);
      await ageKeys(redis, await findAgedKeys(redis, found.buckets, 1_700_000_000_000 + old));
      cursor = found.cursor;
    } while (cursor !== '0');
    expect(await hotOnes()).toBe(USES.length - old);
    // Among the keys of one bucket, a hot one may look like an old one: 22 bits distinguish them.
    expect((await oldKeysHeld(redis, places.slice(0, old))).every(Boolean)).toBe(true);
    expect(await redis.hget(OLD_KEYS, 'n')).toBe(String(old));
  }
});

test('forgotten keys are in neither bucket', async () => {
  await noteAll();
  await forgetUsedKeys(redis, onlyPart(0), USES);
  expect(await hotOnes()).toBe(0);
  expect(await redis.keys('*')).toEqual([OLD_KEYS]);
});

test('a use contains its time and a digest of the body; only a known, different body is a conflict', async () => {
  const [first, other] = [
    packedUse(1_764_115_200_000, bodyDigest('[1]')),
    packedUse(1_764_115_300_000, bodyDigest('[2]')),
  ];
  expect(timeOfUse(first)).toBe('1764115200000');
  expect([isOtherBody(first, bodyDigest('[1]')), isOtherBody(first, other)]).toEqual([false, true]);
  expect(isOtherBody(packedUse(1, UNKNOWN_BODY), other)).toBe(false);
  // A digest must never mean "unknown", and every use must fit the 8-byte integers that Redis packs.
  const digests = Array.from({ length: 200_000 }, (_, n) => bodyDigest(String(n)));
  expect(digests.filter((digest) => digest === UNKNOWN_BODY || digest.length !== 5)).toEqual([]);
  await noteUse(WIDE, 'field', packedUse(9_999_999_999_999, '99999'));
  expect(await hotUse(redis, WIDE, 'field')).toBe('9999999999999');
  expect(await redis.object('ENCODING', WIDE)).toBe('listpack');
});
