import { afterAll, beforeAll, expect, test } from 'vitest';
import { BadSpread, requestSpread } from '../../../src/engine/rebuild/conversion.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { knownParts } from '../../../src/redis/parts.ts';
import { publishSignal } from '../../../src/redis/signals.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { addTenants } from '../../several-tenants.ts';
import { STUDY_APP } from '../../study-app.ts';

/** Numbered 1 and 2. */
const TENANTS = ['here', 'there'];
const USERS = Array.from({ length: 40 }, (_, n) => `user ${n}`);

let laurel: TestLaurel;

beforeAll(async () => {
  laurel = await startLaurel({ workers: true });
  await addTenants(laurel, TENANTS, STUDY_APP);
});
afterAll(() => laurel.close());

async function spread(tenantNo: number, parts: number): Promise<void> {
  const id = await requestSpread(laurel.pool, { tenantNo, spread: parts });
  await publishSignal(laurel.redis, 'jobs', '');
  const state = async (): Promise<unknown> =>
    (await laurel.pool.query('SELECT status, error FROM jobs WHERE id = $1', [id])).rows[0];
  await expect.poll(state, { interval: 50 }).toEqual({ status: 'done', error: null });
  await expect.poll(() => send('here', 'poll', USERS[0]!)).toBeOneOf([201, 202]);
}

let sent = 0;
async function send(tenantId: string, key: string, user: string): Promise<number> {
  // No two users have equal scores: those are ordered by shard first.
  const value = 5 * (USERS.indexOf(user) + 1);
  const body = { user: { id: user, attributes: { plan: `plan ${user.length}` } }, value };
  return (await laurel.app.post('/v1/metrics/flips/event', body, { tenantId, headers: { 'Idempotency-Key': key } })).status;
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
    answers.push({ path, status, body: JSON.parse(JSON.stringify(body).replaceAll(/"timestamp":"[^"]*"/g, '"timestamp":""')) });
  }
  return answers;
}

async function expectNoDifferences(): Promise<void> {
  const differences: unknown[] = [];
  await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: (difference) => differences.push(difference) });
  expect(differences).toEqual([]);
}

test('a tenant is spread over four shards and back while events arrive: nothing is lost, doubled or changed', async () => {
  for (const user of USERS) for (let n = 0; n < 3; n += 1) expect(await send('here', `${user}:${n}`, user)).toBe(201);
  await send('here', 'poll', USERS[0]!);
  for (const parts of [4, 1]) {
    const before = await reads();
    await spread(1, parts);
    expect(knownParts(laurel.redis, 1)).toHaveLength(parts);
    expect(await reads()).toEqual(before);
    // Keys that were used before the conversion are still used.
    expect(await send('here', 'user 7:0', 'user 7')).toBe(202);
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
    await spread(1, parts === 4 ? 2 : 8);
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
  const batch = USERS.slice(0, 20).map((id, n) => ({ key: 'flips', user: { id }, value: n + 1, idempotencyKey: `batch ${n}` }));
  const before = await Promise.all(
    batch.map(async ({ user }) => (await laurel.app.get(`/v1/users/${encodeURIComponent(user.id)}/metrics/flips`, { tenantId: 'here' })).body.current),
  );
  const { status, body } = await laurel.admin.post('/v1/metrics/events?wait=true', batch, { tenantId: 'here' });
  expect(status).toBe(200);
  expect(body.results.map(({ total }: { total: number }) => total)).toEqual(before.map((total, n) => total + n + 1));
});

test('refuses a number that is not a power of two, an unknown tenant, and a second conversion at once', async () => {
  expect(() => requestSpread(laurel.pool, { tenantNo: 1, spread: 3 })).toThrow(BadSpread);
  await expect(requestSpread(laurel.pool, { tenantNo: 99, spread: 4 })).rejects.toThrow(BadSpread);
});
