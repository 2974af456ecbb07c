import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Catalogs } from '../../../src/catalog/catalogs.ts';
import { pino } from 'pino';
import { FixedClock, systemClock } from '../../../src/clock.ts';
import { createBatchProcessor } from '../../../src/engine/events/batch-processor.ts';
import { idempotencyDigest, KeyedIds } from '../../../src/engine/ids.ts';
import { createKeyAgeing, type KeyAgeingOptions } from '../../../src/engine/retention/key-ageing.ts';
import { createLateEvents } from '../../../src/engine/corrections/late-events.ts';
import { lookUpKeys } from '../../../src/engine/events/stored-replies.ts';
import { Persister } from '../../../src/engine/persist/persister.ts';
import type { Difference } from '../../../src/engine/rebuild/confirmation.ts';
import { OLD_KEYS } from '../../../src/packed/call-fields.ts';
import { ageKeys } from '../../../src/redis/old-keys.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { awaitedKey, oldKeysKey } from '../../../src/redis/keys.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { emptyRedis, keysOf } from '../../stack/all-servers.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { differencesIn } from '../../differences.ts';

const DAY_MS = 86_400_000;
const HOT_DAYS = 7;
const HURRY = AbortSignal.abort();
const NEVER = new AbortController().signal;

let laurel: TestLaurel;
let clock: FixedClock;
let redis: TestLaurel['redis'];

beforeEach(async () => {
  clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
  laurel = await startLaurel({ configuration: STUDY_APP, clock });
  redis = await laurel.connect();
  await redisReady(redis);
});
afterEach(() => laurel.close());

const flip = (id: string, value: number, key?: string) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id }, value },
    { headers: key === undefined ? {} : { 'Idempotency-Key': key } },
  );
const persist = () => new Persister({ redis, pool: laurel.pool }).drain(0, HURRY);
const pass = (days: number): void => clock.set(clock.now() + days * DAY_MS);
const ageing = (options: Partial<KeyAgeingOptions> = {}) =>
  createKeyAgeing({ redis, pool: laurel.pool, hotDays: HOT_DAYS, ...options });

/** Does due work like the schedule. */
async function age(options: Partial<KeyAgeingOptions> = {}): Promise<void> {
  await persist();
  const work = ageing(options);
  for (let due = await work.due(clock.now()); due !== null; due = await work.due(clock.now())) {
    await work.perform(due, NEVER);
  }
}

async function hotKeys(): Promise<number> {
  let fields = 0;
  for (const key of await keysOf(redis, '{s?}:*:i:*')) fields += await redis.hlen(key);
  return fields;
}
const oldKeys = async (tenantNo = 0): Promise<number> =>
  Number((await redis.hget(oldKeysKey(onlyPart(tenantNo)), 'n')) ?? 0);
