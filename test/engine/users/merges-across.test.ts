import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import { knownPart } from '../../../src/redis/parts.ts';
import { differencesIn } from '../../differences.ts';
import { startLaurel } from '../../laurel.ts';
import { STUDY_APP } from '../../study-app.ts';
import { opened } from '../../stack/opened.ts';

// Users of different shards are merged as users of one shard are.

const DAY_MS = 86_400_000;
const clock = new FixedClock(Date.UTC(2026, 10, 19, 12));
const laurel = opened(async () => {
  const configuration = {
    ...STUDY_APP,
    metrics: STUDY_APP.metrics!.map((metric) =>
      metric.key === 'minutes'
        ? { ...metric, guards: { maxSumPerHour: { limit: 1000, action: 'quarantine' as const } } }
        : metric,
    ),
  };
  return startLaurel({ configuration, clock, workers: true, spread: 4 });
});

const shardOf = (id: string): number => knownPart(laurel.redis, 0, id).shard;
let made = 0;
/** Two new IDs, of one shard or of two. */
function pair(isApart: boolean): [from: string, into: string] {
  made += 1;
  const from = `from${made}`;
  for (let n = 0; ; n += 1) {
    const into = `into${made}n${n}`;
    if ((shardOf(from) !== shardOf(into)) === isApart) return [from, into];
  }
}

const send = (id: string, value: number, key?: string, more: object = {}, metric = 'flips') =>
  laurel.app.post(
    `/v1/metrics/${metric}/event`,
    { user: { id, ...more }, value },
    { headers: key === undefined ? {} : { 'Idempotency-Key': key } },
  );

async function merge(from: string, into: string, more: object = {}) {
  for (;;) {
    const answer = await laurel.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true, ...more });
    if (answer.status !== 503) return answer;
    await sleep(100);
  }
}

async function differences(): Promise<unknown[]> {
  const bare = await laurel.connect();
  const found = await differencesIn({ redis: bare, pool: laurel.pool });
  bare.disconnect();
  return found;
}

const TABLES =
  'events awards event_days completions balance_changes quarantine streak_changes merged_keys user_merges webhook_messages reversals'.split(
    ' ',
  );

/** Everything about a user, without what differs between two users with the same history. */
async function everything(from: string, into: string): Promise<unknown> {
  const of = async (path: string) => (await laurel.app.get(`/v1/users/${from}${path}`)).body;
  // Waits until all is stored.
  const exported = (await laurel.admin.get(`/v1/users/${into}/export`)).body;
  const rows: Record<string, unknown> = {};
  for (const table of TABLES)
    rows[table] = (
      await laurel.pool.query(
        `SELECT user_id AS u, count(*)::int AS n FROM ${table} WHERE user_id = ANY ($1) GROUP BY 1`,
        [[from, into]],
      )
    ).rows;
  const all = {
    rows,
    user: await of(''),
    flips: await of('/metrics/flips'),
    xp: await of('/points/xp'),
    streak: await of('/streak'),
    achievements: await of('/achievements'),
    export: exported,
    timeline: (await laurel.admin.get(`/v1/users/${into}/timeline`)).body,
  };
  const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const text = JSON.stringify(all).replaceAll(from, 'FROM').replaceAll(into, 'INTO').replaceAll(ids, 'ID');
  return JSON.parse(text);
}

