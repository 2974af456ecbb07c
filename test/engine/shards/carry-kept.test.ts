import { beforeEach, expect, test } from 'vitest';
import { Loader } from '../../../src/engine/rebuild/loader.ts';
import { carryKept, type KeptDestination } from '../../../src/engine/shards/carry-kept.ts';
import { QUEUED_BATCH } from '../../../src/packed/call-fields.ts';
import { beliefOf, RedisNotReady } from '../../../src/redis/gate.ts';
import {
  batchesKey,
  batchProgressKey,
  batchResultsKey,
  keptEntriesKey,
  rebuildingKey,
} from '../../../src/redis/keys.ts';
import { lastPosition } from '../../../src/redis/outbox.ts';
import { packFields } from '../../../src/redis/outbox-entry.ts';
import { readRedisProcessId } from '../../../src/redis/server-info.ts';
import { connectedRedis } from '../../stack/connected-redis.ts';

const FROM = 1;
const EVEN = 2;
const ODD = 3;
const MARK = 'the mark of the rebuild';

/** Two servers: what is carried need not stay on one. */
const source = await connectedRedis();
const target = await connectedRedis();
const run = await readRedisProcessId(target);

/** By the number of the tenant; what says no tenant goes to the even ones. */
function destinations(): { all: KeptDestination[]; of: (tenantNo: number | null) => KeptDestination } {
  const [even, odd] = [EVEN, ODD].map((shard) => ({
    shard,
    loader: new Loader({ redis: target, belief: beliefOf(rebuildingKey(shard), MARK, run) }),
  })) as [KeptDestination, KeptDestination];
  return { all: [even, odd], of: (tenantNo) => ((tenantNo ?? 0) % 2 === 0 ? even : odd) };
}

const carry = (batchProgress = ''): ReturnType<typeof carryKept> =>
  carryKept({ from: { redis: source, shard: FROM }, to: destinations(), batchProgress });

beforeEach(async () => {
  await Promise.all([source.flushdb(), target.flushdb()]);
  for (const shard of [EVEN, ODD]) await target.set(rebuildingKey(shard), MARK);
});

const add = async (id: string, tenantNo: number, awaited = false): Promise<void> => {
  const events = JSON.stringify([{ key: 'flips', user: { id: `zoë of ${tenantNo}` }, value: 1 }]);
  const { tenant, awaited: waited } = QUEUED_BATCH;
  await source.xadd(batchesKey(FROM), id, tenant, tenantNo, waited, awaited ? 1 : 0, QUEUED_BATCH.events, events);
};

const idsOn = async (redis: typeof source, shard: number): Promise<string[]> =>
  (await redis.xrange(batchesKey(shard), '-', '+')).map(([id]) => id);

test('batches that wait go to the shards of their tenants as they are, and the first goes on where it was', async () => {
  for (let n = 1; n <= 11; n += 1) await add(`${n}-0`, n);
  await source.set(batchProgressKey(FROM), '3-0:1');
  expect(await carry()).toEqual({ batches: 9, entries: 0 });
  expect(await idsOn(target, EVEN)).toEqual(['4-0', '6-0', '8-0', '10-0']);
  expect(await idsOn(target, ODD)).toEqual(['3-0', '5-0', '7-0', '9-0', '11-0']);
  const fields = async (redis: typeof source, shard: number): Promise<unknown> =>
    (await redis.xrange(batchesKey(shard), '8-0', '8-0'))[0];
  expect(await fields(target, EVEN)).toEqual(await fields(source, FROM));
  expect(await target.mget([EVEN, ODD].map(batchProgressKey))).toEqual(['3-0:1', '3-0:1']);
  // The shard itself keeps everything: whoever does it again finds it.
  expect(await source.xlen(batchesKey(FROM))).toBe(11);
});

test('new batches are numbered after all that were, on a server whose clock is behind as well', async () => {
  await add('9007199254740993-0', 2);
  await source.xdel(batchesKey(FROM), '9007199254740993-0');
  await source.set(batchProgressKey(FROM), '9007199254740993-0:1');
  await carry();
  for (const shard of [EVEN, ODD]) {
    expect(await lastPosition(target, shard, batchesKey)).toBe('9007199254740993-0');
    expect(await target.xlen(batchesKey(shard))).toBe(0);
  }
});

test('what Postgres says of the progress holds where it is further: batches before that are processed', async () => {
  for (const id of ['1-0', '2-0', '3-0']) await add(id, 2);
  await source.set(batchProgressKey(FROM), '1-0:1');
  expect(await carry('3-0:0')).toEqual({ batches: 1, entries: 0 });
  expect(await idsOn(target, EVEN)).toEqual(['3-0']);
  expect(await target.get(batchProgressKey(EVEN))).toBe('3-0:0');
});

test('what became of the first events of a batch goes along where a caller waits', async () => {
  await add('1-0', 2, true);
  const results = batchResultsKey(FROM, '1-0');
  await source.hset(results, { n: '2', '1-0:2': Buffer.from([0xff, 0]) });
  await source.expire(results, 60);
  await carry();
  const carried = batchResultsKey(EVEN, '1-0');
  expect(await target.hgetallBuffer(carried)).toEqual({ n: Buffer.from('2'), '1-0:2': Buffer.from([0xff, 0]) });
  expect(await target.pttl(carried)).toBeGreaterThan(0);
});

test('entries that Postgres does not take go to the shards of their tenants, byte by byte', async () => {
  const packed = (tenantNo: string): Buffer =>
    packFields(['t', tenantNo, 'r', Buffer.from([0xff, 0])].map((field) => Buffer.from(field)));
  const kept = { '1-0': packed('2'), '2-0': packed('3'), '3-0': packed('nobody') };
  await source.hset(keptEntriesKey(FROM), kept);
  expect(await carry()).toEqual({ batches: 0, entries: 3 });
  expect(await target.hgetallBuffer(keptEntriesKey(EVEN))).toEqual({ '1-0': kept['1-0'], '3-0': kept['3-0'] });
  expect(await target.hgetallBuffer(keptEntriesKey(ODD))).toEqual({ '2-0': kept['2-0'] });
});

test('of a shard that holds nothing of it nothing is written', async () => {
  expect(await carry()).toEqual({ batches: 0, entries: 0 });
  expect((await target.keys('*')).toSorted()).toEqual([EVEN, ODD].map(rebuildingKey));
});

test('one that was overtaken carries nothing', async () => {
  await add('1-0', 2);
  await target.set(rebuildingKey(EVEN), 'another');
  await expect(carry()).rejects.toBeInstanceOf(RedisNotReady);
  expect(await target.exists(batchesKey(EVEN))).toBe(0);
});