const events = async (): Promise<number> =>
  (await laurel.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;

/** Makes an unused key look like an old one. */
async function collide(user: string, metricNo: number, key: string, generation = ''): Promise<void> {
  const { bucket, field } = idempotencyDigest(user, metricNo, key);
  const hot = `{s0}:0:i:${bucket}`;
  await redis.hset(hot, field + generation, 1);
  expect(await ageKeys(redis, [{ tenantNo: 0, bucket: hot, fields: [field + generation] }])).toBe(1);
}
const metricNo = async (): Promise<number> =>
  (
    await laurel.pool.query<{ no: number }>(
      "SELECT no FROM catalog_resources WHERE kind = 'metric' AND identity = 'flips'",
    )
  ).rows[0]!.no;

test('a key used before its tenant became large stays used, like one used after: hot, after a rebuild, old, until the user is deleted', async () => {
  const first = await flip('ada', 3, 'before');
  await redis.hset(oldKeysKey(onlyPart(0)), OLD_KEYS.large, 1);
  const second = await flip('ada', 4, 'after');
  const lengths = (await keysOf(redis, '{s?}:*:i:*')).map((key) => key.split(':').at(-1)!.length);
  expect(lengths.toSorted((a, b) => a - b)).toEqual([4, 5]);
  const stillUsed = async (): Promise<void> => {
    for (const { key, value, eventId } of [
      { key: 'before', value: 3, eventId: first.body.eventId },
      { key: 'after', value: 4, eventId: second.body.eventId },
    ])
      expect(await flip('ada', value, key)).toMatchObject({ status: 202, body: { eventId, total: 7 } });
    await persist();
    expect(await differencesIn({ redis, pool: laurel.pool })).toEqual([]);
  };
  await stillUsed();
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  await stillUsed();
  await redis.hset(oldKeysKey(onlyPart(0)), OLD_KEYS.large, 1);
  pass(HOT_DAYS + 1);
  await age();
  expect([await hotKeys(), await oldKeys()]).toEqual([0, 2]);
  await stillUsed();
  await laurel.admin.delete('/v1/users?ids=ada');
  await persist();
  expect(await flip('ada', 3, 'before')).toMatchObject({ status: 201, body: { total: 3 } });
});

test('a replay with another body is a conflict as long as the key is hot, unless Redis was rebuilt', async () => {
  const conflict = async (): Promise<unknown> => {
    const { status, body } = await flip('ada', 4, 'k');
    expect([status, body.total]).toEqual([202, 3]);
    return body.idempotencyConflict;
  };
  await flip('ada', 3, 'k');
  expect(await conflict()).toBe(true);
  await persist();
  pass(HOT_DAYS - 1);
  await age();
  expect(await conflict()).toBe(true);
  pass(2);
  await age();
  expect(await oldKeys()).toBe(1);
  expect(await conflict()).toBeUndefined();
  await flip('bob', 3, 'k');
  await persist();
  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  const { status, body } = await flip('bob', 4, 'k');
  expect([status, body.idempotencyConflict]).toEqual([202, undefined]);
});

describe('a key older than the hot days', () => {
  test('leaves the hot set, and a replay is answered exactly', async () => {
    const first = await flip('ada', 3, 'k');
    expect(first.status).toBe(201);
    await flip('ada', 4, 'other');
    pass(HOT_DAYS - 1);
    await age();
    expect(await hotKeys()).toBe(2);
    await flip('ada', 5, 'young');
    pass(1);
    clock.set(clock.now() + 1);
    await age();
    expect(await hotKeys()).toBe(1);
    expect(await oldKeys()).toBe(2);

    for (let n = 0; n < 2; n += 1) {
      const { status, body } = await flip('ada', 3, 'k');
      expect(status).toBe(202);
      expect(body).toMatchObject({ eventId: first.body.eventId, total: 12, idempotentReplayed: true });
      expect(body).toMatchObject({ achievements: [], points: {}, leaderboards: {} });
    }
    await persist();
    expect(await events()).toBe(3);
  });

  test('stays hot while its event waits in a dead letter, where no lookup finds it', async () => {
    await laurel.pool.query(`ALTER TABLE events ADD CONSTRAINT no_ada CHECK (user_id <> 'ada')`);
    await flip('ada', 3, 'k');
    await flip('bob', 3, 'k');
    pass(30);
    await age();
    expect([await hotKeys(), await oldKeys()]).toEqual([1, 1]);
    expect(await flip('ada', 3, 'k')).toMatchObject({ status: 202, body: { total: 3 } });
    await emptyRedis(redis);
    await rebuildByHand(laurel, redis);
    expect([await hotKeys(), await oldKeys()]).toEqual([1, 1]);
    expect(await flip('ada', 3, 'k')).toMatchObject({ status: 202, body: { total: 3 } });
    expect(await events()).toBe(1);
  });

  test('of an event in quarantine is replayed as before: waiting, released, dropped', async () => {
    const [{ id }] = (await laurel.admin.get('/v1/metrics')).body.filter(({ key }: { key: string }) => key === 'flips');
    const guards = { maxValue: { limit: 10, action: 'quarantine' } };
    expect((await laurel.admin.patch('/v1/metrics', [{ id, guards }])).body.issues).toEqual([]);
    const kept: string[] = [];
    for (const key of ['waits', 'released', 'dropped']) {
      const { status, body } = await flip('ada', 20, key);
      expect([status, body.guarded.action]).toEqual([202, 'quarantine']);
      kept.push(body.eventId);
    }
    await persist();
    const [waits, released, dropped] = kept as [string, string, string];
    expect((await laurel.admin.post(`/v1/quarantine/${released}/release`, undefined)).body.event.total).toBe(20);
    // It is answered when it is stored.
    const drop = laurel.admin.delete(`/v1/quarantine/${dropped}`);
    const isDone = drop.then(() => true);
    while (!(await Promise.race([isDone, persist().then(() => false)])));
    expect((await drop).status).toBe(200);
    pass(HOT_DAYS + 1);
    await age();
    expect([await hotKeys(), await oldKeys()]).toEqual([0, 3]);

    const replayed = async () => {
      for (const [key, eventId] of [
        ['waits', waits],
        ['released', released],
        ['dropped', dropped],
      ] as const) {
        const { status, body } = await flip('ada', 20, key);
        expect([status, body.eventId, body.idempotentReplayed, body.total]).toEqual([202, eventId, true, 20]);
        expect(body.guarded).toEqual(key === 'waits' ? { guard: 'maxValue', action: 'quarantine' } : undefined);
      }
    };
    await replayed();
    await persist();
    await emptyRedis(redis);
    await rebuildByHand(laurel, redis);
    expect([await hotKeys(), await oldKeys()]).toEqual([0, 3]);
    await replayed();
    const late = await laurel.admin.post(`/v1/quarantine/${waits}/release`, undefined);
    expect(late.body.event).toMatchObject({ eventId: waits, total: 40 });
    expect(await flip('ada', 20, 'waits')).toMatchObject({ status: 202, body: { eventId: waits, total: 40 } });
  });

  test('keeps its scope: another user, another metric, another key are new', async () => {
    await flip('ada', 3, 'k');
    pass(30);
    await age();
    expect((await flip('bob', 3, 'k')).status).toBe(201);
    expect((await flip('ada', 3, 'l')).status).toBe(201);
    const other = await laurel.app.post(
      '/v1/metrics/minutes/event',
      { user: { id: 'ada' }, value: 1 },
      { headers: { 'Idempotency-Key': 'k' } },
    );
    expect(other.status).toBe(201);
  });

  test('of another tenant', async () => {
    await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
    await laurel.admin.post('/v1/tenants', [{ customerId: 'acme', name: 'Acme' }]);
    const headers = { 'Tenant-ID': 'acme' };
    await laurel.admin.put('/v1/configuration', STUDY_APP, { headers });
    const send = () =>
      laurel.app.post(
        '/v1/metrics/flips/event',
        { user: { id: 'ada' }, value: 2 },
        { headers: { ...headers, 'Idempotency-Key': 'k' } },
      );
    const first = await send();
    expect(first.status).toBe(201);
    pass(30);
    for (let shard = 0; shard < 8; shard += 1) {
      await new Persister({ redis, pool: laurel.pool }).drain(shard, HURRY);
    }
    await age();
    expect(await hotKeys()).toBe(0);
    const again = await send();
    expect([again.status, again.body.eventId, again.body.total]).toEqual([202, first.body.eventId, 2]);
  });

  test('retried by fifty at once: all get the same answer, nothing is processed', async () => {
    const first = await flip('ada', 3, 'k');
    pass(30);
    await age();
    const answers = await Promise.all(Array.from({ length: 50 }, () => flip('ada', 3, 'k')));
    expect(answers.every(({ status, body }) => status === 202 && body.eventId === first.body.eventId)).toBe(true);
    expect(answers.every(({ body }) => body.total === 3)).toBe(true);
  });

  test('does not move while its event waits for Postgres', async () => {
    await flip('ada', 3, 'k');
    pass(30);
    const work = ageing();
    const dueMs = (await work.due(clock.now()))!;
    const performing = work.perform(dueMs, NEVER);
    await expect.poll(() => redis.exists(awaitedKey(0))).toBe(1);
    expect(await hotKeys()).toBe(1);
    expect(await oldKeys()).toBe(0);
    await persist();
    await performing;
    expect([await hotKeys(), await oldKeys()]).toEqual([0, 1]);
  });
});

describe('a new key that looks like an old one', () => {
  test('is looked up and processed once', async () => {
    await collide('ada', await metricNo(), 'k');
    const first = await flip('ada', 3, 'k');
    expect([first.status, first.body.total]).toEqual([201, 3]);
    expect((await flip('ada', 3, 'k')).body).toMatchObject({ eventId: first.body.eventId, total: 3 });
  });

  test('used by fifty at once is processed once', async () => {
    await collide('ada', await metricNo(), 'k');
    const answers = await Promise.all(Array.from({ length: 50 }, () => flip('ada', 3, 'k')));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.eventId)).size).toBe(1);
    expect(answers.every(({ body }) => body.total === 3)).toBe(true);
  });

  test('keeps the order of the user’s events that were sent together', async () => {
    await collide('ada', await metricNo(), 'k1');
    const answers = await Promise.all([flip('ada', 1, 'k0'), flip('ada', 2, 'k1'), flip('ada', 4), flip('bob', 8)]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const totals = answers.map(({ body }) => body.total);
    expect(totals).toEqual([1, 3, 7, 8]);
  });

  test('answers 503 without Postgres, while other keys work', async () => {
    await flip('ada', 1);
    await collide('ada', await metricNo(), 'k');
    await laurel.pool.query('ALTER TABLE events RENAME TO away');
    const [old, next, other] = await Promise.all([flip('ada', 2, 'k'), flip('ada', 4), flip('bob', 8, 'new')]);
    expect(old.status).toBeGreaterThanOrEqual(500);
    expect([next.status, next.body.total, other.status]).toEqual([201, 5, 201]);
    await laurel.pool.query('ALTER TABLE away RENAME TO events');
    expect((await flip('ada', 2, 'k')).body.total).toBe(7);
  });
});

