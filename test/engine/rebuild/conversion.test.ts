import { beforeAll, expect, test } from 'vitest';
import { countersKey, markKey, type TenantPart, userKey } from '../../../src/redis/keys.ts';
import { knownPart, knownParts } from '../../../src/redis/parts.ts';
import { startLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { STUDY_APP } from '../../study-app.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

/** Numbered 1 and 2. */
const TENANTS = ['here', 'there'];
const USERS = Array.from({ length: 40 }, (_, n) => `user ${n}`);

const laurel = opened(() => startLaurel({ workers: true }));
beforeAll(async () => {
  await addTenants(laurel, TENANTS, STUDY_APP);
});

async function spread(tenantId: string, shards: number): Promise<void> {
  const { status, body } = await laurel.admin.put('/v1/spread', { shards }, { tenantId });
  expect({ status, body }).toMatchObject({ status: 202, body: { kind: 'tenant_spreading', status: 'waiting' } });
  // Several shards help only in a cluster.
  const isWarned = shards > 1 && process.env['TEST_REDIS'] !== 'cluster';
  expect(body.warning ?? null).toEqual(
    isWarned ? expect.stringContaining(`with ${shards} shards the tenant is not faster`) : null,
  );
  expect((await laurel.admin.put('/v1/spread', { shards: 1 }, { tenantId })).status).toBe(409);
  // Its progress can be read meanwhile.
  const job = async (): Promise<unknown> => {
    const answer = await laurel.admin.get(`/v1/jobs/${body.id}`, { tenantId });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  await expect.poll(job, { interval: 50 }).toMatchObject({ status: 'done', error: null });
  await expect.poll(() => send('here', 'poll', USERS[0]!)).toBeOneOf([201, 202]);
  expect((await laurel.admin.get('/v1/spread', { tenantId })).body).toEqual({ shards, converting: false });
}

let sent = 0;
async function send(tenantId: string, key: string, user: string): Promise<number> {
  // No two users have equal scores: those are ordered by shard first.
  const value = 5 * (1_000 + USERS.indexOf(user));
  const body = { user: { id: user, attributes: { plan: `plan ${user.length}` } }, value };
  return (await laurel.app.post('/v1/metrics/flips/event', body, { tenantId, headers: { 'Idempotency-Key': key } }))
    .status;
}

/** Everything that clients read about the tenant. */
async function reads(): Promise<unknown[]> {
  const paths = [
    '/v1/leaderboards/flips?limit=100',
    '/v1/leaderboards/flips?offset=-3&limit=7&userId=user%2011',
    '/v1/leaderboards/weekly?limit=5&offset=9',
    '/v1/points/xp/level-summary',
    '/v1/points/xp/summary',
    '/v1/users/user%2012/leaderboards/flips',
    ...USERS.slice(0, 5).map((user) => `/v1/users/${encodeURIComponent(user)}/points/xp`),
    ...USERS.slice(0, 5).map((user) => `/v1/users/${encodeURIComponent(user)}/achievements?includeIncomplete=true`),
  ];
  const answers: unknown[] = [];
  for (const path of paths) {
    const { status, body } = await laurel.app.get(path, { tenantId: 'here' });
    answers.push({
      path,
      status,
      body: JSON.parse(JSON.stringify(body).replaceAll(/"timestamp":"[^"]*"/g, '"timestamp":""')),
    });
  }
  return answers;
}

async function expectNoDifferences(): Promise<void> {
  expect(await differencesIn(laurel)).toEqual([]);
}

test('a tenant is spread over four shards and back while events arrive: nothing is lost, doubled or changed', async () => {
  for (const user of USERS) for (let n = 0; n < 3; n += 1) expect(await send('here', `${user}:${n}`, user)).toBe(201);
  await send('here', 'poll', USERS[0]!);
  const options = { tenantId: 'here' };
  for (const parts of [4, 1]) {
    const before = await reads();
    await spread('here', parts);
    expect(knownParts(laurel.redis, 1)).toHaveLength(parts);
    expect(await reads()).toEqual(before);
    const best = USERS[0]!;
    const event = { user: { id: best }, value: 1 };
    const { body } = await laurel.app.post('/v1/metrics/flips/event', event, { tenantId: 'here' });
    expect(body.leaderboards.flips).toMatchObject({ rank: 1, previousRank: 1 });
    // Keys that were used before the conversion are still used.
    expect(await send('here', 'user 7:0', 'user 7')).toBe(202);
    // A user of a later generation than those of other parts, which the next conversion moves.
    for (let n = 0; n < 3; n += 1) {
      await laurel.admin.delete('/v1/users?ids=comes back', options);
      expect(await send('here', 'once', 'comes back')).toBe(201);
    }
    await expectNoDifferences();

    let ended = false;
    const others = new Set<number>();
    const load = async (from: number): Promise<void> => {
      for (let n = from; !ended; n += 4) {
        const user = USERS[n % USERS.length]!;
        sent += 1;
        const key = `load ${parts} ${n}`;
        for (;;) {
          const status = await send('here', key, user);
          if (status !== 503) {
            expect(status).toBeOneOf([201, 202]);
            break;
          }
        }
        others.add(await send('there', key, user));
      }
    };
    const loads = [0, 1, 2, 3].map(load);
    await spread('here', parts === 4 ? 2 : 8);
    ended = true;
    await Promise.all(loads);
    expect(others).toEqual(new Set([201]));
    await expectNoDifferences();
    const { rows } = await laurel.pool.query(
      `SELECT count(*)::int AS n, count(DISTINCT idempotency_key)::int AS keys FROM events WHERE tenant_no = 1 AND idempotency_key LIKE 'load%'`,
    );
    expect(rows[0]).toEqual({ n: sent, keys: sent });
  }
});

test('batches of a wide tenant answer each event, in the order sent', async () => {
  const batch = USERS.slice(0, 20).map((id, n) => ({
    key: 'flips',
    user: { id },
    value: n + 1,
    idempotencyKey: `batch ${n}`,
  }));
  const before = await Promise.all(
    batch.map(
      async ({ user }) =>
        (await laurel.app.get(`/v1/users/${encodeURIComponent(user.id)}/metrics/flips`, { tenantId: 'here' })).body
          .current,
    ),
  );
  const { status, body } = await laurel.admin.post('/v1/metrics/events?wait=true', batch, { tenantId: 'here' });
  expect(status).toBe(200);
  expect(body.results.map(({ total }: { total: number }) => total)).toEqual(before.map((total, n) => total + n + 1));
});

test('an event released from quarantine on a wide tenant has ranks', async () => {
  const options = { tenantId: 'here' };
  const metrics: { id: string; key: string }[] = (await laurel.admin.get('/v1/metrics', options)).body;
  const { id } = metrics.find(({ key }) => key === 'flips')!;
  const guards = { maxValue: { limit: 1_000_000_000, action: 'quarantine' } };
  expect(await laurel.admin.patch('/v1/metrics', [{ id, guards }], options)).toMatchObject({ body: { issues: [] } });
  const event = { user: { id: 'user 5' }, value: 1_000_000_001 };
  const kept = await laurel.app.post('/v1/metrics/flips/event', event, options);
  expect(kept).toMatchObject({ status: 202, body: { guarded: { action: 'quarantine' } } });
  const released = await laurel.admin.post(`/v1/quarantine/${kept.body.eventId}/release`, undefined, options);
  expect(released.body.event.leaderboards.flips).toMatchObject({ rank: 1 });
});

test('a verification of a wide tenant compares every part', async () => {
  const options = { tenantId: 'here' };
  const partOf = (user: string): TenantPart => knownPart(laurel.redis, 1, user);
  const planted = [countersKey(partOf('comes back')), ...USERS.map((user) => userKey(partOf(user), user))];
  expect(await laurel.redis.hdel(planted[0]!, 'd')).toBe(1);
  for (const key of planted.slice(1)) await laurel.redis.append(key, 'x');
  const { body } = await laurel.admin.post('/v1/verifications', undefined, options);
  const read = async () => (await laurel.admin.get(`/v1/verifications/${body.id}`, options)).body;
  await expect.poll(async () => (await read()).status).toBe('done');
  const { shards, found } = await read();
  expect(shards).toEqual(knownParts(laurel.redis, 1).map(({ shard }) => shard));
  const keys: string[] = found.map(({ key }: { key: string }) => key);
  expect(keys.toSorted()).toEqual(planted.toSorted());
});

test('refuses a number that is not a power of two, and a key of one tenant', async () => {
  const put = (shards: number): Promise<{ status: number }> =>
    laurel.admin.put('/v1/spread', { shards }, { tenantId: 'here' });
  expect((await put(3)).status).toBe(422);
  expect((await put(512)).status).toBeOneOf([400, 422]);
});

test('an error of Postgres while a tenant is being spread closes no shard', async () => {
  const { redis, pool } = laurel;
  const { shard } = knownPart(redis, 2, USERS[0]!);
  const mark = await redis.get(markKey(shard));
  await pool.query(`CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'refused'; END $$`);
  await pool.query('CREATE TRIGGER refused BEFORE UPDATE OF spread ON tenants EXECUTE FUNCTION refused()');
  const { body } = await laurel.admin.put('/v1/spread', { shards: 2 }, { tenantId: 'there' });
  const job = async () => (await laurel.admin.get(`/v1/jobs/${body.id}`, { tenantId: 'there' })).body;
  try {
    await expect.poll(async () => (await job()).attempts).toBeGreaterThan(0);
    expect(await redis.get(markKey(shard))).toBe(mark);
    expect(await send('there', 'while Postgres refuses', USERS[0]!)).toBe(201);
  } finally {
    await pool.query('DROP FUNCTION refused CASCADE');
  }
  await expect.poll(async () => (await job()).status).toBe('done');
});
