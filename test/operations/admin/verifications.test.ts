import { beforeAll, expect, test } from 'vitest';
import type { Verification, VerificationDetails } from '../../../src/domain/administration/verification.ts';
import { countersKey, type TenantPart, userKey } from '../../../src/redis/keys.ts';
import { knownPart, knownParts } from '../../../src/redis/parts.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { keysOf } from '../../stack/all-servers.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

let redis: TestLaurel['redis'];
const laurel = opened(() => startLaurel({ cluster: true, configuration: STUDY_APP, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
  for (let n = 0; n < 30; n += 1) await event(n);
});

async function event(n: number): Promise<void> {
  const user = { id: `user ${n % 6}`, attributes: { plan: n % 2 === 0 ? 'free' : 'pro' } };
  const headers = { 'Idempotency-Key': `key ${n}` };
  expect((await laurel.app.post('/v1/metrics/flips/event', { user, value: 2.5 }, { headers })).status).toBe(201);
}

async function verified(options: { tenantId?: string } = {}): Promise<VerificationDetails> {
  const { status, body } = await laurel.admin.post('/v1/verifications', undefined, options);
  expect([status, body]).toEqual([202, expect.objectContaining({ status: 'waiting', differences: 0 })]);
  const read = async (): Promise<VerificationDetails> =>
    (await laurel.admin.get(`/v1/verifications/${body.id}`, options)).body;
  await expect.poll(async () => (await read()).status).toBe('done');
  const details = await read();
  expect(details).toMatchObject({ differences: details.found.length, endedEarly: false, error: null });
  expect(details.progress.done).toBe(details.progress.total);
  return details;
}

const keyLike = async (pattern: string): Promise<string> => (await keysOf(redis, pattern)).toSorted()[0]!;
const partOf = (id: string): TenantPart => knownPart(laurel.redis, 0, id);
const keyOf = (id: string): string => userKey(partOf(id), id);

test('nothing differs, also while events continue', async () => {
  let going = true;
  const traffic = (async () => {
    for (let n = 100; going; n += 1) await event(n);
  })();
  const { found, shards } = await verified();
  expect(found).toEqual([]);
  expect(shards).toEqual(knownParts(laurel.redis, 0).map(({ shard }) => shard));
  going = false;
  await traffic;
  expect((await verified()).found).toEqual([]);
  const { body: entries } = await laurel.admin.get('/v1/audit-log?kind=verification');
  expect(entries.map(({ action }: { action: string }) => action)).toEqual(['create', 'create']);
  const { body: jobs } = await laurel.admin.get('/v1/jobs?kind=verification');
  expect(jobs).toMatchObject([{ status: 'done', subject: null, mayRetry: false }, { status: 'done' }]);
});

test('finds exactly what was planted, with the fields of users; deleting a user deletes what was found about them', async () => {
  // A user of the second generation.
  const returns = () => laurel.app.post('/v1/metrics/flips/event', { user: { id: 'returns' }, value: 1 });
  await returns();
  expect((await laurel.admin.delete('/v1/users?ids=returns')).status).toBe(200);
  expect((await returns()).status).toBe(201);
  const [board, points, bucket, groups] = [
    await keyLike('{s*}:0:b:*'),
    await keyLike('{s*}:0:p:*'),
    await keyLike('{s*}:0:i:*'),
    await keyLike(`{s${partOf('user 1').shard}}:0:g:*`),
  ];
  const [field] = await redis.hkeys(bucket);
  await redis.set(keyOf('nobody'), (await redis.getBuffer(keyOf('user 1')))!);
  await redis.set(keyOf('user 2'), (await redis.getBuffer(keyOf('user 3')))!);
  await redis.del(keyOf('user 4'));
  const [onBoard] = await redis.zrange(board, '0', '0');
  await redis.zincrby(board, 0.5, onBoard!);
  await redis.zadd(board, 7, 'stranger');
  await redis.hincrby(points, '7000000', 1);
  await redis.hset('{s0}:0:p:999', '5', 1);
  await redis.hincrby('{s0}:0:n', 'users', 1);
  await redis.hset('{s0}:0:n', 'a999', 3);
  await redis.hdel(countersKey(partOf('returns')), 'd');
  await redis.hdel(bucket, field!);
  await redis.hset(bucket, 'AAAAAAAAAAAAAAAA', 1_700_000_000_000);
  expect(await redis.srem(groups, '3:pro')).toBe(1);
  await redis.sadd('{s0}:0:g:999:20000', '3:pro');
  // Of another tenant, though on the same shard.
  await redis.set('{s0}:256:u:nobody', 'x');

  const { id, found } = await verified();
  const of = (kind: string): string[] =>
    found
      .filter((one) => one.kind === kind)
      .map(({ key, part }) => (part === '' ? key : `${key} ${part}`))
      .toSorted();
  expect(found.flatMap(({ kind, key }) => (kind === 'user' ? [key] : [])).toSorted()).toEqual(
    ['nobody', 'user 2', 'user 4'].map(keyOf).toSorted(),
  );
  expect(of('leaderboard')).toEqual(expect.arrayContaining([`${board} ${onBoard}`, `${board} stranger`]));
  expect(of('leaderboardGroups')).toEqual(expect.arrayContaining([`${groups} 3:pro`, '{s0}:0:g:999:20000']));
  expect(of('points')).toEqual([points, '{s0}:0:p:999'].toSorted());
  const counters = ['{s0}:0:n a999', '{s0}:0:n users', `${countersKey(partOf('returns'))} d`];
  expect(of('counter')).toEqual(counters.toSorted());
  expect(of('idempotencyKey')).toEqual([`${bucket} ${field}`, `${bucket} AAAAAAAAAAAAAAAA`].toSorted());
  const byKey = (key: string) => found.find((one) => one.key === key);
  expect(byKey(keyOf('user 2'))).toMatchObject({
    userId: 'user 2',
    part: expect.stringContaining('createdMs'),
    redis: expect.stringMatching(/createdMs: \d+/),
    postgres: expect.stringMatching(/createdMs: \d+/),
  });
  expect(byKey(keyOf('user 4'))).toMatchObject({ redis: 'nothing', postgres: 'stored' });
  expect(byKey(keyOf('nobody'))).toMatchObject({ redis: 'stored', postgres: 'nothing' });

  expect((await laurel.admin.delete('/v1/users?ids=user 2')).status).toBe(200);
  const left = async (): Promise<VerificationDetails> => (await laurel.admin.get(`/v1/verifications/${id}`)).body;
  await expect.poll(async () => (await left()).found.filter(({ userId }) => userId === 'user 2')).toEqual([]);
  expect((await left()).differences).toBe((await left()).found.length);
});

test('ends early when almost everything differs', async () => {
  await laurel.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
     SELECT 0, 'lost ' || n, now(), state, '{}', '{}' FROM users, generate_series(1, 1300) AS n WHERE id = 'user 3'`,
  );
  const { body } = await laurel.admin.post('/v1/verifications', undefined);
  const read = async (): Promise<VerificationDetails> => (await laurel.admin.get(`/v1/verifications/${body.id}`)).body;
  await expect.poll(async () => (await read()).status).toBe('done');
  const { differences, endedEarly, found } = await read();
  expect({ differences, endedEarly, found: found.length }).toEqual({
    differences: 1_000,
    endedEarly: true,
    found: 1_000,
  });
});

test('one at a time for a tenant; cancelled as a job; read-only keys may only look', async () => {
  // No worker takes up a job that is due later.
  const due = `UPDATE jobs SET due = now() + INTERVAL '1 hour' WHERE kind = 'verification'`;
  await laurel.pool.query(`ALTER TABLE jobs ALTER COLUMN due SET DEFAULT clock_timestamp() + INTERVAL '1 hour'`);
  const { body: first } = await laurel.admin.post('/v1/verifications', undefined);
  await laurel.pool.query(due);
  expect(await laurel.admin.post('/v1/verifications', undefined)).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining('not finished') },
  });
  expect((await laurel.admin.post(`/v1/jobs/${first.id}/cancel`, undefined)).status).toBe(200);
  expect((await laurel.admin.get(`/v1/verifications/${first.id}`)).body).toMatchObject({ status: 'cancelled' });
  expect((await laurel.admin.post(`/v1/jobs/${first.id}/retry`, undefined)).status).toBe(409);
  expect((await laurel.admin.post('/v1/verifications', undefined)).status).toBe(202);

  const [{ key }] = (await laurel.admin.post('/v1/admin-api-keys', [{ name: 'reads', access: 'read' }])).body.created;
  expect((await laurel.admin.post('/v1/verifications', undefined, { key })).status).toBe(403);
  const { body: list } = await laurel.admin.get('/v1/verifications', { key });
  expect((list as Verification[]).map(({ status }) => status).slice(0, 2)).toEqual(['waiting', 'cancelled']);

  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
  await laurel.admin.post('/v1/tenants', [{ customerId: 'b', name: 'B' }]);
  expect((await laurel.admin.get('/v1/verifications', { tenantId: 'b' })).body).toEqual([]);
  expect((await laurel.admin.get(`/v1/verifications/${first.id}`, { tenantId: 'b' })).status).toBe(404);
  await laurel.pool.query('ALTER TABLE jobs ALTER COLUMN due SET DEFAULT clock_timestamp()');
  expect(await verified({ tenantId: 'b' })).toMatchObject({ shards: [1], found: [] });
});