test('the same two histories give the same user within a shard and across shards', async () => {
  const startMs = clock.now();
  const pairs = [pair(false), pair(true)];
  const each = async (work: (from: string, into: string) => Promise<unknown>): Promise<void> => {
    // Events of one moment have no order.
    clock.set(clock.now() + 1_000);
    for (const [from, into] of pairs) await work(from, into);
  };
  await each((from) => send(from, 12, 'g1', { name: 'Gus', attributes: { plan: 'free' } }));
  clock.set(startMs + DAY_MS);
  await each((_, into) => send(into, 11, 'a1', { email: 'ann@example.com' }));
  clock.set(startMs + 2 * DAY_MS);
  await each((from) => send(from, 3, 'g2'));
  await each((from) => send(from, 40));
  await each((from) =>
    laurel.app.post(`/v1/users/${from}/points/xp/spend`, { amount: 20 }, { headers: { 'Idempotency-Key': 'buy' } }),
  );
  clock.set(startMs + 3 * DAY_MS);
  await each((_, into) => send(into, 4, 'a2'));
  await each((from) => laurel.app.post('/v1/achievements/tour/complete', { user: { id: from } }));
  await each((from) => send(from, 5000, 'q1', {}, 'minutes'));
  await each((_, into) => send(into, 3000, 'q2', {}, 'minutes'));
  const answers: unknown[] = [];
  await each(async (from, into) => {
    const preview = await merge(from, into, { dryRun: true });
    expect(preview.status).toBe(200);
    expect((await laurel.app.get(`/v1/users/${from}`)).body.id).toBe(from);
    const { status, body } = await merge(from, into);
    expect([status, body]).toEqual([200, { ...preview.body, dryRun: false }]);
    expect((await merge(from, into)).body).toEqual({ ...body, status: 'unchanged' });
    answers.push({ ...body, from: '', into: '' });
    // Used keys of both stay used, under any ID.
    for (const [id, key] of [
      [from, 'g1'],
      [into, 'g1'],
      [from, 'a1'],
      [into, 'a2'],
    ] as const)
      expect((await send(id, 12, key)).body).toMatchObject({ total: 70, idempotentReplayed: true });
  });
  await each(async (from, into) => {
    expect((await send(from, 5, 'g3')).body).toMatchObject({ total: 75, idempotentReplayed: false });
    expect((await send(into, 5, 'g3')).body).toMatchObject({ total: 75, idempotentReplayed: true });
    const boards = (await laurel.app.get('/v1/leaderboards/flips')).body.rankings;
    expect(boards.filter(({ userId }: { userId: string }) => [from, into].includes(userId))).toMatchObject([
      { userId: into, value: 75 },
    ]);
  });
  expect(answers[1]).toEqual(answers[0]);
  const [within, across] = [await everything(...pairs[0]!), await everything(...pairs[1]!)];
  expect(across).toEqual(within);
  expect((await laurel.pool.query(`SELECT FROM jobs WHERE kind = 'user_merge'`)).rowCount).toBe(0);
  expect(await differences()).toEqual([]);
});

test('a batch names either user, and deleting the merged user forgets all', async () => {
  const [from, into] = pair(true);
  await send(from, 2, 'k1');
  await send(into, 3, 'k2');
  expect((await merge(from, into)).body).toMatchObject({ metrics: { flips: { merged: 5 } } });
  const batch = [
    { key: 'flips', user: { id: from }, value: 1, idempotencyKey: 'k1' },
    { key: 'flips', user: { id: from }, value: 1, idempotencyKey: 'k3' },
    { key: 'flips', user: { id: from }, value: 1 },
    { key: 'flips', user: { id: into }, value: 1, idempotencyKey: 'k3' },
  ];
  const { results } = (await laurel.admin.post('/v1/metrics/events?wait=true', batch)).body;
  expect(results.map(({ status }: { status: number }) => status)).toEqual([202, 201, 201, 202]);
  expect((await laurel.app.get(`/v1/users/${from}/metrics/flips`)).body.current).toBe(7);
  expect(await differences()).toEqual([]);
  expect((await laurel.admin.delete(`/v1/users/${from}`)).status).toBe(200);
  const left = `SELECT FROM user_merges WHERE user_id = $1`;
  await expect.poll(async () => (await laurel.pool.query(left, [into])).rowCount).toBe(0);
  for (const id of [from, into]) expect((await laurel.app.get(`/v1/users/${id}`)).status).toBe(404);
  expect((await send(from, 7, 'k1')).body).toMatchObject({ total: 7, idempotentReplayed: false });
  expect(await differences()).toEqual([]);
});
