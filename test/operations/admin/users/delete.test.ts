import { expect, onTestFinished, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { USER_TABLES } from '../../../../src/postgres/users/user-tables.ts';
import { outboxKey } from '../../../../src/redis/keys.ts';
import { knownParts, tenantCounters } from '../../../../src/redis/parts.ts';
import { startLaurel } from '../../../laurel.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { keysOf } from '../../../stack/all-servers.ts';
import { says } from '../../issue.ts';
import { opened } from '../../../stack/opened.ts';

const DAY_MS = 86_400_000;
const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
// Weeks pass here, and the test counts used keys among the hot ones.
const laurel = opened(() =>
  startLaurel({ configuration: STUDY_APP, clock, workers: true, worker: { idempotencyHotDays: 365 } }),
);

const flip = (id: string, value: number, key?: string, more: object = {}) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id, ...more }, value },
    { headers: key === undefined ? {} : { 'Idempotency-Key': key } },
  );
const remove = (...ids: string[]) =>
  laurel.admin.delete(`/v1/users?${ids.map((id) => `ids=${encodeURIComponent(id)}`).join('&')}`);

const rowsOf = async (id: string): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (const { table, user, kept } of USER_TABLES) {
    if (kept) continue;
    const { rows } = await laurel.pool.query(`SELECT count(*) AS n FROM ${table} WHERE ${user} = $1`, [id]);
    counts[table] = rows[0].n;
  }
  return counts;
};
const stored = async (id: string): Promise<number> =>
  Object.values(await rowsOf(id)).reduce((sum, count) => sum + count, 0);

const textOf = async (key: string, type: string): Promise<string> =>
  type === 'stream' ? JSON.stringify(await laurel.redis.xrange(key, '-', '+')) : ((await laurel.redis.get(key)) ?? '');

/** Every Redis key of Laurel's that contains a text, in its name or value. */
async function keysWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const key of await keysOf(laurel.redis, '{s*')) {
    const type = await laurel.redis.type(key);
    const inside =
      type === 'zset'
        ? (await laurel.redis.zrange(key, '0', '-1')).join()
        : type === 'set'
          ? (await laurel.redis.smembers(key)).join()
          : type === 'hash'
            ? JSON.stringify(await laurel.redis.hgetall(key))
            : await textOf(key, type);
    if (key.includes(text) || inside.includes(text)) found.push(key);
  }
  return found;
}

/**
 * Until the test ends no run of a leaderboard becomes final, so none is cleared from Redis: another session holds the
 * leaderboard's progress, and the worker skips it.
 */
async function keepRuns(): Promise<void> {
  const client = await laurel.pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('BEGIN');
  await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
  await client.query('SELECT FROM board_progress FOR UPDATE');
}

const used = async (): Promise<number> => {
  let fields = 0;
  for (const key of await keysOf(laurel.redis, '{s*}:0:i:*')) fields += await laurel.redis.hlen(key);
  return fields;
};

/** The number of outbox entries that Postgres has not stored. */
const waiting = async (): Promise<number> => {
  const lengths = knownParts(laurel.redis, 0).map(({ shard }) => laurel.redis.xlen(outboxKey(shard)));
  return (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
};

test('removes a user from everywhere, and leaves others unchanged', async () => {
  await keepRuns();
  await flip('stays', 30, 'k', { name: 'Sue', attributes: { plan: 'pro' } });
  // More runs of the weekly leaderboard than a state remembers.
  for (let week = 0; week < 4; week += 1) {
    await flip('leaves', 20, `k${week}`, { name: 'Lea', email: 'lea@example.com', attributes: { plan: 'pro' } });
    clock.set(clock.now() + 7 * DAY_MS);
  }
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'leaves' } });
  await laurel.app.patch('/v1/users/leaves/preferences', { notifications: { recap: ['email'] } });
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'leaves' }])).body.created[0];
  await expect.poll(async () => (await rowsOf('leaves'))['events']).toBe(4);
  expect(await rowsOf('leaves')).toMatchObject({ users: 1, events: 4, application_keys: 1 });
  // At least the state, two leaderboards of one run and four runs of another.
  expect((await keysWith('leaves')).length).toBeGreaterThanOrEqual(7);
  const before = (await laurel.app.get('/v1/users/stays/achievements')).body;
  expect(before[0]).toMatchObject({ completions: 2, rarity: 100 });

  expect((await remove('leaves')).body).toEqual({ deleted: [{ id: 'leaves' }], issues: [] });

  expect((await laurel.app.get('/v1/users/leaves')).status).toBe(404);
  expect((await laurel.admin.get('/v1/users')).body.map(({ id }: { id: string }) => id)).toEqual(['stays']);
  const { rankings } = (await laurel.app.get('/v1/leaderboards/flips')).body;
  expect(rankings.map(({ userId, rank }: { userId: string; rank: number }) => [userId, rank])).toEqual([['stays', 1]]);
  expect((await laurel.app.get('/v1/leaderboards/plans?userAttributes=plan:pro')).body.rankings).toHaveLength(1);
  expect(
    (await laurel.app.get('/v1/points/xp/summary')).body.reduce(
      (n: number, one: { users: number }) => n + one.users,
      0,
    ),
  ).toBe(1);
  const after = (await laurel.app.get('/v1/users/stays/achievements')).body;
  expect(after[0]).toMatchObject({ id: before[0].id, completions: 1, rarity: 100 });
  await expect.poll(async () => (await laurel.app.get('/v1/users/stays', { key })).status).toBe(401);
  await expect.poll(async () => (await stored('leaves')) === 0 && (await keysWith('leaves')).length === 0).toBe(true);
  expect(await used()).toBe(1);
  expect(await rowsOf('stays')).toMatchObject({ users: 1, events: 1, awards: 3 });
  expect((await flip('stays', 30, 'k')).status).toBe(202);
});

