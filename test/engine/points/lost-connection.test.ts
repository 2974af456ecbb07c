import { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSpendings, type Spendings } from '../../../src/engine/points/spendings.ts';
import { createPool } from '../../../src/postgres/pool.ts';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import { stored } from '../../model/stored.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from '../events/engine.ts';
import { opened } from '../../stack/opened.ts';

let proxy: CuttingProxy;
let laurel: TestEngine;
let direct: Redis;
let pool: Pool;
let spendings: Spendings;
let system: number;

// A spending whose connection breaks is made once, and is answered as if nothing had happened.

const stack = opened(() => testStack({ database: 'migrated' }));
beforeAll(async () => {
  pool = createPool(stack.databaseUrl, { max: 4 });
  direct = new Redis(stack.redisUrl);
  proxy = new CuttingProxy(stack.redisUrl);
  const builder = new CatalogBuilder();
  builder.metric('flips');
  const coins = builder.system('coins');
  system = coins.no;
  builder.trigger(coins, 'user_creation', { points: 10 });
  laurel = new TestEngine(await proxy.listen(), builder.catalog);
  spendings = createSpendings({
    redis: laurel.redis,
    pool,
    scripts: laurel.scripts,
    ids: laurel.ids,
    clock: laurel.clock,
    idempotencyKeysPerDay: 0,
    recordAudit: async () => undefined,
    persisted: persist,
  });
});
afterAll(async () => {
  await laurel.close();
  proxy.close();
  await Promise.all([direct.quit(), pool.end()]);
});
beforeEach(async () => {
  await laurel.event('flips', 'warm-up', 1);
});

const persist = (): Promise<void> => stored(direct, pool, 0);

const spend = (userId: string, amount = 4) =>
  spendings.open(
    laurel.compiled(),
    { userId, key: 'coins' },
    { amount },
    { idempotencyKey: 'once', by: { who: 'test' } },
  );
const spentBy = async (userId: string): Promise<number | undefined> =>
  decodeUser((await direct.getBuffer(`{s0}:0:u:${userId}`))!).spent.get(system);

test.each([
  ['the request is lost', 'requests', undefined],
  ['the reply is lost', 'replies', undefined],
  ['the reply is lost, and the spending has left the outbox for Postgres', 'replies', persist],
] as const)('%s', async (_, lost, meanwhile) => {
  const userId = `a user, ${lost} ${meanwhile?.name ?? ''}`;
  await laurel.event('flips', userId, 1);
  proxy.cutNext(lost, meanwhile);
  const answer = await spend(userId);
  expect(answer).toMatchObject({ type: 'spend', amount: 4, balance: 6 });
  expect(await spentBy(userId)).toBe(4);
  expect(await spend(userId)).toEqual(answer);
  await expect(spend(userId, 5)).rejects.toMatchObject({ status: 409, code: 'conflict' });
  expect(await spentBy(userId)).toBe(4);
});

test('the reply to a capture is lost, and it has left the outbox for Postgres', async () => {
  await laurel.event('flips', 'holder', 1);
  const purse = { userId: 'holder', key: 'coins' };
  const held = await spendings.open(
    laurel.compiled(),
    purse,
    { amount: 3, expiresIn: 60 },
    { idempotencyKey: 'held', by: { who: 'test' } },
  );
  proxy.cutNext('replies', persist);
  const captured = await spendings.close(laurel.compiled(), purse, {
    how: 'capture',
    id: held.id,
    by: { who: 'test' },
  });
  expect(captured).toMatchObject({ type: 'capture', amount: 3, balance: 7, spendingId: held.id });
  expect(await spentBy('holder')).toBe(3);
});
