/**
 * What used idempotency keys cost: loads N keys (default 1,000,000) of one tenant as hot ones into a Redis with its own
 * defaults, moves them into the compact form as ageing does, and prints bytes a key, time, how many new keys look old
 * and what it costs to find out.
 *
 *   npm run bench:keys -- [keys]
 *
 * Uses a temporary Redis.
 */
import { createHash, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisProgram, startRedis } from '../src/local/redis-server.ts';
import { createRedis, redisReady } from '../src/redis/client.ts';
import { idempotencyKey } from '../src/redis/keys.ts';
import { ageKeys, findAgedKeys, oldKeysHeld, scanBuckets } from '../src/redis/old-keys.ts';

const KEYS = Number(process.argv[2] ?? 1_000_000);
const PAGE = 5_000;
const PROBES = 200_000;
const TIME_MS = Date.UTC(2026, 10, 1);
const BEFORE_MS = TIME_MS + KEYS;

const program = findRedisProgram();
if (program === null) throw new Error('This needs redis-server or valkey-server on the PATH.');
const server = await startRedis({
  program,
  directory: join(tmpdir(), `laurel-bench-keys-${randomUUID()}`),
  password: null,
  durable: false,
  temporary: true,
});
const redis = createRedis(server.url);
try {
  await redisReady(redis);
  const memory = async (): Promise<number> => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
  const redisSeconds = async (): Promise<number> => {
    const info = await redis.info('cpu');
    return ['user', 'sys'].reduce(
      (sum, kind) => sum + Number(new RegExp(`^used_cpu_${kind}:([\\d.]+)`, 'm').exec(info)![1]),
      0,
    );
  };
  const place = (name: string): { tenantNo: number; bucket: string; field: string } => {
    const digest = createHash('sha1').update(name).digest();
    return {
      tenantNo: 0,
      bucket: idempotencyKey(0, (digest.readUInt16BE(0) & 0x1fff).toString(16).padStart(4, '0')),
      field: digest.toString('base64url', 2, 14),
    };
  };
  const pages = async (count: number, work: (numbers: number[]) => Promise<void>): Promise<void> => {
    for (let from = 0; from < count; from += PAGE) {
      await work(Array.from({ length: Math.min(PAGE, count - from) }, (_, index) => from + index));
    }
  };
  const say = (name: string, value: string): void => console.log(`${name.padEnd(44)} ${value}`);

  const empty = await memory();
  await pages(KEYS, async (numbers) => {
    const pipeline = redis.pipeline();
    for (const n of numbers) {
      const { bucket, field } = place(`key ${n}`);
      pipeline.hset(bucket, field, TIME_MS + n);
    }
    await pipeline.exec();
  });
  say('bytes a hot key', (((await memory()) - empty) / KEYS).toFixed(1));

  const startedMs = performance.now();
  const cpu = await redisSeconds();
  let moved = 0;
  let cursor = '0';
  do {
    const found = await scanBuckets(redis, cursor, 1_000);
    const aged = await findAgedKeys(redis, found.buckets, BEFORE_MS);
    moved += await ageKeys(redis, aged);
    cursor = found.cursor;
  } while (cursor !== '0');
  if (moved !== KEYS) throw new Error(`${moved} of ${KEYS} keys were moved.`);
  say('moved, seconds', ((performance.now() - startedMs) / 1000).toFixed(1));
  say('Redis CPU a key moved, µs', ((((await redisSeconds()) - cpu) * 1e6) / KEYS).toFixed(1));
  say('bytes an old key', (((await memory()) - empty) / KEYS).toFixed(2));

  let missing = 0;
  await pages(KEYS, async (numbers) => {
    const held = await oldKeysHeld(
      redis,
      numbers.map((n) => place(`key ${n}`)),
    );
    missing += held.filter((one) => !one).length;
  });
  if (missing > 0) throw new Error(`${missing} old keys are not found.`);
  let alike = 0;
  const probing = await redisSeconds();
  await pages(PROBES, async (numbers) => {
    alike += (
      await oldKeysHeld(
        redis,
        numbers.map((n) => place(`new ${n}`)),
      )
    ).filter(Boolean).length;
  });
  say('new keys that look old', `${alike} of ${PROBES} (${((alike / PROBES) * 100).toFixed(4)} %)`);
  say('Redis CPU a new key, µs', ((((await redisSeconds()) - probing) * 1e6) / PROBES).toFixed(1));
} finally {
  redis.disconnect();
  await server.stop();
}
