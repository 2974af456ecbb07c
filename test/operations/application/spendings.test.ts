import { afterAll, beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { createKeyAgeing } from '../../../src/engine/retention/key-ageing.ts';
import { rebuildByHand } from '../../engine/rebuild/by-hand.ts';
import { keysOf } from '../../stack/all-servers.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';

const earning = (fields: object) =>
  ({ type: 'metric', metricThreshold: 1, status: 'active', points: 1, ...fields }) as const;

const SHOP: Configuration = {
  metrics: [
    { key: 'work', name: 'Work' },
    { key: 'rent', name: 'Rent' },
  ],
  pointsSystems: [
    {
      key: 'coins',
      name: 'Coins',
      triggers: [earning({ metricKey: 'work' }), earning({ metricKey: 'rent', points: -1, blockIfOutOfPoints: true })],
      levels: [{ key: 'rich', name: 'Rich', points: 100 }],
    },
    { key: 'gems', name: 'Gems', spendableByUsers: true, triggers: [earning({ metricKey: 'work' })] },
  ],
};

const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;

let laurel: TestLaurel;
let redis: TestLaurel['redis'];
let clock: FixedClock;
let made = 0;

beforeAll(async () => {
  clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
  laurel = await startLaurel({ configuration: SHOP, clock, workers: true });
  redis = await laurel.connect();
});
afterAll(() => laurel.close());

const newKey = (): string => `key ${(made += 1)}`;
const work = async (id: string, value: number, metric = 'work') =>
  laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id }, value });
const path = (id: string, rest: string, system = 'coins'): string => `/v1/users/${id}/points/${system}/${rest}`;
/** Posts a millisecond later than before, because the order within a millisecond is undefined. */
const post = (url: string, body: object, more: object = {}) => {
  clock.set(clock.now() + 1);
  return laurel.app.post(url, body, more);
};
const open = (what: 'spend' | 'hold', id: string, body: object, key: string, more: { key?: string; system?: string }) =>
  post(path(id, what, more.system), body, {
    headers: { 'Idempotency-Key': key },
    ...(more.key !== undefined && { key: more.key }),
  });
const spend = (id: string, amount: number, key = newKey(), more: { key?: string; system?: string } = {}) =>
  open('spend', id, { amount }, key, more);
const hold = (id: string, amount: number, expiresIn = 60) => open('hold', id, { amount, expiresIn }, newKey(), {});
const points = async (id: string, system = 'coins') => {
  const { status, body } = await laurel.app.get(`/v1/users/${id}/points/${system}`);
  expect(status).toBe(200);
  const { total, balance, level } = body;
  return { total, balance, level: level?.key };
};
const list = async (id: string) => (await laurel.admin.get(`/v1/users/${id}/spendings`)).body.spendings;
const differences = () => differencesIn({ redis, pool: laurel.pool });

test('a spending lowers the balance, and not the total; it is answered the same for ever', async () => {
  await work('ada', 120);
  expect(await points('ada')).toEqual({ total: 120, balance: undefined, level: 'rich' });
  const body = { amount: 50, reason: 'A hat', reference: 'order-1' };
  const first = await open('spend', 'ada', body, 'order-1', {});
  expect(first).toMatchObject({
    status: 201,
    body: { type: 'spend', amount: 50, balance: 70, reference: 'order-1' },
  });
  expect(await points('ada')).toEqual({ total: 120, balance: 70, level: 'rich' });
  const again = await open('spend', 'ada', body, 'order-1', {});
  expect([again.status, again.body]).toEqual([201, first.body]);
  const other = await open('spend', 'ada', { ...body, amount: 51 }, 'order-1', {});
  expect(other).toMatchObject({ status: 409, body: { code: 'conflict' } });
  const more = await spend('ada', 71);
  expect(more).toMatchObject({ status: 409, body: { code: 'insufficient_balance', balance: 70 } });
  expect(await spend('ada', 70)).toMatchObject({ status: 201, body: { balance: 0 } });
  // Long after the key has left the hot form.
  clock.set(clock.now() + 40 * DAY_MS);
  const ageing = createKeyAgeing({ redis, pool: laurel.pool, hotDays: 7 });
  for (let due = await ageing.due(clock.now()); due !== null; due = await ageing.due(clock.now()))
    await ageing.perform(due, NEVER);
  expect(await keysOf(redis, '*:i:*')).toEqual([]);
  const late = await open('spend', 'ada', body, 'order-1', {});
  expect([late.status, late.body]).toEqual([201, first.body]);
  expect(await points('ada')).toMatchObject({ balance: 0 });
});

