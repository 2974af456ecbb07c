import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { refusalOfRead } from '../../contract/contract.ts';
import { readUser } from '../../../src/cli/import/read-user.ts';
import { SourceRefusal } from '../../../src/cli/import/source-refusal.ts';
import type { Difference } from '../../../src/engine/rebuild/confirm.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { readsOf } from './reads-of.ts';
import { CATALOG, happen, happenInAll, USERS } from './random-past.ts';

// One Laurel with two tenants of the same catalog: what happened in the one is imported into the other.
const PATH = '/v1/imports?import=from-there';
let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ testClock: true, workers: true });
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
});
afterAll(() => laurel.close());

/** Asks a tenant in the way of the command; it enforces the limits of the contract. */
const asking =
  (tenantId: string) =>
  async (path: string): Promise<unknown> => {
    const refusal = refusalOfRead(path);
    if (refusal !== null) throw new SourceRefusal(refusal.error, refusal.status);
    const { status, body } = await laurel.app.get(path, { tenantId });
    if (status !== 200) throw new SourceRefusal(String(status), status);
    return body;
  };

/** More with `npm run test:long`. */
const SEEDS = Number(process.env['RUNS'] ?? 20) > 100 ? 20 : 1;
const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;
const PASTS = Array.from({ length: SEEDS * FREQUENCIES.length }, (_, nth) => ({
  nth,
  // With seed 40, a streak of 1 is restored and then kept by freezes; with 46, points of the first day are taken on the second.
  seed: { 0: 40, 2: 46 }[nth] ?? 17 + nth,
  frequency: FREQUENCIES[nth % FREQUENCIES.length]!,
}));

/** Time goes on: each past begins where the one before it ended. */
let next = '2030-05-28T09:00:00Z';
const dateBefore = (time: string, days: number): string =>
  new Date(Date.parse(time) - days * 86_400_000).toISOString().slice(0, 10);

test.each(PASTS)(
  'every read of the Application API answers alike: $frequency streaks, seed $seed',
  async ({ nth, seed, frequency }) => {
    const [there, here] = [`there-${nth}`, `here-${nth}`];
    await laurel.admin.post('/v1/tenants', [
      { customerId: there, name: 'There' },
      { customerId: here, name: 'Here' },
    ]);
    const configuration = { ...CATALOG, streaks: { ...CATALOG.streaks!, frequency } };
    const configure = async (tenantId: string): Promise<void> =>
      expect((await laurel.admin.put('/v1/configuration', configuration, { tenantId })).status).toBe(200);
    await configure(there);
    const from = next;
    const nowMs = await happen(laurel, { tenantId: there, seed, from });
    next = new Date(nowMs).toISOString();
    // As with every move: users are older than what is set here.
    await configure(here);
    const users = [];
    for (const userId of USERS) {
      const read = await readUser(asking(there), { userId, systemKeys: ['xp', 'coins'], nowMs });
      expect([read.missing, read.unread]).toEqual([[], []]);
      users.push(read.user);
    }
    const { status, body } = await laurel.admin.post(PATH, users, { tenantId: here });
    expect(body.issues).toEqual([]);
    expect(status).toBe(201);
    const read = { users: USERS, from: dateBefore(from, 8), to: new Date(nowMs).toISOString().slice(0, 10) };
    const expected = await readsOf(laurel, { tenantId: there, ...read });
    expect(await readsOf(laurel, { tenantId: here, ...read })).toEqual(expected);
  },
);

test('what is imported is as Postgres has it, and is there again after a rebuild', async () => {
  const redis = await laurel.connect();
  onTestFinished(() => redis.disconnect());
  await redisReady(redis);
  const differences: Difference[] = [];
  const verified = { redis, pool: laurel.pool, onDifference: (each: Difference) => differences.push(each) };
  await verify(verified);
  const at = { tenantId: `here-${PASTS[0]!.nth}`, users: USERS, from: '2030-05-20', to: '2030-06-25' };
  const before = await readsOf(laurel, at);
  await rebuildByHand(laurel, redis);
  await verify(verified);
  expect(differences).toEqual([]);
  expect(await readsOf(laurel, at)).toEqual(before);
});

test('after an import, 30 more days of the same events give the same figures as at the source', async () => {
  const [there, here] = ['before', 'after'];
  await laurel.admin.post('/v1/tenants', [
    { customerId: there, name: 'Before' },
    { customerId: here, name: 'After' },
  ]);
  await laurel.admin.put('/v1/configuration', CATALOG, { tenantId: there });
  const importedAt = await happenInAll(laurel, { tenantIds: [there], seed: 5, from: next, days: 80 });
  await laurel.admin.put('/v1/configuration', CATALOG, { tenantId: here });
  const read = { systemKeys: ['xp', 'coins'], nowMs: Date.parse(importedAt) };
  const users = [];
  for (const userId of USERS) users.push((await readUser(asking(there), { userId, ...read })).user);
  expect((await laurel.admin.post(PATH, users, { tenantId: here })).body.issues).toEqual([]);
  const days = { users: USERS, from: next.slice(0, 10) };
  next = await happenInAll(laurel, { tenantIds: [there, here], seed: 6, from: importedAt, days: 30 });
  const [expected, was] = [
    await readsOf(laurel, { tenantId: there, ...days, to: next.slice(0, 10) }),
    await readsOf(laurel, { tenantId: here, ...days, to: next.slice(0, 10) }),
  ].map(withoutPercentiles);
  expect(was).toEqual(expected);
});

/** Percentiles of a wrapped year are kept for a while once they are read. */
const withoutPercentiles = (reads: Record<string, unknown>): unknown =>
  JSON.parse(JSON.stringify(reads, (name, value: unknown) => (name === 'percentileThisPeriod' ? undefined : value)));
