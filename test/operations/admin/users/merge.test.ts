import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FixedClock } from '../../../../src/clock.ts';
import { startLaurel } from '../../../laurel.ts';
import { LiveClient } from '../../../live/live-client.ts';
import { STUDY_APP } from '../../../study-app.ts';
import { differencesIn } from '../../../differences.ts';
import { opened } from '../../../stack/opened.ts';

const DAY_MS = 86_400_000;
const clock = new FixedClock(Date.UTC(2026, 10, 18, 12));
const laurel = opened(async () => {
  const configuration = {
    ...STUDY_APP,
    attributes: [...STUDY_APP.attributes!, { key: 'userId', name: 'ID elsewhere', type: 'user' as const }],
    metrics: STUDY_APP.metrics!.map((metric) =>
      metric.key === 'minutes'
        ? { ...metric, guards: { maxSumPerHour: { limit: 1000, action: 'quarantine' as const } } }
        : metric,
    ),
  };
  return startLaurel({ configuration, clock, workers: true, spread: 1 });
});

const send = (id: string, value: number, key?: string, more: object = {}) =>
  laurel.app.post(
    '/v1/metrics/flips/event',
    { user: { id, ...more }, value },
    { headers: key === undefined ? {} : { 'Idempotency-Key': key } },
  );
/** Repeated while leaderboards are filled, as after the start. */
async function merge(from: string, into: string, more: object = {}) {
  for (;;) {
    const answer = await laurel.admin.post('/v1/users/merge', { from, into, acrossControlGroup: true, ...more });
    if (answer.status !== 503) return answer;
    await sleep(100);
  }
}

/** The differences between Redis and Postgres. */
const differences = () => differencesIn(laurel);

const rowsOf = async (table: string, id: string): Promise<number> =>
  (await laurel.pool.query(`SELECT count(*)::int AS n FROM ${table} WHERE user_id = $1`, [id])).rows[0].n;

test('adds up what both earned, keeps the earlier completion, and recomputes the streak', async () => {
  const startMs = clock.now();
  // The guest is active on two days, the account on the day between and the day after.
  expect((await send('guest', 12, 'g1', { name: 'Gus', attributes: { plan: 'free' } })).status).toBe(201);
  clock.set(startMs + DAY_MS);
  expect((await send('ann', 11, 'a1', { email: 'ann@example.com' })).status).toBe(201);
  clock.set(startMs + 2 * DAY_MS);
  await send('guest', 3, 'g2');
  clock.set(startMs + 3 * DAY_MS);
  await send('ann', 4, 'a2');
  await laurel.app.post('/v1/achievements/tour/complete', { user: { id: 'guest' } });

  const preview = await merge('guest', 'ann', { dryRun: true });
  expect(preview.status).toBe(200);
  expect(preview.body).toMatchObject({
    status: 'merged',
    dryRun: true,
    metrics: { flips: { from: 15, into: 15, merged: 30 } },
    streak: { into: 1, merged: 4, basis: 'recomputed' },
    idempotencyKeys: 2,
  });
  expect((await laurel.app.get('/v1/users/guest')).body.id).toBe('guest');

  const merged = await merge('guest', 'ann');
  expect(merged.body).toEqual({ ...preview.body, dryRun: false });
  const { points, achievements } = merged.body;
  expect(points.xp.merged).toBe(points.xp.from + points.xp.into);
  const ten = achievements.find(({ key }: { key: string }) => key === 'ten');
  expect(ten).toMatchObject({ completedBy: 'both', achievedAt: new Date(startMs).toISOString() });

  const user = (await laurel.app.get('/v1/users/ann')).body;
  expect(user).toMatchObject({ id: 'ann', name: 'Gus', email: 'ann@example.com', attributes: { plan: 'free' } });
  expect(user.created).toBe(new Date(startMs).toISOString());
  expect((await laurel.app.get('/v1/users/ann/streak')).body.length).toBe(4);
  expect((await laurel.app.get('/v1/users/ann/metrics/flips')).body.current).toBe(30);
  const { rankings } = (await laurel.app.get('/v1/leaderboards/flips')).body;
  expect(rankings).toMatchObject([{ userId: 'ann', rank: 1, value: 30 }]);
  const plans = (await laurel.app.get('/v1/leaderboards/plans?userAttributes=plan:free')).body;
  expect(plans.rankings).toMatchObject([{ userId: 'ann', value: 30 }]);
  await expect.poll(() => rowsOf('events', 'guest')).toBe(0);
  expect(await rowsOf('events', 'ann')).toBe(4);
  expect(await rowsOf('user_merges', 'ann')).toBe(1);
  expect(await differences()).toEqual([]);
});

