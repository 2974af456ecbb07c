import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { readUser } from '../../../src/cli/import/read-user.ts';
import { SourceRefusal } from '../../../src/cli/import/source-refusal.ts';
import type { Difference } from '../../../src/engine/rebuild/confirm.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { rebuildByHand } from '../rebuild/by-hand.ts';
import { readsOf } from './reads-of.ts';
import { CATALOG, happen, USERS } from './random-past.ts';

// One Laurel with two tenants of the same catalog: what happened in the one is imported into the other.
const PATH = '/v1/imports?import=from-there';
let laurel: TestLaurel;
beforeAll(async () => {
  laurel = await startLaurel({ testClock: true, workers: true });
  await laurel.admin.patch('/v1/organisation', { multiTenancy: true });
});
afterAll(() => laurel.close());

/** Asks a tenant in the way of the command. */
const asking =
  (tenantId: string) =>
  async (path: string): Promise<unknown> => {
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
    for (const tenantId of [there, here])
      expect((await laurel.admin.put('/v1/configuration', configuration, { tenantId })).status).toBe(200);
    const from = next;
    const nowMs = await happen(laurel, { tenantId: there, seed, from });
    next = new Date(nowMs).toISOString();
    const users = [];
    for (const userId of USERS) {
      const read = await readUser(asking(there), { userId, systemKeys: ['xp', 'coins'], nowMs });
      expect(read.missing).toEqual([]);
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