test('a later user with the same ID is new, and no idempotency key is used', async () => {
  const first = (await flip('again', 12, 'same')).body;
  await remove('again');
  const again = await flip('again', 12, 'same');
  expect(again.status).toBe(201);
  expect(again.body).toMatchObject({ total: 12, idempotentReplayed: false });
  expect(again.body.achievements.map((one: { key: string }) => one.key)).toEqual(
    first.achievements.map((one: { key: string }) => one.key),
  );
  expect(again.body.points.xp.total).toBe(first.points.xp.total);
  // The new user's own key stays used, even after Postgres has deleted the old one's.
  await expect.poll(waiting).toBe(0);
  expect((await flip('again', 12, 'same')).body).toMatchObject({ total: 12, idempotentReplayed: true });
  await remove('again');
  clock.set(clock.now() + 1);
  expect((await flip('again', 5, 'same')).body).toMatchObject({ total: 5, idempotentReplayed: false });
});

test('IDs repeated and comma-separated; unknown ones are issues, and so is deleting again', async () => {
  for (const id of ['a1', 'a2', 'a3', 'A1']) await flip(id, 1);
  const { status, body } = await laurel.admin.delete('/v1/users?ids=a1,a2&ids=a3&ids=a1&ids=nobody');
  expect(status).toBe(200);
  expect(body).toEqual({
    deleted: [{ id: 'a1' }, { id: 'a2' }, { id: 'a3' }],
    issues: [{ id: 'nobody', ...says('error', 'There is no user with this ID') }],
  });
  expect((await remove('a1')).body).toMatchObject({ deleted: [], issues: [{ id: 'a1' }] });
  expect((await laurel.app.get('/v1/users/A1')).status).toBe(200);
  for (const query of ['', '?ids=', `?ids=${'x'.repeat(256)}`])
    expect((await laurel.admin.delete(`/v1/users${query}`)).status).toBe(422);
});

test('a user whose ID contains a comma', async () => {
  await flip('a,b', 1);
  expect((await laurel.admin.delete(`/v1/users/${encodeURIComponent('a,b')}`)).body).toEqual({
    deleted: [{ id: 'a,b' }],
    issues: [],
  });
  expect((await laurel.app.get(`/v1/users/${encodeURIComponent('a,b')}`)).status).toBe(404);
  // The path names it: an unknown resource in a path is 404, not an issue.
  expect((await laurel.admin.delete(`/v1/users/${encodeURIComponent('a,b')}`)).status).toBe(404);
});

test('deleting an ID that was never seen deletes its key', async () => {
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'unseen' }])).body.created[0];
  expect((await remove('unseen')).body.deleted).toEqual([{ id: 'unseen' }]);
  await expect.poll(async () => (await laurel.app.get('/v1/users/unseen', { key })).status).toBe(401);
});

test('events of queued batches apply afterwards, to a new user', async () => {
  await flip('queued', 5);
  await remove('queued');
  await laurel.admin.post('/v1/metrics/events?wait=true', [{ key: 'flips', user: { id: 'queued' }, value: 3 }]);
  expect((await laurel.app.get('/v1/users/queued/metrics/flips')).body.current).toBe(3);
});

test('in parallel with events, in any order: Redis and Postgres agree, and the counts are right', async () => {
  const ids = Array.from({ length: 6 }, (_, n) => `busy${n}`);
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  await Promise.all(
    Array.from({ length: 600 }, (_, n) => {
      const id = ids[random(ids.length)]!;
      return random(8) === 0 ? remove(id) : flip(id, 1 + random(9), random(2) === 0 ? `k${n % 40}` : undefined);
    }),
  );
  await expect.poll(waiting).toBe(0);
  const live: Record<string, number> = {};
  for (const id of ids) {
    const { status, body } = await laurel.app.get(`/v1/users/${id}/metrics/flips`);
    if (status === 200) live[id] = body.current;
  }
  const { rows } = await laurel.pool.query(
    `SELECT user_id, sum(value)::float8 AS total FROM events WHERE user_id LIKE 'busy%' GROUP BY user_id`,
  );
  expect({ seed, live: Object.fromEntries(rows.map((row) => [row.user_id, row.total])) }).toEqual({ seed, live });
  const users = await laurel.pool.query('SELECT count(*) AS n FROM users');
  expect(await tenantCounters(laurel.redis, 0, ['users'])).toEqual([users.rows[0].n]);
  const completions = await laurel.pool.query(
    'SELECT achievement_no AS no, count(*) AS n FROM completions GROUP BY achievement_no',
  );
  for (const { no, n } of completions.rows) expect(await tenantCounters(laurel.redis, 0, [`a${no}`])).toEqual([n]);
  const keys = await laurel.pool.query('SELECT count(*) AS n FROM events WHERE idempotency_key IS NOT NULL');
  expect(await used()).toBe(keys.rows[0].n);
});