test('a webhook, a live stream and the timeline report a merge once, in the chain of several', async () => {
  const hook = { name: 'Hook', url: 'https://example.com/hook', events: ['user.merged'] };
  const created = await laurel.admin.post('/v1/webhooks?strict=true', [hook]);
  expect(created.status).toBe(201);
  for (const id of ['m1', 'm2', 'm3']) expect((await send(id, 2)).status).toBe(201);
  const ticket = (await laurel.app.post('/v1/live/tickets', { userId: 'm3' })).body.ticket as string;
  const stream = await LiveClient.open(laurel.appUrl, { ticket });
  await stream.next('ready');
  try {
    const first = (await merge('m1', 'm2')).body;
    const second = (await merge('m2', 'm3')).body;
    expect((await merge('m1', 'm3')).body.status).toBe('unchanged');
    const stored = `SELECT user_id AS "user", payload::jsonb AS payload FROM webhook_messages
                     WHERE type = 'user.merged' ORDER BY sequence`;
    await expect.poll(async () => (await laurel.pool.query(stored)).rowCount).toBe(2);
    const { rows } = await laurel.pool.query(stored);
    // The messages about a user who is merged belong to the other.
    expect(rows).toMatchObject([
      { user: 'm3', payload: { user: { id: 'm2' }, merge: { from: 'm1', into: 'm2', mergedAt: first.mergedAt } } },
      { user: 'm3', payload: { user: { id: 'm3' }, merge: { from: 'm2', into: 'm3', mergedAt: second.mergedAt } } },
    ]);
    const live = await stream.next('user.merged');
    expect(live).toMatchObject({ user: { id: 'm3' }, merge: { from: 'm2', into: 'm3' } });
    await send('m3', 1);
    await stream.next('event');
    expect(stream.of('user.merged')).toHaveLength(1);
    const timeline = async (query: string) => (await laurel.admin.get(`/v1/users/m1/timeline${query}`)).body.entries;
    await expect
      .poll(() => timeline('?kind=merge'))
      .toMatchObject([
        { kind: 'merge', at: second.mergedAt, from: 'm2', into: 'm3', who: expect.any(String) },
        { kind: 'merge', at: first.mergedAt, from: 'm1', into: 'm2', who: expect.any(String) },
      ]);
    const all = (await timeline('?order=asc')).map(({ kind }: { kind: string }) => kind);
    expect(all.filter((kind: string) => kind !== 'streak').join(' ')).toBe(
      'user_creation event event event merge merge event',
    );
  } finally {
    stream.close();
  }
});

test('the old ID answers as the new one, and used keys of both stay used', async () => {
  expect((await laurel.app.get('/v1/users/guest')).body.id).toBe('ann');
  expect((await laurel.app.get('/v1/users/guest/metrics/flips')).body.current).toBe(30);
  for (const [id, key] of [
    ['guest', 'g1'],
    ['ann', 'g1'],
    ['guest', 'a1'],
    ['ann', 'a2'],
  ] as const) {
    const again = await send(id, 12, key);
    expect([again.status, again.body.total, again.body.idempotentReplayed]).toEqual([202, 30, true]);
  }
  expect((await send('guest', 5, 'g3')).body).toMatchObject({ total: 35, idempotentReplayed: false });
  expect((await send('ann', 5, 'g3')).body).toMatchObject({ total: 35, idempotentReplayed: true });
  // An attribute is no ID of Laurel's, whatever its key.
  await laurel.app.patch('/v1/users/guest', { name: 'Ann', attributes: { userId: 'guest' } });
  expect((await laurel.app.get('/v1/users/ann')).body).toMatchObject({ name: 'Ann', attributes: { userId: 'guest' } });
  const batch = await laurel.admin.post('/v1/metrics/events?wait=true', [
    { key: 'flips', user: { id: 'guest' }, value: 1, idempotencyKey: 'b1' },
    { key: 'flips', user: { id: 'ann' }, value: 1, idempotencyKey: 'b1' },
    { key: 'flips', user: { id: 'guest' }, value: 1, idempotencyKey: 'g2' },
  ]);
  expect(batch.status).toBeLessThan(300);
  await expect.poll(async () => (await laurel.app.get('/v1/users/ann/metrics/flips')).body.current).toBe(36);
  expect(await differences()).toEqual([]);
});