test('what is not known or not complete is refused', async () => {
  expect((await spend('nobody', 1)).status).toBe(404);
  expect((await spend('ada', 1, newKey(), { system: 'pearls' })).status).toBe(404);
  expect((await post(path('ada', 'spend'), { amount: 1 })).status).toBe(400);
  for (const amount of [0, -1, 1.5, '1', 1e15]) expect((await spend('ada', amount as number)).status).toBe(400);
  const none = '00000000-0000-7000-8000-000000000000';
  expect((await post(path('ada', `spendings/${none}/refund`), {})).status).toBe(404);
  expect((await post(path('ada', `holds/${none}/capture`), {})).status).toBe(404);
});

test('a refund gives back the whole amount, once', async () => {
  await work('ben', 10);
  const { id } = (await spend('ben', 8)).body;
  const refund = () => post(path('ben', `spendings/${id}/refund`), {});
  const [first, second] = await Promise.all([refund(), refund()]);
  expect(first).toMatchObject({ status: 200, body: { type: 'refund', amount: 8, balance: 10, spendingId: id } });
  expect(second.body).toEqual(first.body);
  expect((await refund()).body).toEqual(first.body);
  expect(await points('ben')).toEqual({ total: 10, balance: 10, level: undefined });
  expect(await list('ben')).toMatchObject([{ id, status: 'refunded', closedBy: [first.body] }]);
  // Another system's path, or another user's.
  expect((await post(path('ben', `spendings/${id}/refund`, 'gems'), {})).status).toBe(404);
  expect((await post(path('ada', `spendings/${id}/refund`), {})).status).toBe(404);
});

test('a hold is captured or released once, or expires', async () => {
  await work('cem', 100);
  const [taken, given, left] = [
    (await hold('cem', 30)).body,
    (await hold('cem', 20)).body,
    (await hold('cem', 50)).body,
  ];
  expect(left).toMatchObject({ type: 'hold', balance: 0 });
  expect(await spend('cem', 1)).toMatchObject({ status: 409, body: { balance: 0 } });
  const close = (of: { id: string }, how: 'capture' | 'release') => post(path('cem', `holds/${of.id}/${how}`), {});
  const captured = await close(taken, 'capture');
  expect(captured).toMatchObject({
    status: 200,
    body: { type: 'capture', amount: 30, balance: 0, spendingId: taken.id },
  });
  expect((await close(taken, 'capture')).body).toEqual(captured.body);
  expect(await close(taken, 'release')).toMatchObject({ status: 409, body: { error: 'The hold was captured.' } });
  const released = await close(given, 'release');
  expect(released).toMatchObject({ status: 200, body: { type: 'release', amount: 20, balance: 20 } });
  expect((await close(given, 'release')).body).toEqual(released.body);
  expect((await close(given, 'capture')).status).toBe(409);
  expect((await post(path('cem', `spendings/${given.id}/refund`), {})).status).toBe(409);
  clock.set(clock.now() + 60_000);
  expect(await points('cem')).toMatchObject({ total: 100, balance: 70 });
  expect(await close(left, 'capture')).toMatchObject({ status: 409, body: { error: 'The hold has expired.' } });
  const refunded = await post(path('cem', `spendings/${taken.id}/refund`), {});
  expect(refunded).toMatchObject({ status: 200, body: { balance: 100 } });
  const statuses = (await list('cem')).map(({ id, status }: { id: string; status: string }) => [id, status]);
  expect(statuses).toEqual([
    [left.id, 'expired'],
    [given.id, 'released'],
    [taken.id, 'refunded'],
  ]);
});

