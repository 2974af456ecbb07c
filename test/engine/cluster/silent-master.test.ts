import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { createLiveAudience } from '../../../src/engine/notifications/listeners.ts';
import { Reporter } from '../../../src/engine/notifications/reporter.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import { type Endpoint, endpointsOf } from '../../../src/redis/endpoints.ts';
import { knownPart, knownParts } from '../../../src/redis/parts.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { OwnCluster } from '../../stack/own-cluster.ts';
import { STUDY_APP } from '../../study-app.ts';
import type { OwnRedis } from '../rebuild/own-redis.ts';
import { opened } from '../../stack/opened.ts';

let laurel: TestLaurel;
/** The master that hangs. */
let master: OwnRedis;
/** Unguarded connections of a worker. */
let workerRedis: Redis;
let persister: Persister;
/** Users on the other masters. */
let users: string[];
let next = 0;

const endpointAt = (redis: Redis): Endpoint => endpointsOf(redis).find(({ name }) => name.endsWith(`:${master.port}`))!;

const keepsWaiting = (redis: Redis): void => void (endpointAt(redis).redis.options.socketTimeout = 3_600_000);

/*
One of three masters hangs, and this process never gives up its connection (`keepsWaiting`). An operation that waits for that
master therefore never ends, and its test fails.
 */

const cluster = opened(() => OwnCluster.start());
beforeAll(async () => {
  [, master] = cluster.nodes as [OwnRedis, OwnRedis];
  laurel = await startLaurel({ redisUrl: cluster.url, spread: 16, configuration: STUDY_APP });
  workerRedis = await laurel.connect();
  const { pool } = laurel;
  const reporter = new Reporter({
    redis: workerRedis,
    pool,
    catalogs: new Catalogs(pool),
    live: createLiveAudience(workerRedis),
    onLeftOut: (error) => expect.fail(String(error)),
  });
  persister = new Persister({ redis: workerRedis, pool, reporter });
  const away = new Set(endpointAt(laurel.redis).shards);
  const ids = Array.from({ length: 80 }, (_, index) => `user-${index}`);
  users = ids.filter((id) => !away.has(knownPart(laurel.redis, 0, id).shard));
  for (const id of users) {
    const event = { user: { id, attributes: { plan: 'pro' } }, value: 20 };
    await laurel.app.post('/v1/metrics/flips/event', event);
  }
  for (const { shard } of knownParts(laurel.redis, 0)) await persister.drain(shard);
  // Reads the statistics once while all masters answer.
  await laurel.app.get(`/v1/users/${users[0]}/achievements`);
  for (const redis of [laurel.redis, workerRedis]) keepsWaiting(redis);
  master.pause();
});
afterAll(async () => {
  master.resume();
  workerRedis.disconnect();
  await laurel.close();
});

/** A user for one test alone, because others' events change what is stored. */
const anotherUser = (): string => users[next++]!;

const keyed = (key: string): { headers: Record<string, string> } => ({ headers: { 'Idempotency-Key': key } });

const store = (userId: string): Promise<number> => persister.drain(knownPart(laurel.redis, 0, userId).shard);

test.each<[string, (userId: string) => [method: string, path: string, body?: unknown]]>([
  ['an event', (id) => ['POST', '/v1/metrics/minutes/event', { user: { id }, value: 1 }]],
  ['an event that changes ranks', (id) => ['POST', '/v1/metrics/flips/event', { user: { id }, value: 1 }]],
  ['a spending', (id) => ['POST', `/v1/users/${id}/points/xp/spend`, { amount: 1 }]],
  ['a hold', (id) => ['POST', `/v1/users/${id}/points/xp/hold`, { amount: 1, expiresIn: 60 }]],
  ['a profile', (id) => ['GET', `/v1/users/${id}`]],
  ['a changed profile', (id) => ['PATCH', `/v1/users/${id}`, { name: 'Ada' }]],
  ['an identified user', (id) => ['PUT', `/v1/users/${id}`, { name: 'Ada' }]],
  ['preferences', (id) => ['GET', `/v1/users/${id}/preferences`]],
  ['changed preferences', (id) => ['PATCH', `/v1/users/${id}/preferences`, { notifications: {} }]],
  ['totals', (id) => ['GET', `/v1/users/${id}/metrics`]],
  ['a total', (id) => ['GET', `/v1/users/${id}/metrics/flips`]],
  ['achievements', (id) => ['GET', `/v1/users/${id}/achievements?includeIncomplete=true`]],
  ['a completed achievement', (id) => ['POST', '/v1/achievements/tour/complete', { user: { id } }]],
  ['a streak', (id) => ['GET', `/v1/users/${id}/streak?historyPeriods=7`]],
  ['points', (id) => ['GET', `/v1/users/${id}/points/xp?awards=10`]],
  ['boosts', (id) => ['GET', `/v1/users/${id}/points/xp/boosts`]],
  ['a ranking of some users', (id) => ['POST', '/v1/leaderboards/flips/rankings', { userIds: [id] }]],
  ['a ticket', (id) => ['POST', '/v1/live/tickets', { userId: id }]],
])('%s of a user on another master does not wait', async (_, request) => {
  const userId = anotherUser();
  const [method, path, body] = request(userId);
  const { status } = await laurel.app.send(method, path, { body, ...keyed(userId) });
  expect([200, 201]).toContain(status);
});

