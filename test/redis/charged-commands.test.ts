import { beforeAll, expect, test } from 'vitest';
import { createRedis, redisReady } from '../../src/redis/client.ts';
import { Bill, currentBill, Lane, nextTurn, noCost, TenantLanes } from '../../src/pacing/turns.ts';
import { testStack } from '../stack/stack.ts';
import { opened } from '../stack/opened.ts';

const stack = opened(() => testStack({ database: 'none' }));
const redis = opened(() => createRedis(stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
});

const lane = new Lane(new TenantLanes(), { isOfUser: true, most: () => Infinity });

/** Runs a request in turns. */
async function charged<T>(work: () => Promise<T>) {
  const cost = noCost();
  const bill = new Bill(lane, cost, () => undefined);
  const result = await new Promise<T>((resolve, reject) => {
    lane.start(bill, () => {
      work()
        .finally(() => lane.ended())
        .then(resolve, reject);
    });
  });
  return { bill, cost, result };
}

test('charges bytes of commands and pipelines in both directions, and the request goes on in a turn of its own', async () => {
  const text = 'x'.repeat(100_000);
  const { bill, cost, result } = await charged(async () => {
    const bills = [];
    await redis.set('{a}text', text);
    bills.push(currentBill());
    expect(await redis.get('{a}text')).toBe(text);
    bills.push(currentBill());
    expect(await redis.getBuffer('{a}text')).toEqual(Buffer.from(text));
    bills.push(currentBill());
    expect(await redis.pipeline().get('{a}text').get('{a}none').exec()).toEqual([
      [null, text],
      [null, null],
    ]);
    bills.push(currentBill());
    expect(await redis.multi().get('{a}text').exec()).toEqual([[null, text]]);
    bills.push(currentBill());
    await Promise.all(Array.from({ length: 10 }, () => redis.get('{a}none')));
    bills.push(currentBill());
    return bills;
  });
  expect(result).toEqual(Array.from({ length: 6 }, () => bill));
  await nextTurn();
  expect(cost.redisBytes).toBeGreaterThan(500_000);
  expect(cost.redisBytes).toBeLessThan(505_000);
});

test('charges the time of a command that takes longer than others, not the time of usual ones', async () => {
  const usual: number[] = [];
  for (let no = 0; no < 200; no += 1) usual.push((await charged(() => redis.get('{a}none'))).cost.redisMs);
  const median = usual.toSorted((a, b) => a - b)[100]!;
  const { cost } = await charged(() => redis.eval('for i = 1, 3e7 do end', 0));
  expect(cost.redisMs).toBeGreaterThan(10 * median);
  expect(cost.redisMs).toBeGreaterThan(20);
});

test('errors arrive as without a bill', async () => {
  await expect(charged(() => redis.incr('{a}text'))).rejects.toThrow('not an integer');
});
