import type { Redis } from 'ioredis';
import { packedUse, UNKNOWN_BODY } from './idempotency.ts';
import { scanServers } from './endpoints.ts';
import type { Belief } from './gate.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEYS_PATTERN, oldKeysKey, shardOfKey } from './keys.ts';
import { Script } from './script.ts';
import { groupedBy } from '../grouped.ts';

/** Used idempotency keys of one bucket. */
export interface BucketKeys {
  tenantNo: number;
  bucket: string;
  fields: string[];
}

/** Keys per call: about a millisecond of Redis. */
const KEYS_A_CALL = 200;
/** Buckets per call: about a millisecond if each holds a hundred keys. */
const BUCKETS_A_CALL = 50;

const findScript = new Script('find_aged_keys');
const ageScript = new Script('age_keys');
const heldScript = new Script('old_keys_held');

/** Some buckets of used keys of all tenants, and the next cursor; '0' means start and end. */
export async function scanBuckets(
  redis: Redis,
  cursor: string,
  keysLooked: number,
): Promise<{ cursor: string; buckets: { tenantNo: number; bucket: string }[] }> {
  const [next, keys] = await scanServers(redis, cursor, { match: IDEMPOTENCY_KEYS_PATTERN, count: keysLooked });
  const buckets = keys.flatMap((bucket) => {
    const match = IDEMPOTENCY_KEY.exec(bucket);
    return match === null ? [] : [{ tenantNo: Number(match[2]), bucket }];
  });
  return { cursor: next, buckets };
}

/** Hot keys in some buckets that are older than a time (epoch ms). */
export async function findAgedKeys(
  redis: Redis,
  buckets: readonly { tenantNo: number; bucket: string }[],
  beforeMs: number,
): Promise<BucketKeys[]> {
  const agedKeys: BucketKeys[] = [];
  for (const same of groupedBy(buckets, ({ bucket }) => shardOfKey(bucket)).values()) {
    for (let at = 0; at < same.length; at += BUCKETS_A_CALL) {
      const some = same.slice(at, at + BUCKETS_A_CALL);
      const reply = (await findScript.run(
        redis,
        some.map(({ bucket }) => bucket),
        [packedUse(beforeMs, UNKNOWN_BODY)],
      )) as Buffer[][];
      for (const [index, fields] of reply.entries()) {
        if (fields.length > 0)
          agedKeys.push({ ...some[index]!, fields: fields.map((field) => field.toString('latin1')) });
      }
    }
  }
  return agedKeys;
}

/** Moves hot keys into the compact form; each call is atomic. Returns how many were still hot. Idempotent. */
export async function ageKeys(redis: Redis, keys: readonly BucketKeys[]): Promise<number> {
  let moved = 0;
  for (const some of calls(keys)) {
    moved += (await ageScript.run(
      redis,
      [oldKeysOf(some[0]!), ...some.map(({ bucket }) => bucket)],
      ['1', ...counted(some)],
    )) as number;
  }
  return moved;
}

/** Loads keys in compact form during a rebuild. Throws RedisNotReady if another rebuild superseded this one. */
export async function loadOldKeys(
  redis: Redis,
  keys: readonly BucketKeys[],
  beliefOf: (shard: number) => Belief,
): Promise<void> {
  for (const some of calls(keys)) {
    await ageScript.runBelieving(redis, beliefOf(shardOfKey(some[0]!.bucket)), {
      keys: [oldKeysOf(some[0]!), ...some.map(({ bucket }) => bucket)],
      args: ['0', ...counted(some)],
    });
  }
}

/** The keys that the compact form may contain. */
export async function oldKeysHeld(
  redis: Redis,
  keys: readonly { tenantNo: number; bucket: string; field: string }[],
): Promise<boolean[]> {
  const isHeld = new Map<object, boolean>();
  for (const same of groupedBy(keys, ({ bucket }) => shardOfKey(bucket)).values()) {
    for (let at = 0; at < same.length; at += KEYS_A_CALL) {
      const some = same.slice(at, at + KEYS_A_CALL);
      const reply = (await heldScript.run(
        redis,
        some.flatMap((each) => [oldKeysOf(each), each.bucket]),
        some.map(({ field }) => field),
      )) as number[];
      for (const [index, key] of some.entries()) isHeld.set(key, reply[index] === 1);
    }
  }
  return keys.map((key) => isHeld.get(key)!);
}

const counted = (keys: readonly BucketKeys[]): (string | number)[] =>
  keys.flatMap(({ fields }) => [fields.length, ...fields]);

/** The old keys of the part to which a bucket belongs. */
const oldKeysOf = ({ tenantNo, bucket }: { tenantNo: number; bucket: string }): string =>
  oldKeysKey({ tenantNo, shard: shardOfKey(bucket) });

/** Splits keys into bounded calls, each for one part of a tenant; a large bucket is divided. */
function calls(keys: readonly BucketKeys[]): BucketKeys[][] {
  const batches: BucketKeys[][] = [];
  for (const same of groupedBy(keys, oldKeysOf).values()) {
    let some: BucketKeys[] = [];
    let fields = 0;
    for (const { tenantNo, bucket, fields: all } of same) {
      for (let at = 0; at < all.length; at += KEYS_A_CALL) {
        const few = all.slice(at, at + KEYS_A_CALL);
        if (some.length === 0 || fields + few.length > KEYS_A_CALL) {
          batches.push((some = []));
          fields = 0;
        }
        some.push({ tenantNo, bucket, fields: few });
        fields += few.length;
      }
    }
  }
  return batches;
}
