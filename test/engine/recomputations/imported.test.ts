import { beforeAll, expect, test } from 'vitest';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { untilPersisted } from '../../../src/engine/persist/cursor-wait.ts';
import { verify } from '../../../src/engine/rebuild/verify.ts';
import { startLaurel } from '../../laurel.ts';
import { backdated, make, plan } from './recompute-laurel.ts';
import { opened } from '../../stack/opened.ts';

type Systems = NonNullable<Configuration['pointsSystems']>;
type Triggers = NonNullable<Systems[number]['triggers']>;

const configuration = (buyer: number, regular: number, triggers: Triggers): Configuration => ({
  attributes: [{ key: 'kind', name: 'Kind', type: 'event' }],
  metrics: [{ key: 'orders', name: 'Orders' }],
  achievements: [
    { key: 'buyer', name: 'Buyer', trigger: 'metric', metricKey: 'orders', metricValue: buyer, status: 'active' },
    { key: 'regular', name: 'Regular', trigger: 'metric', metricKey: 'orders', metricValue: regular, status: 'active' },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        { type: 'achievement', achievementKey: 'buyer', points: 100, status: 'active' },
        { type: 'achievement', achievementKey: 'regular', points: 7, status: 'active' },
        {
          type: 'metric',
          metricKey: 'orders',
          metricThreshold: 2,
          points: 3,
          eventAttributes: [{ key: 'kind', value: 'book' }],
          status: 'active',
        },
        ...triggers,
      ],
    },
  ],
});
const TENS: Triggers = [{ type: 'metric', metricKey: 'orders', metricThreshold: 10, points: 5, status: 'active' }];
const ONES: Triggers = [{ type: 'metric', metricKey: 'orders', metricThreshold: 1, points: 1, status: 'active' }];

// In the morning: the imported day of today is a row of noon, after the events of the morning.
const clock = new FixedClock(Date.parse('2026-11-22T08:00:00Z'));
const ADA = {
  id: 'ada',
  created: '2025-03-01T08:00:00Z',
  // 7 were before the known days; the total was 45 before it was 37.
  metrics: { orders: { total: 37, days: { '2026-11-19': 38, '2026-11-20': -13, '2026-11-22': 5 } } },
  achievements: [{ key: 'buyer', achievedAt: '2026-11-20T09:00:00Z' }],
  points: {
    xp: {
      total: 60,
      days: { '2026-11-19': 55 },
      awards: [
        {
          awarded: 5,
          date: '2026-11-19T09:00:00Z',
          total: 60,
          trigger: { type: 'metric', points: 5, metricThreshold: 10 },
        },
      ],
    },
  },
};

const laurel = opened(() => startLaurel({ clock, workers: true, configuration: configuration(10, 100, TENS) }));
beforeAll(async () => {
  await backdated(laurel);
});

const points = async (): Promise<number> => (await laurel.app.get('/v1/users/ada/points/xp')).body.total;
const completed = async (): Promise<string[]> =>
  ((await laurel.app.get('/v1/users/ada/achievements')).body as { key: string }[]).map(({ key }) => key).toSorted();
const order = async (sent: object): Promise<void> => {
  const { status } = await laurel.app.post('/v1/metrics/orders/event', { user: { id: 'ada' }, ...sent });
  expect(status).toBe(201);
};
const both = { what: ['achievements', 'points'] as ('achievements' | 'points')[] };

async function findsNothing(): Promise<void> {
  for (const mayRevoke of [false, true])
    expect((await plan(laurel, { ...both, mayRevoke })).figures).toMatchObject({ gaining: 0, losing: 0, failed: 0 });
}

test('neither pays again for an import nor takes it back; rules count what came after it', async () => {
  const { body } = await laurel.admin.post('/v1/imports?import=crm', [ADA]);
  expect(body).toEqual({ users: [{ id: 'ada', status: 'imported', skipped: [] }], issues: [] });
  await untilPersisted(laurel, 0);
  await findsNothing();

  clock.set(clock.now() + 60_000);
  await order({ value: 15, attributes: { kind: 'book' } });
  await order({ value: -30 });
  // 45 → 52: the fifth ten; and 15 books, of which none was imported: seven times two.
  expect(await points()).toBe(60 + 5 + 21);
  await findsNothing();

  // By these rules Ada would be no buyer, and tens pay nothing; each of the 7 orders beyond 45 does.
  expect((await laurel.admin.put('/v1/configuration', configuration(60, 30, ONES))).status).toBe(200);
  await backdated(laurel);
  const planned = await plan(laurel, { ...both, mayRevoke: true });
  expect(planned.samples).toMatchObject({
    losing: [],
    gaining: [{ userId: 'ada', gained: ['regular'], lost: [], points: [{ key: 'xp', from: 86, to: 60 + 21 + 7 + 7 }] }],
  });
  await make(laurel, planned.id, 'apply');
  expect(await points()).toBe(95);
  expect(await completed()).toEqual(['buyer', 'regular']);
  await findsNothing();
  await make(laurel, planned.id, 'revert');
  expect(await points()).toBe(86);
  expect(await completed()).toEqual(['buyer']);
  expect(await verify({ redis: laurel.redis, pool: laurel.pool, onDifference: () => undefined })).toBe(0);
});
