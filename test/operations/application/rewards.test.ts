import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { uuidText } from '../../../src/domain/schemas.ts';
import { KeyedIds } from '../../../src/engine/ids.ts';
import { CLAIM_SCOPE } from '../../../src/engine/points/balances.ts';
import { cancelClaim, type ClaimRow, readClaim, releaseClaim, reserveClaim } from '../../../src/postgres/rewards.ts';
import { rebuildByHand } from '../../engine/rebuild/by-hand.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { differencesIn } from '../../differences.ts';
import { opened } from '../../stack/opened.ts';

const reward = (key: string, more: object = {}) =>
  ({ key, name: key, pointsSystemKey: 'coins', price: 10, status: 'active', ...more }) as const;

const SHOP: Configuration = {
  metrics: [{ key: 'work', name: 'Work' }],
  pointsSystems: [
    {
      key: 'coins',
      name: 'Coins',
      triggers: [{ type: 'metric', metricKey: 'work', metricThreshold: 1, status: 'active', points: 1 }],
    },
  ],
  rewards: [
    reward('mug'),
    reward('seat', { stock: 50 }),
    reward('ticket', { limitPerUser: 2 }),
    reward('key', { claimableByUsers: false }),
    reward('last', { stock: 1 }),
    reward('draft', { status: 'inactive' }),
  ],
};

/** The organisation's own tenant. */
const TENANT = 0;

let redis: TestLaurel['redis'];
let made = 0;

const laurel = opened(() => startLaurel({ configuration: SHOP, workers: true }));
beforeAll(async () => {
  redis = await laurel.connect();
});

const newKey = (): string => `key ${(made += 1)}`;
const work = async (id: string, value: number) => laurel.app.post('/v1/metrics/work/event', { user: { id }, value });
const claim = (userId: string, of: string, idempotencyKey = newKey(), more: { key?: string } = {}) =>
  laurel.app.post(`/v1/rewards/${of}/claim`, { userId }, { headers: { 'Idempotency-Key': idempotencyKey }, ...more });
const balanceOf = async (id: string): Promise<number> =>
  (await laurel.app.get(`/v1/users/${id}/points/coins`)).body.balance;
const offerOf = async (id: string, of: string, more: object = {}) =>
  (await laurel.app.get(`/v1/users/${id}/rewards?limit=100`, more)).body.find((one: { key: string }) => one.key === of);
/** As a request does that ends before it pays. */
async function reserve(userId: string, of: string, key: string, ageMs = 3_600_000): Promise<ClaimRow> {
  const ids = await KeyedIds.of(laurel.pool);
  const atMs = Date.now() - ageMs;
  const compiled = await laurel.services.catalogs.of(TENANT);
  const id = ids.make(atMs, { tenantNo: TENANT, userId, metricNo: CLAIM_SCOPE, key });
  const { no: rewardNo } = compiled.rewards.get(of)!;
  const { no: systemNo } = compiled.pointsSystems.get('coins')!;
  const outcome = await reserveClaim(laurel.pool, { id, tenantNo: TENANT, userId, rewardNo, systemNo, key, atMs });
  if (typeof outcome === 'string') throw new Error(outcome);
  return outcome;
}
const claimsOf = async (id: string) => (await laurel.app.get(`/v1/users/${id}/claims`)).body.claims;
const countOf = async (of: string): Promise<number> => {
  const { rows } = await laurel.pool.query(
    `SELECT claimed::int FROM reward_counts JOIN catalog_resources ON no = reward_no WHERE doc->>'key' = $1`,
    [of],
  );
  return rows[0]?.claimed ?? 0;
};
const differences = () => differencesIn({ redis, pool: laurel.pool });

test('a claim pays the price and is listed; a repetition of its key gets the same claim', async () => {
  await work('ada', 25);
  expect(await offerOf('ada', 'mug')).toMatchObject({
    price: 10,
    balance: 25,
    affordable: true,
    claimable: true,
    claims: 0,
  });
  const first = await claim('ada', 'mug', 'once');
  expect(first).toMatchObject({
    status: 201,
    body: {
      userId: 'ada',
      reward: { key: 'mug' },
      pointsSystem: 'coins',
      price: 10,
      state: 'claimed',
      fulfilledAt: null,
    },
  });
  expect(await claim('ada', 'mug', 'once')).toMatchObject({ status: 201, body: first.body });
  expect(await claim('ada', 'last', 'once')).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(await balanceOf('ada')).toBe(15);
  expect(await claimsOf('ada')).toEqual([first.body]);
  expect(await offerOf('ada', 'mug')).toMatchObject({ claims: 1, remaining: null, balance: 15 });
  const { body } = await laurel.admin.get('/v1/users/ada/spendings');
  expect(body.spendings).toMatchObject([{ id: first.body.id, type: 'spend', amount: 10, status: 'spent' }]);
});

