import { beforeAll, expect, test } from 'vitest';
import { User } from '../../../src/domain/user.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { expectFit, TestUsers } from './test-users.ts';
import { opened } from '../../stack/opened.ts';

const builder = new CatalogBuilder();
builder.metric('flips');
const plan = builder.attribute('plan', 'user');
builder.attribute('__proto__', 'user');
builder.attribute('deck', 'event');
const xp = builder.system('xp', { maxPoints: 100 });
const creation = builder.trigger(xp, 'user_creation', { points: 10 });
builder.trigger(xp, 'user_creation', {
  points: 7,
  userAttributes: [{ attributeId: plan.id, attributeValue: 'pro' }],
});
builder.boost(xp, { multiplier: 1.5, userId: 'boosted' });
const board = builder.leaderboard('points', 'points', { pointsSystemId: xp.id });
builder.streaks({ freezes: { enabled: true, initial: 2, max: 5, autoEarnInterval: null, autoEarnAmount: null } });

const stack = opened(() => testStack({ database: 'none' }));
const laurel = opened(() => new TestUsers(stack.redisUrl, builder.catalog));
beforeAll(async () => {
  await laurel.ready();
});

const upsert: TestUsers['profiles']['upsert'] = async (compiled, id, fields) => {
  const user = await laurel.profiles.upsert(compiled, id, fields);
  expectFit(User, user);
  expect(await laurel.profiles.get(compiled, id)).toEqual(user);
  return user;
};
const users = async (): Promise<number> => Number(await laurel.redis.hget('{s0}:0:n', 'users'));
const entries = (): Promise<number> => laurel.redis.xlen('{s0}:outbox');

test('the first sight grants freezes, pays creation triggers once, and is in the outbox and on the leaderboards', async () => {
  const before = await users();
  const user = await upsert(laurel.compiled(), 'a', { name: 'Ada', attributes: { plan: 'pro' } });
  expect(user).toEqual({
    id: 'a',
    email: null,
    name: 'Ada',
    signUpDate: null,
    tz: null,
    deviceTokens: null,
    subscribeToEmails: true,
    attributes: { plan: 'pro' },
    control: false,
    created: '2026-11-18T12:00:00.000Z',
    updated: '2026-11-18T12:00:00.000Z',
  });
  await upsert(laurel.compiled(), 'a', { name: 'Ada L.' });
  const state = await laurel.users.state(0, 'a');
  expect(state.points).toEqual(new Map([[xp.no, 17]]));
  expect(state.freezes).toBe(2);
  expect(await users()).toBe(before + 1);
  expect(await laurel.redis.hget(`{s0}:0:p:${xp.no}`, '17')).toBe('1');
  const boards = await laurel.redis.keys(`{s0}:0:b:${board.no}:*`);
  expect(boards).toHaveLength(1);
  expect(await laurel.redis.zscore(boards[0]!, 'a')).toBe('17');
  const [first] = await laurel.redis.xrangeBuffer('{s0}:outbox', '-', '+');
  expect(unpackAll(first![1][3]!)[0]).toMatchObject({
    k: 'u',
    u: 'a',
    n: 1,
    p: [
      [
        xp.no,
        0,
        17,
        [
          [creation.no, 10, 10, []],
          [creation.no + 1, 7, 17, []],
        ],
      ],
    ],
  });
  expect(first![1].map(String).slice(4, 7)).toEqual(['u', 'a', 's']);
});

test("a user's own boost multiplies the points of creation", async () => {
  await upsert(laurel.compiled(), 'boosted', {});
  expect((await laurel.users.state(0, 'boosted')).points).toEqual(new Map([[xp.no, 15]]));
});

test('sent fields replace, others stay, null has no effect, empty values clear; attributes are merged; an empty update writes nothing', async () => {
  await upsert(laurel.compiled(), 'b', { name: 'B', tz: 'Europe/Berlin', deviceTokens: ['x'], email: 'b@example.org' });
  laurel.clock.set(laurel.clock.now() + 1000);
  const attributes = JSON.parse('{"__proto__":"odd","plan":"free"}') as Record<string, string>;
  const second = await upsert(laurel.compiled(), 'b', { attributes });
  expect(JSON.stringify(second.attributes)).toBe('{"plan":"free","__proto__":"odd"}');
  expect(second).toMatchObject({ name: 'B', tz: 'Europe/Berlin', deviceTokens: ['x'], email: 'b@example.org' });
  expect(Date.parse(second.updated) - Date.parse(second.created)).toBe(1000);
  const unset = await upsert(laurel.compiled(), 'b', { tz: null, deviceTokens: null, attributes: { plan: 'pro' } });
  expect(unset).toMatchObject({ tz: 'Europe/Berlin', deviceTokens: ['x'], name: 'B', attributes: { plan: 'pro' } });
  const third = await upsert(laurel.compiled(), 'b', { tz: '', deviceTokens: [], email: '' });
  expect(third).toMatchObject({ tz: null, deviceTokens: null, email: null, name: 'B' });
  expect(await upsert(laurel.compiled(), 'b', { name: '' })).toEqual({ ...third, name: null });
  const before = await entries();
  expect(await upsert(laurel.compiled(), 'b', {})).toEqual({ ...third, name: null });
  expect(await entries()).toBe(before);
});

