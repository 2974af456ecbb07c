import { Redis } from 'ioredis';
import { beforeAll, expect, test } from 'vitest';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { CuttingProxy } from '../../stack/cutting-proxy.ts';
import { TestUsers } from './test-users.ts';
import { opened } from '../../stack/opened.ts';

const builder = new CatalogBuilder();
const tour = builder.achievement('api', { key: 'tour' });
const xp = builder.system('xp');
builder.trigger(xp, 'user_creation', { points: 1 });
builder.trigger(xp, 'achievement', { points: 5, achievementId: tour.id });

const stack = opened(() => testStack({ database: 'none' }));
const direct = opened(() => new Redis(stack.redisUrl), 'quit');
const proxy = opened(() => new CuttingProxy(stack.redisUrl));
const laurel = opened(async () => new TestUsers(await proxy.listen(), builder.catalog));
beforeAll(async () => {
  await laurel.ready();
  await laurel.complete('tour', 'warm-up');
});

const trim = async (): Promise<void> => void (await direct.xtrim('{s0}:outbox', 'MAXLEN', 0));
const completions = async (): Promise<number> => Number(await direct.hget('{s0}:0:n', `a${tour.no}`));
const users = async (): Promise<number> => Number(await direct.hget('{s0}:0:n', 'users'));

test('the reply to a completion is lost: the retry reports what the first try did', async () => {
  const before = await completions();
  proxy.cutNext('replies');
  expect((await laurel.complete('tour', 'lost reply')).points['xp']).toMatchObject({ total: 6, added: 6 });
  expect(await completions()).toBe(before + 1);
});

test('the completion has left the outbox meanwhile: the retry reports it without points, and pays nothing twice', async () => {
  const before = await completions();
  proxy.cutNext('replies', trim);
  const answer = await laurel.complete('tour', 'left');
  expect(answer.points).toEqual({});
  expect(answer.achievement.achievedAt).not.toBeNull();
  expect((await laurel.users.state(0, 'left')).points).toEqual(new Map([[xp.no, 6]]));
  expect(await completions()).toBe(before + 1);
});

test('the request is lost: the retry applies it', async () => {
  proxy.cutNext('requests');
  expect((await laurel.complete('tour', 'lost request')).points['xp']).toMatchObject({ added: 6 });
});

test.each(['replies', 'requests'] as const)('a user is created once, though the %s are lost', async (what) => {
  const before = await users();
  proxy.cutNext(what);
  expect(await laurel.profiles.upsert(laurel.compiled(), what, { name: 'N' })).toMatchObject({ id: what, name: 'N' });
  expect(await users()).toBe(before + 1);
  expect((await laurel.users.state(0, what)).points).toEqual(new Map([[xp.no, 1]]));
});