test('a repeated merge is answered like the first; errors name the field', async () => {
  const again = await merge('guest', 'ann');
  expect(again.body).toMatchObject({
    status: 'unchanged',
    from: 'guest',
    into: 'ann',
    metrics: { flips: { merged: 30 } },
  });
  await send('other', 1);
  const refusals = [
    await merge('ann', 'ann'),
    await merge('ann', 'guest'),
    await merge('nobody', 'ann'),
    await merge('other', 'nobody'),
    await merge('guest', 'other'),
  ];
  expect(refusals.map(({ status, body }) => [status, (body.error as string).slice(0, 6)])).toEqual([
    [422, 'from: '],
    [422, 'from: '],
    [404, 'from: '],
    [404, 'into: '],
    [409, 'from: '],
  ]);
});

test('a chain of merges ends at the last user, and deleting that user forgets all', async () => {
  const { key } = (await laurel.admin.post('/v1/application-api-keys', [{ userId: 'ann' }])).body.created[0];
  await send('final', 2, 'f1');
  expect((await merge('ann', 'final')).body).toMatchObject({ metrics: { flips: { from: 36, into: 2, merged: 38 } } });
  expect((await laurel.app.get('/v1/users/guest')).body.id).toBe('final');
  expect((await send('guest', 9, 'a1')).body).toMatchObject({ total: 38, idempotentReplayed: true });
  expect((await merge('guest', 'final')).body.status).toBe('unchanged');
  // The device of the old user goes on with its key, under any of the IDs.
  await expect.poll(async () => (await laurel.app.get('/v1/users/final', { key })).status).toBe(200);
  for (const id of ['guest', 'ann', 'final'])
    expect((await laurel.app.get(`/v1/users/${id}`, { key })).body.id).toBe('final');
  expect(await differences()).toEqual([]);

  expect((await laurel.admin.delete('/v1/users/guest')).status).toBe(200);
  await expect.poll(() => rowsOf('user_merges', 'final')).toBe(0);
  expect(await rowsOf('merged_keys', 'final')).toBe(0);
  for (const id of ['guest', 'ann', 'final']) expect((await laurel.app.get(`/v1/users/${id}`)).status).toBe(404);
  expect((await send('guest', 7, 'g1')).body).toMatchObject({ total: 7, idempotentReplayed: false });
  expect(await differences()).toEqual([]);
});

test('moves spendings and events in quarantine', async () => {
  await send('spender', 40, 's1');
  await send('keeper', 40, 'k1');
  const spend = (id: string, key: string) =>
    laurel.app.post(`/v1/users/${id}/points/xp/spend`, { amount: 20 }, { headers: { 'Idempotency-Key': key } });
  const first = await spend('spender', 'buy');
  expect(first.status).toBe(201);
  const held = await laurel.app.post('/v1/metrics/minutes/event', { user: { id: 'spender' }, value: 5000 });
  expect(held.status).toBe(202);
  const { body } = await merge('spender', 'keeper');
  expect(body.points.xp.merged).toBe(body.points.xp.from + body.points.xp.into);
  expect(await differences()).toEqual([]);
  // The key of the old user's spending is used: nothing is spent twice.
  for (const id of ['keeper', 'spender']) expect((await spend(id, 'buy')).body).toMatchObject({ id: first.body.id });
  expect((await laurel.app.get('/v1/users/spender/points/xp')).body.total).toBe(body.points.xp.merged);
  const whole = (await laurel.admin.get('/v1/users/spender/export')).body;
  expect(whole).toMatchObject({ user: { id: 'keeper' }, merges: [{ oldId: 'spender', intoId: 'keeper' }] });
  const waiting = (await laurel.admin.get('/v1/quarantine')).body.events;
  expect(waiting).toMatchObject([{ userId: 'keeper' }]);
  const released = await laurel.admin.post(`/v1/quarantine/release`, { ids: [waiting[0].id] });
  expect(released.status).toBe(200);
  expect((await laurel.app.get('/v1/users/keeper/metrics/minutes')).body.current).toBe(5000);
  expect(await differences()).toEqual([]);
});
