import { Type } from 'typebox';
import { beforeAll, expect, test } from 'vitest';
import {
  AchievementWithStatsResponse,
  MetricResponse,
  UserAchievementWithStatsResponse,
} from '../../../src/domain/achievement.ts';
import { AchievementCompletionResponse } from '../../../src/domain/event.ts';
import { unpackAll } from '../../../src/packed/state.ts';
import { testStack } from '../../stack/stack.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { expectFit, TestUsers } from '../users/test-users.ts';
import { opened } from '../../stack/opened.ts';

const builder = new CatalogBuilder();
const flips = builder.metric('flips');
const plan = builder.attribute('plan', 'user');
const pro = [{ attributeId: plan.id, attributeValue: 'pro' }];
const tour = builder.achievement('api', { key: 'tour', name: 'tour' });
const ten = builder.achievement('metric', { key: 'ten', name: 'ten', metricId: flips.id, metricValue: 10 });
const both = builder.achievement('achievement', { name: 'both', achievementIds: [tour.id, ten.id] });
const outer = builder.achievement('achievement', { name: 'outer', achievementIds: [both.id] });
const sunk = builder.achievement('api', { key: 'sunk', name: 'sunk', status: 'inactive' });
const forPros = builder.achievement('api', { key: 'pros', name: 'pros', userAttributes: pro });
const costly = builder.achievement('api', { key: 'costly', name: 'costly' });
const xp = builder.system('xp', { maxPoints: 1000 });
builder.level(xp, 'bronze', 5);
builder.trigger(xp, 'user_creation', { points: 1 });
builder.trigger(xp, 'achievement', { points: 5, achievementId: tour.id });
builder.trigger(xp, 'achievement', { points: 20, achievementId: outer.id });
builder.trigger(xp, 'achievement', { points: -50, achievementId: costly.id, blockIfOutOfPoints: true });
builder.leaderboard('points', 'points', { pointsSystemId: xp.id });

const lock = (): void => {
  const achievements = builder.catalog.achievements.map((a) => (a === tour ? { ...a, status: 'locked' as const } : a));
  laurel.catalog = { ...builder.catalog, achievements };
};

const stack = opened(() => testStack({ database: 'none' }));
const laurel = opened(() => new TestUsers(stack.redisUrl, builder.catalog));
beforeAll(async () => {
  await laurel.ready();
});

async function achievementsOf(id: string, includeIncomplete: boolean): Promise<UserAchievementWithStatsResponse[]> {
  const as = { includeIncomplete, nowMs: laurel.clock.now() };
  return JSON.parse(await laurel.achievements.ofUser(laurel.compiled(), id, as)) as UserAchievementWithStatsResponse[];
}

const listed = async (filter?: string): Promise<AchievementWithStatsResponse[]> =>
  JSON.parse(await laurel.achievements.list(laurel.compiled(), filter)) as AchievementWithStatsResponse[];

const namesOf = async (id: string, incomplete = false): Promise<string[]> => {
  const answer = await achievementsOf(id, incomplete);
  expectFit(Type.Array(UserAchievementWithStatsResponse), answer);
  return answer.map(({ name }) => name);
};

test('the first call completes and pays; a second one reports the first, without points', async () => {
  const first = await laurel.complete('tour', { id: 'a', name: 'Ada' });
  expectFit(AchievementCompletionResponse, first);
  expect(first.achievement).toMatchObject({ key: 'tour', achievedAt: '2026-11-18T12:00:00.000Z' });
  expect(first.points['xp']).toMatchObject({ total: 6, added: 6, level: { key: 'bronze' } });
  expect(first.points['xp']!.awards.map(({ awarded }) => awarded)).toEqual([1, 5]);
  expect(await laurel.users.state(0, 'a')).toMatchObject({ name: 'Ada', points: new Map([[xp.no, 6]]) });

  laurel.clock.set(laurel.clock.now() + 60_000);
  const second = await laurel.complete('tour', { id: 'a', name: 'Ada L.' });
  expect(second).toEqual({ ...first, points: {} });
  expect((await laurel.profiles.get(laurel.compiled(), 'a')).name).toBe('Ada L.');
  expect((await laurel.complete('tour', 'b')).completionId).not.toBe(first.completionId);
});

test('composites follow to a fixed point, with their points', async () => {
  await laurel.event('flips', 'c', 10);
  const answer = await laurel.complete('tour', 'c');
  expect(answer.points['xp']).toMatchObject({ total: 26, added: 25 });
  expect(await namesOf('c')).toEqual(['tour', 'ten', 'both', 'outer']);
  const entry = (await laurel.redis.xrevrangeBuffer('{s0}:outbox', '+', '-', 'COUNT', 1))[0]!;
  expect(unpackAll(entry[1][3]!)[0]).toMatchObject({ k: 'c', u: 'c', c: [tour.no, both.no, outer.no] });
});

test('of a hundred parallel completions one pays, all report the same, and the record exists once', async () => {
  const entries = await laurel.redis.xlen('{s0}:outbox');
  const count = Number(await laurel.redis.hget('{s0}:0:n', `a${tour.no}`));
  const answers = await Promise.all(Array.from({ length: 100 }, () => laurel.complete('tour', 'many')));
  expect(new Set(answers.map(({ completionId }) => completionId)).size).toBe(1);
  expect(new Set(answers.map(({ achievement }) => JSON.stringify(achievement))).size).toBe(1);
  expect(answers.filter(({ points }) => 'xp' in points)).toHaveLength(1);
  expect((await laurel.users.state(0, 'many')).points).toEqual(new Map([[xp.no, 6]]));
  expect(await laurel.redis.xlen('{s0}:outbox')).toBe(entries + 1);
  expect(await laurel.redis.hget('{s0}:0:n', `a${tour.no}`)).toBe(String(count + 1));
});