test('a user has at most 50 open holds in a points system; expired ones make room', async () => {
  await work('dora', 100);
  for (let n = 0; n < 50; n += 1) expect((await hold('dora', 1)).status).toBe(201);
  expect(await hold('dora', 1)).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(await spend('dora', 50)).toMatchObject({ status: 201, body: { balance: 0 } });
  clock.set(clock.now() + 60_000);
  expect(await hold('dora', 1)).toMatchObject({ status: 201, body: { balance: 49 } });
});

test('what was spent cannot pay a blocking trigger; a reversal may leave less than nothing', async () => {
  const { eventId } = (await work('eve', 60)).body;
  await work('eve', 40);
  expect((await spend('eve', 70)).status).toBe(201);
  expect(await work('eve', 31, 'rent')).toMatchObject({ status: 422, body: { code: 'out_of_points' } });
  expect((await work('eve', 10, 'rent')).status).toBe(201);
  expect(await points('eve')).toMatchObject({ total: 90, balance: 20 });
  expect((await laurel.admin.post(`/v1/events/${eventId}/reverse`, {})).status).toBe(200);
  expect(await points('eve')).toMatchObject({ total: 30, balance: -40 });
  expect(await spend('eve', 1)).toMatchObject({ status: 409, body: { balance: -40 } });
  expect((await work('eve', 1, 'rent')).status).toBe(422);
  await work('eve', 50);
  expect(await points('eve')).toMatchObject({ total: 80, balance: 10 });
});

test("users' keys spend and hold where the points system allows it, and nothing else", async () => {
  await work('finn', 10);
  const [created] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'finn' }])).body.created;
  const { key } = created as { key: string };
  expect(await points('finn', 'gems')).toMatchObject({ balance: 10 });
  expect((await spend('finn', 1, newKey(), { key })).status).toBe(403);
  expect((await spend('ada', 1, newKey(), { key, system: 'gems' })).status).toBe(403);
  const { id } = (await spend('finn', 4, newKey(), { key, system: 'gems' })).body;
  expect(await points('finn', 'gems')).toMatchObject({ total: 10, balance: 6 });
  const held = await open('hold', 'finn', { amount: 1, expiresIn: 9 }, newKey(), { key, system: 'gems' });
  for (const rest of [`spendings/${id}/refund`, `holds/${held.body.id}/release`, `holds/${held.body.id}/capture`])
    expect((await post(path('finn', rest, 'gems'), {}, { key })).status).toBe(403);
});

test('the audit log records what admin keys did, once, and nothing of what users did', async () => {
  await work('kim', 100);
  const [created] = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'kim' }])).body.created;
  const spent = (await spend('kim', 30, 'once')).body;
  const taken = (await hold('kim', 20)).body;
  const given = (await hold('kim', 10)).body;
  for (let times = 0; times < 2; times += 1) {
    await spend('kim', 30, 'once');
    await spend('kim', 1, `by kim ${times}`, { key: created.key, system: 'gems' });
    await post(path('kim', `holds/${taken.id}/capture`), {});
    await post(path('kim', `holds/${given.id}/release`), {});
    await post(path('kim', `spendings/${spent.id}/refund`), {});
  }
  expect((await spend('kim', 1_000)).status).toBe(409);
  const entries = async () =>
    (await laurel.admin.get('/v1/audit-log?kind=spending&userId=kim')).body.map(
      ({ action, resourceId, after: { type, amount } }: never) => [action, resourceId, type, amount],
    );
  await expect.poll(async () => (await entries()).length).toBeGreaterThanOrEqual(6);
  expect(await entries()).toEqual([
    ['reverse', spent.id, 'refund', 30],
    ['update', given.id, 'release', 10],
    ['update', taken.id, 'capture', 20],
    ['create', given.id, 'hold', 10],
    ['create', taken.id, 'hold', 20],
    ['create', spent.id, 'spend', 30],
  ]);
});