test('subscription: true needs an e-mail on record, false drops it', async () => {
  const compiled = laurel.compiled();
  await expect(upsert(compiled, 'c', { subscribeToEmails: true })).rejects.toMatchObject({ status: 422 });
  await expect(laurel.profiles.get(compiled, 'c')).rejects.toMatchObject({ status: 404 });
  expect(await upsert(compiled, 'c', { subscribeToEmails: true, email: 'c@example.org' })).toMatchObject({
    email: 'c@example.org',
    subscribeToEmails: true,
  });
  expect(await upsert(compiled, 'c', { subscribeToEmails: false })).toMatchObject({
    email: null,
    subscribeToEmails: false,
  });
  await expect(upsert(compiled, 'c', { subscribeToEmails: true })).rejects.toMatchObject({ status: 422 });
  await expect(upsert(compiled, 'c', { subscribeToEmails: true, email: '' })).rejects.toMatchObject({ status: 422 });
});

test('an unsubscribed user stays unsubscribed when an address is sent again, until they subscribe', async () => {
  const compiled = laurel.compiled();
  await upsert(compiled, 'again', { subscribeToEmails: false });
  expect(await upsert(compiled, 'again', { email: 'again@example.org' })).toMatchObject({
    email: 'again@example.org',
    subscribeToEmails: false,
  });
  expect(await upsert(compiled, 'again', { subscribeToEmails: true })).toMatchObject({
    email: 'again@example.org',
    subscribeToEmails: true,
  });
});

test('a bad zone and unknown attributes are 422, and nobody is created', async () => {
  const compiled = laurel.compiled();
  await expect(upsert(compiled, 'd', { tz: 'Mars/Olympus' })).rejects.toMatchObject({ status: 422 });
  await expect(upsert(compiled, 'd', { attributes: { nope: 'x', deck: 'y' } })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('Invalid attribute keys: nope, deck.'),
  });
  await expect(laurel.users.state(0, 'd')).rejects.toMatchObject({ status: 404 });
});

test('update requires an existing user', async () => {
  const compiled = laurel.compiled();
  await expect(laurel.profiles.update(compiled, 'nobody', { name: 'x' })).rejects.toMatchObject({ status: 404 });
  await expect(laurel.users.state(0, 'nobody')).rejects.toMatchObject({ status: 404 });
  expect(await laurel.profiles.update(compiled, 'a', { name: 'Ada' })).toMatchObject({ name: 'Ada' });
});

test.each(['Zoë 🦉', '__proto__', 'constructor', 'a b/c?d', "'; --", 'x'.repeat(255), '1'])('the ID %j', async (id) => {
  const user = await upsert(laurel.compiled(), id, { name: 'n' });
  expect(user.id).toBe(id);
  expect((await laurel.event('flips', id, 1)).total).toBe(1);
});

test('parallel creations of a user: one first sight, every field is there', async () => {
  const before = await users();
  const fields = [{ name: 'E' }, { email: 'e@example.org' }, { tz: 'Asia/Tokyo' }, { attributes: { plan: 'free' } }];
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => laurel.profiles.upsert(laurel.compiled(), 'e', fields[i % 4]!)),
  );
  expect(await laurel.profiles.get(laurel.compiled(), 'e')).toMatchObject(Object.assign({}, ...fields) as object);
  expect((await laurel.users.state(0, 'e')).points).toEqual(new Map([[xp.no, 10]]));
  expect(await users()).toBe(before + 1);
});

test('after a clock change in the stored zone, a call finds the new offset', async () => {
  await upsert(laurel.compiled(), 'f', { tz: 'Europe/Berlin' });
  const now = laurel.clock.now();
  laurel.clock.set(Date.UTC(2027, 5, 1, 22, 30));
  expect(await upsert(laurel.compiled(), 'f', { name: 'F' })).toMatchObject({ tz: 'Europe/Berlin', name: 'F' });
  const entry = (await laurel.redis.xrevrangeBuffer('{s0}:outbox', '+', '-', 'COUNT', 1))[0]!;
  // 00:30 of 2 June in Berlin.
  expect(unpackAll(entry[1][3]!)[0]).toMatchObject({ d: Date.UTC(2027, 5, 2) / 86_400_000 });
  laurel.clock.set(now);
});

test('an empty update writes nothing after a clock change either', async () => {
  const now = laurel.clock.now();
  laurel.clock.set(Date.parse('2026-03-28T12:00:00Z'));
  await upsert(laurel.compiled(), 'sleeps', { tz: 'Europe/Berlin' });
  laurel.clock.set(Date.parse('2026-03-30T12:00:00Z'));
  const before = await entries();
  expect(await upsert(laurel.compiled(), 'sleeps', {})).toMatchObject({ tz: 'Europe/Berlin' });
  expect(await entries()).toBe(before);
  laurel.clock.set(now);
});

test('control is the configured share of users, the same ones at every call', async () => {
  laurel.controlShare = 1;
  expect(await upsert(laurel.compiled(), 'a', {})).toMatchObject({ control: true });
  laurel.controlShare = 0;
  expect(await upsert(laurel.compiled(), 'a', {})).toMatchObject({ control: false });
});

test('a full backlog is 503', async () => {
  laurel.overloaded = true;
  await expect(upsert(laurel.compiled(), 'g', {})).rejects.toMatchObject({ status: 503 });
  laurel.overloaded = false;
});
