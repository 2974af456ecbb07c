import { beforeAll, expect, test } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel } from '../../laurel.ts';
import { backdated, filled, make, plan } from './recompute-laurel.ts';
import { opened } from '../../stack/opened.ts';

const configuration = (points: number, needed: number): Configuration => ({
  attributes: [
    { key: 'kind', name: 'Kind', type: 'event' },
    { key: 'plan', name: 'Plan', type: 'user' },
  ],
  metrics: [
    { key: 'orders', name: 'Orders' },
    { key: 'visits', name: 'Visits' },
  ],
  achievements: [
    { key: 'buyer', name: 'Buyer', trigger: 'metric', metricKey: 'orders', metricValue: needed, status: 'active' },
    { key: 'guest', name: 'Guest', trigger: 'metric', metricKey: 'visits', metricValue: 2, status: 'active' },
    { key: 'both', name: 'Both', trigger: 'achievement', achievementKeys: ['buyer', 'guest'], status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'metric', metricKey: 'orders', metricThreshold: 2, points, status: 'active' },
        { type: 'achievement', achievementKey: 'both', points: 100, status: 'active' },
      ],
    },
  ],
  leaderboards: [
    { key: 'xp', name: 'XP', rankBy: 'points', pointsSystemKey: 'xp', start: '2020-01-01', status: 'active' },
  ],
});

const laurel = opened(() => startLaurel({ workers: true, configuration: configuration(5, 10) }));
beforeAll(async () => {
  await backdated(laurel);
  await filled(laurel);
});

async function configure(points: number, needed: number): Promise<void> {
  expect((await laurel.admin.put('/v1/configuration', configuration(points, needed))).status).toBe(200);
  await backdated(laurel);
}

const event = async (id: string, metric: string, value: number): Promise<void> => {
  const { status } = await laurel.app.post(`/v1/metrics/${metric}/event`, { user: { id }, value });
  expect(status).toBe(201);
};

async function seen(id: string) {
  const [points, achievements, board] = await Promise.all([
    laurel.app.get(`/v1/users/${id}/points/xp?awards=100`),
    laurel.app.get(`/v1/users/${id}/achievements`),
    laurel.app.get(`/v1/users/${id}/leaderboards/xp`),
  ]);
  return {
    points: points.body.total as number,
    completed: (achievements.body as { key: string; achievedAt: string }[])
      .map(({ key, achievedAt }) => `${key} ${achievedAt}`)
      .toSorted(),
    board: board.body.value as number | null,
  };
}
const keysOf = ({ completed }: { completed: string[] }): string[] => completed.map((each) => each.split(' ')[0]!);

const differences = () => verify({ redis: laurel.redis, pool: laurel.pool, onDifference: () => undefined });

test('a plan lists the changes without making any, is applied as shown, and reverted', async () => {
  await event('ada', 'orders', 7);
  await event('ada', 'orders', 5);
  await event('ada', 'visits', 2);
  await event('bob', 'orders', 3);
  await event('eve', 'visits', 1);
  const before = await seen('ada');
  expect(before).toMatchObject({ points: 130, board: 130 });

  const same = await plan(laurel, { what: ['achievements', 'points'], mayRevoke: true });
  expect(same).toMatchObject({ status: 'planned', figures: { users: 3, gaining: 0, losing: 0, unchanged: 3 } });

  await configure(8, 10);
  const planned = await plan(laurel, { what: ['achievements', 'points'] });
  expect(planned).toMatchObject({
    status: 'planned',
    progress: { users: 3, of: 3 },
    figures: { users: 3, gaining: 2, losing: 0, unchanged: 1, failed: 0, achievements: [] },
    samples: { losing: [], left: [] },
  });
  expect(planned.figures.points).toMatchObject([{ key: 'xp', gaining: 2, losing: 0, given: 21, taken: 0 }]);
  expect(planned.samples.gaining).toMatchObject([
    { userId: 'ada', points: [{ key: 'xp', from: 130, to: 148 }], status: 'planned' },
    { userId: 'bob', points: [{ key: 'xp', from: 5, to: 8 }] },
  ]);
  expect(await seen('ada')).toEqual(before);

  const applied = await make(laurel, planned.id, 'apply');
  expect(applied).toMatchObject({ status: 'applied', outcome: { applied: 2, skipped: 0, reverted: 0 } });
  expect(await seen('ada')).toMatchObject({ points: 148, board: 148, completed: before.completed });
  expect((await seen('bob')).points).toBe(8);
  expect(await differences()).toBe(0);
  const nothing = await plan(laurel, { what: ['achievements', 'points'], mayRevoke: true });
  expect(nothing.figures).toMatchObject({ gaining: 0, losing: 0 });

  const reverted = await make(laurel, planned.id, 'revert');
  expect(reverted).toMatchObject({ status: 'reverted', outcome: { reverted: 2 } });
  expect(await seen('ada')).toEqual(before);
  expect(await differences()).toBe(0);
  expect((await laurel.admin.post(`/v1/recomputations/${planned.id}/revert`, undefined)).status).toBe(409);
});

test('with mayRevoke achievements are revoked, with composites and their points; without it, nobody has less', async () => {
  await configure(5, 10);
  const before = await seen('ada');
  expect(keysOf(before)).toEqual(['both', 'buyer', 'guest']);
  await configure(4, 20);
  const keeping = await plan(laurel, { what: ['achievements', 'points'] });
  expect(keeping.figures).toMatchObject({ gaining: 0, losing: 0 });

  const { id, samples, figures } = await plan(laurel, { what: ['achievements', 'points'], mayRevoke: true });
  expect(figures.achievements).toMatchObject([
    { key: 'buyer', losing: 1 },
    { key: 'both', losing: 1 },
  ]);
  expect(samples.losing[0]).toMatchObject({ userId: 'ada', lost: ['buyer', 'both'] });
  const applied = await make(laurel, id, 'apply');
  expect(applied.status).toBe('applied');
  expect(keysOf(await seen('ada'))).toEqual(['guest']);
  expect(await seen('ada')).toMatchObject({ points: 24, board: 24 });
  expect(await differences()).toBe(0);
  const timeline = async () => (await laurel.admin.get('/v1/users/ada/timeline?kind=recomputation')).body.entries;
  expect((await timeline())[0]).toMatchObject({
    recomputationId: id,
    action: 'applied',
    gained: [],
    lost: [{ key: 'buyer' }, { key: 'both' }],
    caused: expect.arrayContaining([expect.objectContaining({ kind: 'award', awarded: -100 })]),
  });
  await make(laurel, id, 'revert');
  expect(await seen('ada')).toEqual(before);
  expect(await differences()).toBe(0);
  expect((await timeline())[0]).toMatchObject({
    recomputationId: id,
    action: 'reverted',
    gained: [{ key: 'buyer' }, { key: 'both' }],
  });
  const whole = (await laurel.admin.get('/v1/users/ada/timeline?limit=100')).body.entries;
  expect(whole).toEqual(expect.arrayContaining(await timeline()));
});