test('600 parallel spendings of the last 100 points: exactly those that fit succeed', async () => {
  await work('gus', 100);
  const answers = await Promise.all(
    Array.from({ length: 600 }, async (_, n) => {
      let answer = await spend('gus', 3, `parallel ${n}`);
      // A machine that is busy for seconds takes them for an overload.
      while (answer.status === 503) answer = await spend('gus', 3, `parallel ${n}`);
      return answer;
    }),
  );
  const counts = { spent: 0, refused: 0 };
  for (const { status, body } of answers) {
    if (status === 201) counts.spent += 1;
    else if (status === 409 && body.code === 'insufficient_balance') counts.refused += 1;
  }
  expect(counts).toEqual({ spent: 33, refused: 567 });
  expect(await points('gus')).toMatchObject({ total: 100, balance: 1 });
});

test('a rebuild restores balances and open holds; verify proves them', async () => {
  await work('hal', 100);
  const held = (await hold('hal', 25)).body;
  await spend('hal', 15, 'once');
  expect(await differences()).toEqual([]);
  const before = await Promise.all(['ada', 'ben', 'cem', 'eve', 'gus', 'hal'].map((id) => points(id)));
  await rebuildByHand(laurel, redis);
  const after = await Promise.all(['ada', 'ben', 'cem', 'eve', 'gus', 'hal'].map((id) => points(id)));
  expect(after).toEqual(before);
  expect(await differences()).toEqual([]);
  expect(await spend('hal', 15, 'once')).toMatchObject({ status: 201, body: { balance: 60 } });
  const captured = await post(path('hal', `holds/${held.id}/capture`), {});
  expect(captured).toMatchObject({ status: 200, body: { balance: 60 } });
  await list('hal');
  await laurel.pool.query("UPDATE balance_changes SET amount = 14 WHERE user_id = 'hal' AND kind = 1");
  expect(await differences()).toMatchObject([{ part: 'spent' }]);
  await laurel.pool.query("UPDATE balance_changes SET amount = 15 WHERE user_id = 'hal' AND kind = 1");
});

test('the timeline, the export and webhooks say what was spent; a deletion removes it', async () => {
  const hook = { name: 'Spendings', url: 'https://example.com/', events: ['points.spent', 'points.refunded'] };
  const webhook = (await laurel.admin.post('/v1/webhooks', [hook])).body.created[0];
  await work('ina', 10);
  const { id } = (await spend('ina', 4, 'a key')).body;
  await post(path('ina', `spendings/${id}/refund`), {});
  const { entries } = (await laurel.admin.get('/v1/users/ina/timeline?kind=spending')).body;
  expect(entries).toMatchObject([
    { kind: 'spending', type: 'refund', amount: 4, balance: 10, pointsSystem: { key: 'coins' }, spendingId: id },
    { kind: 'spending', type: 'spend', amount: 4, balance: 6, id },
  ]);
  const exported = (await laurel.admin.get('/v1/users/ina/export')).body;
  expect(exported.spendings).toMatchObject([
    { kind: 'spend', amount: 4, system: 'coins', idempotencyKey: 'a key' },
    { kind: 'refund', amount: 4, system: 'coins' },
  ]);
  const { deliveries } = (await laurel.admin.get(`/v1/webhooks/${webhook.id}/deliveries`)).body;
  expect(deliveries).toMatchObject([
    { type: 'points.refunded', userId: 'ina' },
    { type: 'points.spent', userId: 'ina' },
  ]);
  const log = (await laurel.admin.get('/v1/audit-log?kind=spending')).body;
  expect(JSON.stringify(log)).toContain(id);
  expect((await laurel.admin.delete('/v1/users/ina')).status).toBe(200);
  await work('ina', 10);
  expect(await points('ina')).toMatchObject({ total: 10, balance: undefined });
  expect(await spend('ina', 9, 'a key')).toMatchObject({ status: 201, body: { balance: 1 } });
  expect(await list('ina')).toHaveLength(1);
  expect(await differences()).toEqual([]);
});

