import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { opened } from '../../stack/opened.ts';

const SHOP: Configuration = {
  metrics: [
    { key: 'work', name: 'Work' },
    { key: 'claims', name: 'Claims', guards: { maxValue: { limit: 10, action: 'quarantine' } } },
  ],
  pointsSystems: [
    {
      key: 'coins',
      name: 'Coins',
      triggers: [{ type: 'metric', metricKey: 'work', metricThreshold: 1, points: 1, status: 'active' }],
    },
  ],
  leaderboards: [
    {
      key: 'first',
      name: 'First',
      rankBy: 'metric',
      metricKey: 'work',
      ties: 'first',
      start: '2026-01-01',
      status: 'active',
    },
  ],
};

/** Requests of each kind per frontend. */
const REQUESTS = 60;
const BATCHES = 3;
/** Of one user, at a time. */
const MOST_QUARANTINED = 100;

let frontends: Awaited<ReturnType<TestLaurel['another']>>[];
const laurel = opened(() => startLaurel({ configuration: SHOP, workers: true }));
beforeAll(async () => {
  frontends = await Promise.all([laurel.another(), laurel.another(), laurel.another()]);
});
afterAll(async () => {
  for (const frontend of frontends) await frontend.close();
});

const numberOfEach = (statuses: readonly number[]): Record<number, number> => {
  const found: Record<number, number> = {};
  for (const status of statuses) found[status] = (found[status] ?? 0) + 1;
  return found;
};

const stored = async (table: string): Promise<number> =>
  (await laurel.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]!.n;

test('events, batches and spending of one user on several frontends: nothing is refused, lost or counted twice', async () => {
  const user = { id: 'hot' };
  await laurel.app.post('/v1/metrics/work/event', { user, value: 1_000 });
  const statuses: number[] = [];
  const each = async (of: (typeof frontends)[number], frontend: number): Promise<void> => {
    const kinds = Array.from({ length: REQUESTS }, (_, n) => [
      of.app.post('/v1/metrics/work/event', { user, value: 1 }),
      // The same key on each frontend: one of them counts.
      of.app.post('/v1/metrics/work/event', { user, value: 1 }, { headers: { 'Idempotency-Key': `shared ${n}` } }),
      of.app.post(
        '/v1/users/hot/points/coins/spend',
        { amount: 2 },
        { headers: { 'Idempotency-Key': `spend ${frontend} ${n}` } },
      ),
      of.app.post('/v1/metrics/claims/event', { user, value: 11 }),
    ]);
    const batches = Array.from({ length: BATCHES }, () =>
      of.admin.post(
        '/v1/metrics/events',
        Array.from({ length: 20 }, (_, n) => ({
          key: 'work',
          user: { id: n % 2 === 0 ? 'hot' : `cold ${n}` },
          value: 1,
        })),
      ),
    );
    for (const { status } of await Promise.all([...kinds.flat(), ...batches])) statuses.push(status);
  };
  await Promise.all(frontends.map(each));
  const spent = frontends.length * REQUESTS;
  const repeated = (frontends.length - 1) * REQUESTS;
  expect(numberOfEach(statuses)).toEqual({
    201: frontends.length * REQUESTS + REQUESTS + spent,
    202: repeated + MOST_QUARANTINED + frontends.length * BATCHES,
    422: frontends.length * REQUESTS - MOST_QUARANTINED,
  });

  const total = 1_000 + frontends.length * REQUESTS + REQUESTS + frontends.length * BATCHES * 10;
  await expect
    .poll(async () => (await laurel.app.get('/v1/users/hot/metrics/work')).body)
    .toMatchObject({ current: total });
  const points = await laurel.app.get('/v1/users/hot/points/coins');
  expect(points.body).toMatchObject({ total, balance: total - 2 * spent });
  const board = await laurel.app.get('/v1/leaderboards/first');
  expect((board.body as { rankings: object[] }).rankings[0]).toMatchObject({ userId: 'hot', rank: 1, value: total });
  await expect.poll(() => stored('quarantine')).toBe(MOST_QUARANTINED);
  await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: ({ key }) => expect.fail(key) });
});
