import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileCatalog, CompiledCatalog } from '../../src/catalog/compiled-catalog.ts';
import { configure } from '../../src/catalog/configuration/configure.ts';
import { CatalogDraft } from '../../src/catalog/draft.ts';
import { CALL_WORK, eventWork, fittingCall, workOfMetric } from '../../src/catalog/event-work.ts';
import { emptyCatalog, type Catalog } from '../../src/domain/catalog.ts';
import type {
  Configuration,
  ConfiguredAchievement,
  ConfiguredBoost,
  ConfiguredLeaderboard,
  ConfiguredTrigger,
} from '../../src/domain/configuration.ts';
import { dateOf, DAY_MS, dayOf } from '../../src/domain/periods.ts';
import { startLaurel } from '../laurel.ts';
import { randomConfiguration } from './random-configuration.ts';
import { opened } from '../stack/opened.ts';

const DAY = dayOf('2026-03-01');
const METRICS = [
  { key: 'flips', name: 'Flips' },
  { key: 'reads', name: 'Reads' },
];
const ATTRIBUTES = [{ key: 'plan', name: 'Plan', type: 'user' as const }];

async function applied(document: Configuration): Promise<{ catalog: Catalog; problems: string[] }> {
  const draft = new CatalogDraft(emptyCatalog(0), { nextNo: 1, nowMs: DAY * DAY_MS });
  const problems = await configure(
    draft,
    { metrics: METRICS, attributes: ATTRIBUTES, ...document },
    { today: dateOf(DAY) },
  );
  return { catalog: draft.catalog, problems: problems.map(({ path, text }) => `${path}: ${text}`) };
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const board = (n: number, more: Partial<ConfiguredLeaderboard> = {}): ConfiguredLeaderboard => ({
  key: `board-${more.metricKey ?? ''}${more.pointsSystemKey ?? ''}${n}`,
  name: 'Board',
  status: 'active',
  rankBy: 'metric',
  ...(more.rankBy === undefined && { metricKey: 'flips' }),
  ...more,
});
const achievement = (n: number, more: Partial<ConfiguredAchievement> = {}): ConfiguredAchievement => ({
  key: `achievement-${n}`,
  name: 'Achievement',
  status: 'active',
  trigger: 'metric',
  ...(more.trigger === undefined && { metricKey: 'flips', metricValue: n + 1 }),
  ...more,
});
const trigger = (more: Partial<ConfiguredTrigger> = {}): ConfiguredTrigger => ({
  type: 'metric',
  status: 'active',
  points: 1,
  metricKey: 'flips',
  metricThreshold: 1,
  ...more,
});
const boost = (more: Partial<ConfiguredBoost> = {}): ConfiguredBoost => ({
  name: 'Boost',
  start: '2026-01-01',
  multiplier: 2,
  ...more,
});
const system = (
  parts: { triggers?: ConfiguredTrigger[]; boosts?: ConfiguredBoost[] },
  key = 'xp',
): { key: string; name: string } => ({ key, name: 'XP', ...parts });

test.each<[string, string, (count: number) => Configuration, number]>([
  ['leaderboards of a metric', 'leaderboards rank by one metric', (n) => ({ leaderboards: many(n, board) }), 100],
  [
    'leaderboards that have not begun',
    'leaderboards rank by one metric',
    (n) => ({ leaderboards: many(n, (at) => board(at, { status: 'scheduled', start: '2027-01-01' })) }),
    100,
  ],
  [
    'leaderboards of a points system',
    'leaderboards rank by one points system',
    (n) => ({
      pointsSystems: [system({})],
      leaderboards: many(n, (at) => board(at, { rankBy: 'points', pointsSystemKey: 'xp' })),
    }),
    100,
  ],
  [
    'leaderboards of the streak',
    'leaderboards rank by the streak',
    (n) => ({ leaderboards: many(n, (at) => board(at, { rankBy: 'streak' })) }),
    100,
  ],
  [
    'achievements of a metric',
    'achievements count one metric',
    (n) => ({ achievements: many(n, (at) => achievement(at)) }),
    200,
  ],
  [
    'achievements of the streak',
    "achievements have the trigger 'streak'",
    (n) => ({ achievements: many(n, (at) => achievement(at, { trigger: 'streak', streakLength: at + 1 })) }),
    200,
  ],
  [
    'triggers of a points system',
    'triggers of a points system are active',
    (n) => ({ pointsSystems: [system({ triggers: many(n, () => trigger({ type: 'user_creation', ...NO_METRIC })) })] }),
    100,
  ],
  [
    'boosts for everyone',
    'boosts of a points system are for all users',
    (n) => ({ pointsSystems: [system({ boosts: many(n, () => boost()) })] }),
    50,
  ],
  [
    'boosts for one user',
    'boosts of a points system are for one user',
    (n) => ({ pointsSystems: [system({ boosts: many(n, () => boost({ userId: 'ada', end: '2026-01-02' })) })] }),
    50,
  ],
])(
  '%s: the limit may be in force; one more is refused and the error states the limit',
  async (_name, says, document, most) => {
    expect((await applied(document(most))).problems).toEqual([]);
    const { problems } = await applied(document(most + 1));
    expect(problems[0]).toContain(`at most ${most} `);
    expect(problems[0]).toContain(says);
  },
);

const NO_METRIC = { metricKey: undefined, metricThreshold: undefined } as unknown as Partial<ConfiguredTrigger>;

test('metric triggers also count per metric, over all points systems', async () => {
  const systems = (each: number): Configuration => ({
    pointsSystems: many(2, (n) => system({ triggers: many(each, () => trigger()) }, `xp-${n}`)),
  });
  expect((await applied(systems(50))).problems).toEqual([]);
  expect((await applied(systems(51))).problems[0]).toContain('at most 100 active triggers count one metric');
});

test('inactive resources do not count', async () => {
  const { problems } = await applied({
    leaderboards: [
      ...many(100, (n) => board(n)),
      ...many(20, (n) => board(100 + n, { status: 'inactive' })),
      ...many(20, (n) => board(200 + n, { status: 'finished' })),
      ...many(20, (n) => board(300 + n, { start: '2026-01-01', end: '2026-02-27' })),
      ...many(20, (n) => board(n, { metricKey: 'reads' })),
    ],
    achievements: [
      ...many(200, (n) => achievement(n)),
      ...many(20, (n) => achievement(200 + n, { status: 'locked' })),
      ...many(20, (n) => achievement(300 + n, { trigger: 'api' })),
    ],
    pointsSystems: [
      system({
        triggers: [...many(100, () => trigger()), trigger({ status: 'inactive' })],
        boosts: [...many(50, () => boost()), boost({ end: '2026-02-01' })],
      }),
    ],
  });
  expect(problems).toEqual([]);
});

test('limits the total work of one event, though each metric and points system has its own limits', async () => {
  const systems = (count: number): Configuration => ({
    pointsSystems: many(count, (n) => system({}, `xp-${n}`)),
    leaderboards: many(count, (n) =>
      many(100, (at) => board(at, { rankBy: 'points', pointsSystemKey: `xp-${n}` })),
    ).flat(),
  });
  expect((await applied(systems(4))).problems).toEqual([]);
  const { problems } = await applied(systems(5));
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(
    /^configuration: an event of metric 'flips' would take up to 6\.\d ms of Redis .* may take 5/,
  );
});

test('the work of a plan covers everything in it, on its day and later', async () => {
  const property = fc.asyncProperty(randomConfiguration, fc.integer({ min: 0, max: 400 }), async (document, days) => {
    const draft = new CatalogDraft(emptyCatalog(0), { nextNo: 1, nowMs: DAY * DAY_MS });
    expect(await configure(draft, document, { today: dateOf(DAY) })).toEqual([]);
    const { catalog } = draft;
    const compiled = compileCatalog(catalog);
    const atFirst = eventWork(catalog, DAY);
    for (const { id, key } of catalog.metrics) {
      const { plan, work } = compiled.plan(key, DAY + days)!;
      expect(work).toBeLessThanOrEqual(workOfMetric(atFirst, id));
      const boards = plan.boards.filter(({ runs }) => runs[1]! >= 0);
      const triggers = plan.systems.flatMap(({ metric, streak, achievement: completed, creation }) => [
        ...metric,
        ...streak,
        ...completed,
        ...creation,
      ]);
      expect(work).toBeGreaterThanOrEqual(
        50 + 12 * boards.length + 6 * plan.achievements.length + 1.5 * triggers.length + 8 * plan.systems.length,
      );
    }
  });
  await fc.assert(property, { numRuns: 100 });
});

test('composites follow their parts, in any given order, and other achievements keep their order', async () => {
  const { catalog } = await applied({
    achievements: [
      ...many(150, (n) =>
        achievement(n, { trigger: 'achievement', achievementKeys: [`achievement-${n === 149 ? 900 : n + 1}`] }),
      ),
      achievement(901),
      achievement(900),
    ],
  });
  const compiled = compileCatalog(catalog);
  const keys = compiled.plan('flips', DAY)!.plan.achievements.map(({ no }) => compiled.achievementsByNo.get(no)!.key);
  expect(keys).toEqual(['achievement-901', 'achievement-900', ...many(150, (n) => `achievement-${149 - n}`)]);
});

test('a call takes as many events as its work limit allows, and at least one', () => {
  expect(fittingCall(10, 64)).toBe(64);
  expect(fittingCall(1_000, 64)).toBe(CALL_WORK / 1_000);
  expect(fittingCall(CALL_WORK * 3, 64)).toBe(1);
});

const laurel = opened(() => startLaurel({ configuration: { metrics: METRICS } }));

const metricId = async (): Promise<string> =>
  (await laurel.admin.get('/v1/metrics')).body.find(({ key }: { key: string }) => key === 'flips').id;

test('creating and activating in one request stays within the limit', async () => {
  const id = await metricId();
  const item = (key: string, status: string): object => ({
    key,
    name: 'Board',
    rankBy: 'metric',
    metricId: id,
    status,
  });
  const off = await laurel.admin.post(
    '/v1/leaderboards',
    many(60, (n) => item(`off-${n}`, 'inactive')),
  );
  const [created, switched] = await Promise.all([
    laurel.admin.post(
      '/v1/leaderboards',
      many(60, (n) => item(`on-${n}`, 'active')),
    ),
    laurel.admin.patch(
      '/v1/leaderboards',
      off.body.created.map((one: { id: string }) => ({ id: one.id, status: 'active' })),
    ),
  ]);
  expect(created.body.created.length + switched.body.updated.length).toBe(100);
  const issues = [...created.body.issues, ...switched.body.issues];
  expect(issues).toHaveLength(20);
  for (const { message } of issues)
    expect(message).toBe(
      'status: at most 100 active leaderboards rank by one metric: set inactive some of the others first',
    );
  const event = { user: { id: 'ada' }, value: 1 };
  const answered = await laurel.app.post('/v1/metrics/flips/event', event);
  expect([answered.status, Object.keys(answered.body.leaderboards).length]).toEqual([201, 100]);
});

test('refuses and counts an event that would be too much work', async () => {
  // No edit can store this: a catalog with other limits.
  const pool = laurel.pool;
  const templates = await pool.query(
    "SELECT doc FROM catalog_resources WHERE kind = 'leaderboard' AND deleted IS NULL AND doc->>'status' = 'active' LIMIT 1",
  );
  await pool.query(
    `INSERT INTO catalog_resources (tenant_no, id, no, kind, identity, doc, created, updated)
     SELECT 0, gen_random_uuid(), 100000 + n, 'leaderboard', 'more-' || n, $1::jsonb || jsonb_build_object('key', 'more-' || n), now(), now()
       FROM generate_series(1, 400) n`,
    [templates.rows[0].doc],
  );
  await pool.query('UPDATE tenants SET next_no = 200000 WHERE no = 0');
  await laurel.admin.post('/v1/attributes', [{ key: 'any', name: 'Any', type: 'user' }]);
  const event = { user: { id: 'ada' }, value: 1 };
  const refused = await laurel.app.post('/v1/metrics/flips/event', event);
  expect(refused.status).toBe(422);
  expect(refused.body.error).toMatch(/^An event of metric 'flips' would take up to 6\.\d ms of Redis/);
  expect((await laurel.app.post('/v1/metrics/reads/event', event)).status).toBe(201);
});

test('a new day is noticed once, also if batches of the day before follow', async () => {
  let days = 0;
  const compiled = new CompiledCatalog((await applied({})).catalog, () => (days += 1));
  for (const utcDay of [20_000, 20_000, 20_001, 20_000, 20_001, 20_000, 20_001]) compiled.plan('flips', utcDay);
  expect(days).toBe(1);
});
