import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { readJoined } from '../../src/redis/joined-reads.ts';
import { Bill, currentBill, Lane, noCost, TenantLanes } from '../../src/pacing/turns.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));
const redis = opened(() => createRedis(stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
});

/** How often Redis has executed MGET. */
async function mgets(): Promise<number> {
  const info = await redis.info('commandstats');
  return Number(/cmdstat_mget:calls=(\d+)/.exec(info)?.[1] ?? 0);
}

test('reads of the same turn share a command, up to 64 of them', async () => {
  await redis.mset(Object.fromEntries(Array.from({ length: 100 }, (_, no) => [`{a}${no}`, `value ${no}`])));
  const before = await mgets();
  const values = await Promise.all(Array.from({ length: 101 }, (_, no) => readJoined(redis, 0, `{a}${no}`)));
  expect((await mgets()) - before).toBe(2);
  expect(values.map((value) => value?.toString() ?? null)).toEqual([
    ...Array.from({ length: 100 }, (_, no) => `value ${no}`),
    null,
  ]);
});

test('each request pays for its own value, and goes on in a turn of its own', async () => {
  await redis.mset({ '{a}small': 'x'.repeat(1_000), '{a}large': 'x'.repeat(50_000) });
  const before = await mgets();
  // The requests' turns follow each other at once, also if the process stands still during one.
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => now.mockRestore());
  const lane = new Lane(new TenantLanes(), { isOfUser: true, most: () => Infinity });
  const requests = ['{a}small', '{a}large', '{a}none'].map((key) => {
    const cost = noCost();
    const bill = new Bill(lane, cost, () => undefined);
    const bills = new Promise<(Bill | null)[]>((resolve, reject) => {
      lane.start(bill, () => {
        readJoined(redis, 0, key)
          .then(() => [bill, currentBill()])
          .finally(() => lane.ended())
          .then(resolve, reject);
      });
    });
    return { cost, bills };
  });
  for (const { bills } of requests) {
    const [own, current] = await bills;
    expect(current).toBe(own);
  }
  expect(requests.map(({ cost }) => cost.redisBytes)).toEqual([1_008, 50_008, 7]);
  expect((await mgets()) - before).toBe(1);
});

test('without a connection, each read is refused', async () => {
  const closed = createRedis(stack.redisUrl);
  await redisReady(closed);
  closed.disconnect();
  for (const read of [readJoined(closed, 0, '{a}1'), readJoined(closed, 0, '{a}2')])
    await expect(read).rejects.toThrow("Stream isn't writeable");
});
