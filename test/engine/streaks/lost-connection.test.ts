import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { createStreakAdmin, type StreakAdmin } from '../../../src/engine/streaks/streak-admin.ts';
import { isStreakCallStored } from '../../../src/postgres/history/streaks.ts';
import { testDatabase } from '../../postgres/database.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { TestEngine } from '../events/engine.ts';
import { opened } from '../../stack/opened.ts';

let proxy: CuttingProxy;
let laurel: TestEngine;
let direct: Redis;
let streaks: StreakAdmin;

const database = opened(() => testDatabase());
beforeAll(async () => {
  const { redisUrl } = database.stack;
  direct = new Redis(redisUrl);
  proxy = new CuttingProxy(redisUrl);
  const builder = new CatalogBuilder();
  builder.metric('flips');
  builder.streaks({ freezes: { enabled: true, initial: 0, max: 50, autoEarnInterval: null, autoEarnAmount: null } });
  laurel = new TestEngine(await proxy.listen(), builder.catalog);
  streaks = createStreakAdmin({
    pool: database.pool,
    users: laurel.users,
    scripts: laurel.scripts,
    isStored: (callId) => isStreakCallStored(database.pool, callId),
    clock: laurel.clock,
    recordAudit: async () => undefined,
    persisted: async () => undefined,
  });
});
afterAll(async () => {
  await laurel.close();
  proxy.close();
  await direct.quit();
});

const grant = (user: string) => streaks.change(laurel.compiled(), user, { kind: 'freeze', max: 50 });
const freezes = async (user: string): Promise<number> => (await laurel.users.state(0, user)).freezes;
const persist = async (): Promise<void> => {
  await new Persister({ redis: direct, pool: database.pool }).drain(0, AbortSignal.abort());
};

const moments: [string, () => Promise<void>][] = [
  ['the outbox holds them', async () => undefined],
  ['they have left the outbox for Postgres', persist],
  [
    'one has left the outbox, another call was made since',
    async () => {
      await persist();
      await direct.xadd('{s0}:outbox', '*', 't', 0, 'r', '');
    },
  ],
];

test.each(moments)('concurrent grants with lost replies give one freeze each: %s', async (name, meanwhile) => {
  await laurel.event('flips', name, 1);
  await grant(name);
  proxy.cutNext('replies', meanwhile);
  expect(await Promise.all([grant(name), grant(name), grant(name)])).toEqual([null, null, null]);
  expect(await freezes(name)).toBe(4);
});

test.each(moments)('the retry makes grants whose requests were lost: %s', async (name, meanwhile) => {
  const user = `request, ${name}`;
  await laurel.event('flips', user, 1);
  proxy.cutNext('requests', meanwhile);
  expect(await Promise.all([grant(user), grant(user)])).toEqual([null, null]);
  expect(await freezes(user)).toBe(2);
});

test.each(moments)(
  'a reset with a lost reply ends the streak once, and not a newer one: %s',
  async (name, meanwhile) => {
    const user = `reset, ${name}`;
    await laurel.event('flips', user, 1);
    proxy.cutNext('replies', meanwhile);
    expect(await streaks.change(laurel.compiled(), user, { kind: 'reset' })).toBeNull();
    expect((await laurel.users.state(0, user)).streaks.daily).toMatchObject({ length: 0, startDay: null });
    await laurel.event('flips', user, 1);
    expect((await laurel.users.state(0, user)).streaks.daily.length).toBe(1);
  },
);