test('a batch with old keys, new ones that look old, and users between them', async () => {
  const first = await flip('ada', 1, 'old');
  pass(30);
  await age();
  const no = await metricNo();
  await collide('bob', no, 'alike');
  const catalogs = new Catalogs(laurel.pool);
  const processor = createBatchProcessor({
    redis,
    catalogs,
    ids: await KeyedIds.of(laurel.pool),
    lookUpKeys: (tenantNo, questions) => lookUpKeys({ redis, pool: laurel.pool }, tenantNo, questions),
    onWritten: () => undefined,
    onRefused: () => undefined,
    late: createLateEvents(redis, laurel.pool, systemClock, pino({ level: 'silent' })),
  });
  const event = (id: string, idempotencyKey?: string) => ({
    key: 'flips',
    user: { id },
    value: 2,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
  const answer = laurel.admin.post('/v1/metrics/events?wait=true', [
    event('eve', 'fresh'),
    event('ada', 'old'),
    event('ada'),
    event('bob', 'alike'),
    event('bob', 'alike'),
  ]);
  await expect.poll(() => redis.xlen('{s0}:batches')).toBe(1);
  await processor.drain(0);
  catalogs.close();
  const { status, body } = await answer;
  expect(status).toBe(200);
  expect(body.results).toMatchObject([
    { status: 201, total: 2 },
    { status: 202, replayed: true, eventId: first.body.eventId },
    { status: 201, total: 3 },
    { status: 201, total: 2 },
    { status: 202, replayed: true, total: 2 },
  ]);
});

describe('a deleted user', () => {
  test('with old keys: a new user with the same ID may use them', async () => {
    await flip('ada', 3, 'k');
    pass(30);
    await age();
    await laurel.admin.delete('/v1/users?ids=ada');
    expect((await flip('ada', 3, 'k')).body).toMatchObject({ total: 3, idempotentReplayed: false });
    const second = await flip('ada', 3, 'k');
    expect(second.status).toBe(202);
    await persist();
    pass(30);
    await age();
    expect(await hotKeys()).toBe(0);
    expect((await flip('ada', 3, 'k')).body).toMatchObject({ total: 3, eventId: second.body.eventId });
  });

  test('who is still in Postgres is not taken for the new one', async () => {
    const first = await flip('ada', 3, 'k');
    await persist();
    await laurel.admin.delete('/v1/users?ids=ada');
    await flip('ada', 1);
    await collide('ada', await metricNo(), 'k', '.1');
    expect(await events()).toBe(1);
    // The ID of an event with a key follows from its time.
    clock.set(clock.now() + 1);
    await redis.del(awaitedKey(0));
    const answering = flip('ada', 3, 'k');
    await expect.poll(() => redis.exists(awaitedKey(0))).toBe(1);
    await persist();
    const { status, body } = await answering;
    expect([status, body.total]).toEqual([201, 4]);
    expect(body.eventId).not.toBe(first.body.eventId);
  });
});

describe('a crash', () => {
  test.each(['found', 'moved'] as const)(
    'of the ageing after %s keys changes nothing; the next run continues',
    async (at) => {
      const ids = new Map<string, string>();
      for (let n = 0; n < 40; n += 1) ids.set(`k${n}`, (await flip(`user ${n % 7}`, 1, `k${n}`)).body.eventId);
      pass(30);
      await expect(
        age({
          onStep: (step) => {
            if (step === at) throw Object.assign(new Error('the end of the process'), { code: 'ECONNRESET' });
          },
        }),
      ).rejects.toThrow('the end of the process');
      const replayed = async (): Promise<void> => {
        for (const [key, id] of ids) {
          const { status, body } = await flip(`user ${Number(key.slice(1)) % 7}`, 1, key);
          expect([status, body.eventId]).toEqual([202, id]);
        }
      };
      await replayed();
      await age();
      expect([await hotKeys(), await oldKeys()]).toEqual([0, 40]);
      await replayed();
    },
  );

  test('two concurrent runs move every key once', async () => {
    for (let n = 0; n < 40; n += 1) await flip('ada', 1, `k${n}`);
    pass(30);
    await persist();
    const [one, two] = [ageing(), ageing()];
    const dueMs = (await one.due(clock.now()))!;
    await Promise.all([one.perform(dueMs, NEVER), two.perform(dueMs, NEVER)]);
    expect([await hotKeys(), await oldKeys()]).toEqual([0, 40]);
    expect(await one.due(clock.now())).toBe(null);
  });
});

test('verify and rebuild compare old keys and restore them as old, and hot ones as hot', async () => {
  const ids = new Map<string, string>();
  for (let n = 0; n < 30; n += 1) ids.set(`k${n}`, (await flip(`user ${n % 7}`, 1, `k${n}`)).body.eventId);
  await laurel.admin.delete('/v1/users?ids=user 3');
  const second = await flip('user 3', 1, 'k3');
  pass(30);
  await age();
  for (let n = 30; n < 40; n += 1) ids.set(`k${n}`, (await flip(`user ${n % 7}`, 1, `k${n}`)).body.eventId);
  await persist();
  const differences = async (): Promise<Difference[]> => {
    const found = await differencesIn({ redis, pool: laurel.pool });
    // Nobody clears the runs of ended leaderboards here.
    return found.filter(({ key }) => !key.includes(':b:'));
  };
  expect(await differences()).toEqual([]);
  const segments = await redis.keys('{s0}:0:o:*');
  expect(segments.length).toBeGreaterThan(0);
  await redis.del(...segments);
  expect((await differences()).length).toBeGreaterThan(20);

  await emptyRedis(redis);
  await rebuildByHand(laurel, redis);
  expect(await differences()).toEqual([]);
  expect(await hotKeys()).toBe(10);
  expect(await oldKeys()).toBe(30 - 4 + 1);
  expect((await flip('user 3', 1, 'k3')).body).toMatchObject({ eventId: second.body.eventId });
  expect((await flip('user 3', 1, 'k10')).status).toBe(201);
  for (const [key, id] of ids) {
    const user = `user ${Number(key.slice(1)) % 7}`;
    if (user === 'user 3' && Number(key.slice(1)) < 30) continue;
    const { status, body } = await flip(user, 1, key);
    expect([key, status, body.eventId]).toEqual([key, 202, id]);
  }
});