test('achievements keep their statistics', async () => {
  const { body } = await laurel.app.get(`/v1/users/${users[0]}/achievements`);
  expect(body.find(({ key }: { key: string }) => key === 'ten')).toMatchObject({
    completions: users.length,
    rarity: 100,
  });
});

test('an event without ranks has no boards in its answer, and counts', async () => {
  const userId = anotherUser();
  const { status, body } = await laurel.app.post('/v1/metrics/flips/event', { user: { id: userId }, value: 3 });
  expect([status, body.total, body.leaderboards]).toEqual([201, 23, {}]);
});

/** Resolves with an answer that waits until Postgres holds what was written about a user. */
async function afterStoring<T>(userId: string, answer: Promise<T>): Promise<T> {
  let isAnswered = false;
  const answered = answer.finally(() => (isAnswered = true));
  const { shard } = knownPart(laurel.redis, 0, userId);
  while (!isAnswered) await persister.drain(shard);
  return answered;
}

/** Records an event that Postgres does not hold yet, of a user for this test alone. */
async function unstored(): Promise<{ userId: string; eventId: string }> {
  const userId = anotherUser();
  const { status, body } = await laurel.app.post('/v1/metrics/minutes/event', { user: { id: userId }, value: 1 });
  expect(status).toBe(201);
  return { userId, eventId: body.eventId };
}

test('a late event waits for its user alone', async () => {
  const { userId } = await unstored();
  const occurredAt = new Date(Date.now() - 3 * 86_400_000).toISOString();
  const late = laurel.app.post('/v1/metrics/minutes/event', { user: { id: userId }, value: 1, occurredAt });
  expect((await afterStoring(userId, late)).status).toBe(201);
});

test('an idempotency key of a user who was deleted and created again waits for that user alone', async () => {
  const { userId } = await unstored();
  const event = { user: { id: userId }, value: 1 };
  const send = () => laurel.app.post('/v1/metrics/minutes/event', event, keyed(`again ${userId}`));
  expect((await send()).status).toBe(201);
  expect((await laurel.admin.delete(`/v1/users/${userId}`)).status).toBe(200);
  expect((await laurel.app.post('/v1/metrics/minutes/event', event)).status).toBe(201);
  // The new user's keys are unused, which Postgres can say only once it holds the deletion.
  expect((await afterStoring(userId, send())).status).toBe(201);
});

test('an export of a user waits for that user alone', async () => {
  const { userId } = await unstored();
  const exported = laurel.admin.get(`/v1/users/${userId}/export`);
  expect((await afterStoring(userId, exported)).status).toBe(200);
});

test('a reversal waits for its user alone', async () => {
  const { userId, eventId } = await unstored();
  await store(userId);
  expect((await laurel.app.post('/v1/metrics/minutes/event', { user: { id: userId }, value: 1 })).status).toBe(201);
  const reversed = laurel.admin.post(`/v1/events/${eventId}/reverse`);
  expect((await afterStoring(userId, reversed)).status).toBe(200);
});

test('a refund waits for its user alone, and so does the list of what was spent', async () => {
  const userId = anotherUser();
  const spent = await laurel.app.post(`/v1/users/${userId}/points/xp/spend`, { amount: 1 }, keyed(`spent ${userId}`));
  expect(spent.status).toBe(201);
  const refunded = laurel.app.post(`/v1/users/${userId}/points/xp/spendings/${spent.body.id}/refund`);
  expect((await afterStoring(userId, refunded)).status).toBe(200);
  const listed = await afterStoring(userId, laurel.admin.get(`/v1/users/${userId}/spendings`));
  expect(listed.body.spendings).toMatchObject([{ id: spent.body.id, status: 'refunded' }]);
});