// Last, because dropped dead letters leave differences.
test.each(['in Postgres', 'in Redis'])(
  'a spending whose outbox entry Postgres refuses (kept %s) is answered the same when repeated',
  async (place) => {
    const id = `lee ${place}`;
    const refuse = (table: string, check: string) =>
      laurel.pool.query(`ALTER TABLE ${table} ADD CONSTRAINT refused CHECK (${check}) NOT VALID`);
    const accept = (table: string) => laurel.pool.query(`ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS refused`);
    const letters = async () => (await laurel.admin.get('/v1/dead-letters?status=waiting')).body as { id: string }[];
    await work(id, 10);
    await refuse('balance_changes', `user_id <> '${id}'`);
    if (place === 'in Redis') await refuse('dead_letters', 'entry IS NULL');
    const first = await spend(id, 4, 'once');
    expect(first).toMatchObject({ status: 201, body: { balance: 6 } });
    expect(await spend(id, 4, 'once')).toMatchObject({ status: 201, body: first.body });
    expect(await spend(id, 5, 'once')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await letters()).toHaveLength(1);
    const held = (await hold(id, 2)).body;
    const captured = await post(path(id, `holds/${held.id}/capture`), {});
    expect(captured).toMatchObject({ status: 200, body: { balance: 4 } });
    expect((await post(path(id, `holds/${held.id}/capture`), {})).body).toEqual(captured.body);
    const refund = () => post(path(id, `spendings/${first.body.id}/refund`), {});
    const refunded = await refund();
    expect(refunded).toMatchObject({ status: 200, body: { balance: 8 } });
    expect((await refund()).body).toEqual(refunded.body);

    await accept('balance_changes');
    await accept('dead_letters');
    const [spent, ...others] = await letters();
    for (const letter of others) await laurel.admin.post(`/v1/dead-letters/${letter.id}/retry`);
    expect((await refund()).body).toEqual(refunded.body);
    expect((await spend(id, 4, 'once')).body).toEqual(first.body);
    expect((await laurel.admin.delete(`/v1/dead-letters?ids=${spent!.id}`)).status).toBe(200);
    // Nobody knows the answer any longer; the points stay spent.
    expect(await spend(id, 4, 'once')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(await points(id)).toMatchObject({ balance: 8 });
    expect((await laurel.admin.delete(`/v1/users/${encodeURIComponent(id)}`)).status).toBe(200);
  },
);

test('a user who is deleted and returns during a refund is not paid for the spending of the former one', async () => {
  await work('ivy', 10);
  const { id } = (await spend('ivy', 8)).body;
  expect(await list('ivy')).toHaveLength(1);
  const locking = await laurel.pool.connect();
  let refunding: ReturnType<typeof post>;
  try {
    await locking.query('BEGIN');
    await locking.query('LOCK TABLE balance_changes');
    refunding = post(path('ivy', `spendings/${id}/refund`), {});
    // The refund reads the spending. A worker may wait as well, to delete the rows of a former user.
    const waits = `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE relation = 'balance_changes'::regclass AND NOT granted AND query LIKE '%amount%'`;
    await expect.poll(async () => (await laurel.pool.query(waits)).rowCount).toBe(1);
    expect((await laurel.admin.delete('/v1/users/ivy')).status).toBe(200);
    await work('ivy', 10);
    expect((await spend('ivy', 8)).status).toBe(201);
  } finally {
    await locking.query('ROLLBACK');
    locking.release();
  }
  expect((await refunding).status).toBe(404);
  expect(await points('ivy')).toMatchObject({ total: 10, balance: 2 });
});