test.each(['Zoë 🦉', '__proto__'])('the user ID %j', async (id) => {
  const first = await laurel.complete('tour', id);
  expect((await laurel.complete('tour', id)).completionId).toBe(first.completionId);
  expect(await namesOf(id)).toEqual(['tour']);
});

test('out of points: refuses the completion and changes nothing', async () => {
  await expect(laurel.complete('costly', { id: 'a', name: 'poor' })).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining("'xp'"),
  });
  expect(await namesOf('a')).toEqual(['tour']);
  expect((await laurel.profiles.get(laurel.compiled(), 'a')).name).toBe('Ada L.');
});

test('answers 404 for unknown and inactive achievements and 422 for other types; creates no user', async () => {
  for (const [key, status] of [
    ['nope', 404],
    ['__proto__', 404],
    [sunk.key!, 404],
    ['ten', 422],
    [forPros.key!, 422],
    [costly.key!, 422],
  ] as const) {
    await expect(laurel.complete(key, 'refused')).rejects.toMatchObject({ status });
  }
  await expect(laurel.users.state(0, 'refused')).rejects.toMatchObject({ status: 404 });
});

test('conditions use the attributes sent with the call', async () => {
  expect((await laurel.complete('pros', { id: 'd', attributes: { plan: 'pro' } })).achievement.name).toBe('pros');
});

test('a locked achievement stays with its holders, and is hidden from others', async () => {
  const kept = await laurel.complete('tour', 'e');
  lock();
  expect((await laurel.complete('tour', 'e')).completionId).toBe(kept.completionId);
  await expect(laurel.complete('tour', 'late')).rejects.toMatchObject({ status: 422 });
  await laurel.profiles.upsert(laurel.compiled(), 'late', {});
  expect(await namesOf('late', true)).toEqual(['ten', 'both', 'outer', 'pros', 'costly']);
  expect(await namesOf('e', true)).toEqual(['tour', 'ten', 'both', 'outer', 'pros', 'costly']);
  expect((await listed()).map(({ name }) => name)).not.toContain('tour');
  laurel.catalog = builder.catalog;
});

test('completions and rarity are current', async () => {
  const users = Number(await laurel.redis.hget('{s0}:0:n', 'users'));
  const list = await listed();
  expectFit(Type.Array(AchievementWithStatsResponse), list);
  expect(list.map(({ name }) => name)).toEqual(['tour', 'ten', 'both', 'outer', 'pros', 'costly']);
  const before = list.find(({ name }) => name === 'ten')!;
  expect(before).toMatchObject({ completions: 1, rarity: Number((100 / users).toFixed(2)) });
  await laurel.event('flips', 'a', 10);
  const [after] = (await achievementsOf('a', false)).filter(({ name }) => name === 'ten');
  expect(after).toMatchObject({ completions: 2, rarity: Number((200 / users).toFixed(2)) });
});

test('the list for given attributes has the achievements whose conditions all match', async () => {
  const list = async (filter: string): Promise<string[]> => (await listed(filter)).map(({ name }) => name);
  expect(await list('plan:pro')).toContain('pros');
  expect(await list('plan:free')).toEqual(['tour', 'ten', 'both', 'outer', 'costly']);
  for (const bad of ['plan', ':x', 'plan:', 'nope:x', '__proto__:x', 'plan:a,plan:b', ',']) {
    await expect(list(bad)).rejects.toMatchObject({ status: 422 });
  }
});

test('all metrics of a user, with their achievements', async () => {
  const json = await laurel.users.metrics(laurel.compiled(), 'b', { nowMs: laurel.clock.now() });
  const metrics: unknown = JSON.parse(json);
  expectFit(Type.Array(MetricResponse), metrics);
  expect(metrics).toMatchObject([{ key: 'flips', current: 0, achievements: [{ name: 'ten', achievedAt: null }] }]);
  await expect(laurel.users.metrics(laurel.compiled(), 'nobody', { nowMs: laurel.clock.now() })).rejects.toMatchObject({
    status: 404,
  });
  await expect(achievementsOf('nobody', true)).rejects.toMatchObject({ status: 404 });
});

test('the list of all metrics examines each achievement a few times, however many metrics there are', async () => {
  const [metric, achievement] = [
    builder.catalog.metrics[0]!,
    builder.catalog.achievements.find(({ name }) => name === 'ten')!,
  ];
  const many = 200;
  let reads = 0;
  const metrics = Array.from({ length: many }, (_, at) => ({
    ...metric,
    no: 1_000 + at,
    id: `metric ${at}`,
    key: `m${at}`,
  }));
  const achievements = metrics.map(({ id }, at) => ({
    ...achievement,
    no: 2_000 + at,
    id: `achievement ${at}`,
    get metricId() {
      reads += 1;
      return id;
    },
  }));
  laurel.catalog = { ...builder.catalog, metrics, achievements };
  const compiled = laurel.compiled();
  reads = 0;
  const answer = JSON.parse(
    await laurel.users.metrics(compiled, 'b', { nowMs: laurel.clock.now() }),
  ) as MetricResponse[];
  laurel.catalog = builder.catalog;
  expect(answer.map(({ achievements: own }) => own.map(({ id }) => id))).toEqual(achievements.map(({ id }) => [id]));
  expect(reads).toBeLessThan(5 * many);
});