test('without enough points nothing is reserved', async () => {
  await work('bea', 9);
  expect(await claim('bea', 'last')).toMatchObject({ status: 409, body: { code: 'insufficient_balance', balance: 9 } });
  expect(await countOf('last')).toBe(0);
  expect(await offerOf('bea', 'last')).toMatchObject({ affordable: false, claimable: false, remaining: 1 });
  expect(await claimsOf('bea')).toEqual([]);
});

test('parallel claims of a user never exceed the balance or the limit per user', async () => {
  await Promise.all([work('cy', 35), work('dan', 1_000)]);
  const many = (id: string, of: string) => Promise.all(Array.from({ length: 20 }, () => claim(id, of)));
  const [poor, limited] = await Promise.all([many('cy', 'mug'), many('dan', 'ticket')]);
  expect(poor.filter(({ status }) => status === 201)).toHaveLength(3);
  expect(limited.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(new Set(limited.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
    new Set(['claim_limit']),
  );
  expect([await balanceOf('cy'), await balanceOf('dan')]).toEqual([5, 980]);
  // Ada's and Cy's.
  expect(await countOf('mug')).toBe(4);
});

test('of 600 parallel claims, as many succeed as there is stock, and only those are paid', async () => {
  const users = Array.from({ length: 20 }, (_, index) => `fan-${index}`);
  await Promise.all(users.map((id) => work(id, 1_000)));
  const asked = Array.from({ length: 600 }, (_, index) => ({
    id: users[(index >> 1) % 20]!,
    key: `seat ${index >> 1}`,
  }));
  const answers = await Promise.all(
    asked.map(async ({ id, key }) => {
      let answer = await claim(id, 'seat', key);
      // A machine that is busy for seconds takes them for an overload.
      while (answer.status === 503) answer = await claim(id, 'seat', key);
      return answer;
    }),
  );
  const won = answers.filter(({ status }) => status === 201);
  const claims = new Set(won.map(({ body }) => body.id));
  expect(claims.size).toBe(50);
  expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(
    new Set(['sold_out']),
  );
  expect(await countOf('seat')).toBe(50);
  const paid = await Promise.all(users.map(async (id) => 1_000 - ((await balanceOf(id)) ?? 1_000)));
  expect(paid.reduce((sum, each) => sum + each, 0)).toBe(500);
  const listed = await Promise.all(users.map(claimsOf));
  expect(new Set(listed.flat().map(({ id }) => id))).toEqual(claims);
  expect(await offerOf('fan-0', 'seat')).toMatchObject({ remaining: 0, affordable: true, claimable: false });
  expect(await differences()).toEqual([]);
});

test('the same key, many times at once, is one claim', async () => {
  await work('eve', 100);
  const answers = await Promise.all(Array.from({ length: 20 }, () => claim('eve', 'mug', 'same')));
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  expect(await balanceOf('eve')).toBe(90);
});

test("a user's key claims for its own user only, and only what it may", async () => {
  await work('finn', 100);
  const { body } = await laurel.admin.post('/v1/application-api-keys', [{ userId: 'finn' }]);
  const { key } = body.created[0];
  expect(await claim('finn', 'mug', newKey(), { key })).toMatchObject({ status: 201 });
  expect(await claim('ada', 'mug', newKey(), { key })).toMatchObject({ status: 403 });
  expect(await claim('finn', 'key', newKey(), { key })).toMatchObject({ status: 403 });
  expect(await claim('finn', 'key')).toMatchObject({ status: 201 });
  expect(await offerOf('finn', 'key', { key })).toMatchObject({ affordable: true, claimable: false });
  expect(await laurel.app.get('/v1/users/ada/claims', { key })).toMatchObject({ status: 403 });
  expect(await laurel.app.get('/v1/users/ada/rewards', { key })).toMatchObject({ status: 403 });
});

test('administrators fulfil claims, and cancel them with a refund; each change is reported', async () => {
  const events = ['reward.claimed', 'reward.fulfilled', 'reward.cancelled', 'points.refunded'];
  const hook = { name: 'Rewards', url: 'https://example.com/', events };
  const webhook = (await laurel.admin.post('/v1/webhooks', [hook])).body.created[0];
  await work('hal', 25);
  const [{ body: mug }, { body: last }] = [await claim('hal', 'mug'), await claim('hal', 'last')];
  expect(await claim('hal', 'last')).toMatchObject({ status: 409 });
  const change = (id: string, how: string, body?: object) => laurel.admin.post(`/v1/claims/${id}/${how}`, body);

  const fulfilled = await change(mug.id, 'fulfil');
  expect(fulfilled).toMatchObject({
    status: 200,
    body: { ...mug, state: 'fulfilled', fulfilledAt: expect.any(String) },
  });
  expect(await change(mug.id, 'fulfil')).toMatchObject({ status: 200, body: fulfilled.body });
  expect(await change(mug.id, 'cancel')).toMatchObject({ status: 409 });

  const answers = await Promise.all(Array.from({ length: 5 }, () => change(last.id, 'cancel', { reason: 'Lost' })));
  for (const answer of answers)
    expect(answer).toMatchObject({
      status: 200,
      body: { ...last, state: 'cancelled', reason: 'Lost', cancelledAt: expect.any(String) },
    });
  expect(await change(last.id, 'fulfil')).toMatchObject({ status: 409 });
  expect([await balanceOf('hal'), await countOf('last')]).toEqual([15, 0]);
  expect(await laurel.app.post(`/v1/users/hal/points/coins/spendings/${mug.id}/refund`, {})).toMatchObject({
    status: 409,
  });

  const listed = async (query: string) =>
    (await laurel.admin.get(`/v1/claims?userId=hal${query}`)).body.claims.map(({ id }: { id: string }) => id);
  expect(await listed('')).toEqual([last.id, mug.id]);
  expect(await listed('&state=fulfilled')).toEqual([mug.id]);
  expect(await listed('&reward=last')).toEqual([last.id]);
  expect(await listed('&limit=1')).toEqual([last.id]);
  expect(await listed(`&cursor=${last.id}`)).toEqual([mug.id]);
  expect((await laurel.admin.get(`/v1/claims/${mug.id}`)).body).toEqual(fulfilled.body);

  const { entries } = (await laurel.admin.get('/v1/users/hal/timeline?kind=spending')).body;
  expect(entries).toMatchObject([
    { type: 'refund', spendingId: last.id },
    { type: 'spend', id: last.id, reward: 'last' },
    { type: 'spend', id: mug.id, reward: 'mug' },
  ]);
  expect(JSON.stringify((await laurel.admin.get('/v1/audit-log?kind=claim')).body)).toContain(mug.id);
  const reported = async (): Promise<string[]> =>
    (await laurel.admin.get(`/v1/webhooks/${webhook.id}/deliveries?userId=hal&limit=100`)).body.deliveries
      .map(({ type }: { type: string }) => type)
      .sort();
  await expect
    .poll(reported)
    .toEqual(['points.refunded', 'reward.cancelled', 'reward.claimed', 'reward.claimed', 'reward.fulfilled']);
  expect(await claim('hal', 'last')).toMatchObject({ status: 201 });
});

test('a reservation whose request ended is paid, or deleted if it cannot be paid', async () => {
  await Promise.all([work('ida', 25), work('jim', 5)]);
  await Promise.all([reserve('ida', 'mug', 'interrupted'), reserve('jim', 'mug', 'hopeless')]);
  const before = await countOf('mug');
  await expect.poll(() => claimsOf('ida')).toMatchObject([{ state: 'claimed', price: 10 }]);
  await expect.poll(() => countOf('mug')).toBe(before - 1);
  expect([await balanceOf('ida'), await claimsOf('jim')]).toEqual([15, []]);
  const again = await claim('ida', 'mug', 'interrupted');
  expect(again).toMatchObject({ status: 201, body: (await claimsOf('ida'))[0] });
  expect(await balanceOf('ida')).toBe(15);
});

test('a repeated request continues a reservation', async () => {
  await work('kim', 25);
  const { id } = await reserve('kim', 'mug', 'begun', 0);
  const before = await countOf('mug');
  expect(await claim('kim', 'mug', 'begun')).toMatchObject({ status: 201, body: { id: uuidText(id) } });
  expect([await balanceOf('kim'), await countOf('mug')]).toEqual([15, before]);
});

test('a claim that was paid after its reservation was deleted is cancelled, and its points are given back', async () => {
  await work('lea', 25);
  const reserved = await reserve('lea', 'mug', 'late', 0);
  await releaseClaim(laurel.pool, reserved);
  const before = await countOf('mug');
  const { catalogs, spendings } = laurel.services;
  await spendings.pay(await catalogs.of(TENANT), { ...reserved, key: 'late' });
  expect(await claimsOf('lea')).toMatchObject([{ state: 'cancelled' }]);
  expect(await claim('lea', 'mug', 'late')).toMatchObject({ status: 201, body: { state: 'cancelled' } });
  await expect.poll(() => balanceOf('lea')).toBe(25);
  expect(await countOf('mug')).toBe(before);
});

test('a refund that a crash prevented is made up for', async () => {
  await work('mia', 25);
  const { body } = await claim('mia', 'mug');
  const row = (await readClaim(laurel.pool, TENANT, body.id))!;
  await cancelClaim(laurel.pool, row, Date.now(), null);
  await expect.poll(() => balanceOf('mia')).toBe(25);
  expect(await claimsOf('mia')).toMatchObject([{ state: 'cancelled' }]);
});

test('claims survive a rebuild, are exported, and go with their user', async () => {
  await work('noa', 25);
  const { body } = await claim('noa', 'mug', 'mine');
  await reserve('noa', 'mug', 'open', 0);
  const before = await countOf('mug');
  await rebuildByHand(laurel, redis);
  expect(await claim('noa', 'mug', 'mine')).toMatchObject({ status: 201, body });
  expect(await balanceOf('noa')).toBe(15);
  expect(await differences()).toEqual([]);
  const exported = (await laurel.admin.get('/v1/users/noa/export')).body;
  expect(exported.claims).toMatchObject([
    { id: body.id, state: 'claimed', reward: 'mug', price: 10, idempotencyKey: 'mine' },
    { state: 'reserved', idempotencyKey: 'open' },
  ]);
  expect((await laurel.admin.delete('/v1/users/noa')).status).toBe(200);
  await work('noa', 25);
  expect(await claimsOf('noa')).toEqual([]);
  // What was reserved is given back, and what was claimed stays taken.
  expect(await countOf('mug')).toBe(before - 1);
  expect(await claim('noa', 'mug', 'mine')).toMatchObject({ status: 201 });
  expect(await balanceOf('noa')).toBe(15);
});

test('a verification compares the counts of rewards with their claims', async () => {
  await work('counted', 20);
  await claim('counted', 'seat', 'counted');
  expect(await differences()).toEqual([]);
  const add = (n: number) => laurel.pool.query('UPDATE reward_counts SET claimed = claimed + $1', [n]);
  await add(1);
  const counts = await differences();
  expect(counts.length).toBeGreaterThan(1);
  for (const { key, redis, postgres } of counts) {
    const [, counted, claims] = /^(\d+) counted, (\d+) claims$/.exec(postgres)!;
    expect([key.split(' ')[0], redis, Number(counted)]).toEqual(['reward_counts', 'not compared', Number(claims) + 1]);
  }
  await add(-1);
  expect(await differences()).toEqual([]);
});

test('what cannot be claimed is refused with the reason', async () => {
  await work('gus', 100);
  expect(await claim('gus', 'draft')).toMatchObject({ status: 404 });
  expect(await claim('gus', 'mugg')).toMatchObject({ status: 404, body: { hint: expect.stringContaining('mug') } });
  expect(await claim('nobody', 'mug')).toMatchObject({ status: 404 });
  expect(await laurel.app.post('/v1/rewards/mug/claim', { userId: 'gus' })).toMatchObject({ status: 400 });
  expect(await offerOf('gus', 'draft')).toBeUndefined();
});
