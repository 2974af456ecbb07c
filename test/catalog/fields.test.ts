import { describe, expect, test } from 'vitest';
import { configure } from '../../src/catalog/configuration/configure.ts';
import { exportConfiguration } from '../../src/catalog/configuration/export.ts';
import { CatalogDraft } from '../../src/catalog/draft.ts';
import { pullSource } from '../../src/cli/source-configuration.ts';
import type { Source } from '../../src/cli/source.ts';
import { emptyCatalog, type Catalog } from '../../src/domain/catalog.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import { FORMS, type FormKind } from '../../src/domain/fields/form.ts';
import { FIELDS } from '../../src/domain/fields/kinds.ts';
import { makeAjv } from '../../src/operations/validation.ts';
import { adminOperations } from '../../src/operations/index.ts';
import { openapiDocument } from '../../src/operations/openapi.ts';
import { resolved } from '../operations/resolved.ts';

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
}
type Body = { requestBody?: { content: Record<string, { schema: Schema }> } };

const { paths } = resolved(openapiDocument('admin', adminOperations)) as {
  paths: Record<string, Record<string, Body>>;
};
const schemaOf = (path: string, method: string): Schema =>
  paths[path]?.[method]?.requestBody?.content['application/json']?.schema ?? {};
const namesIn = (schema: Schema | undefined): string[] => Object.keys(schema?.properties ?? {});

/** Lists of a points system whose items are resources of their own. */
const PARTS = ['levels', 'triggers', 'boosts'];

/** The properties that requests can set, from the OpenAPI document. */
const writable = (path: string): string[] =>
  [...new Set(['post', 'patch'].flatMap((method) => namesIn(schemaOf(path, method).items)))]
    .filter((name) => name !== 'id' && !PARTS.includes(name))
    .sort();

/** Forms of singular settings, with the part of the request that they set. */
const SETTINGS = {
  organisation: (): Schema => schemaOf('/v1/organisation', 'patch'),
  branding: (): Schema => schemaOf('/v1/settings', 'patch').properties!['branding']!,
  events: (): Schema => schemaOf('/v1/events/settings', 'patch'),
  streaks: (): Schema => schemaOf('/v1/streaks/settings', 'patch'),
  freezes: (): Schema => schemaOf('/v1/streaks/settings', 'patch').properties!['freezes']!.anyOf![0]!,
} as const;

/** Properties that another form sets, or that repeat another one. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  organisation: ['multiTenancy'],
  streaks: ['freezes', 'customizationEnabled'],
  freezes: ['startCount', 'maxCount'],
};

const PATHS: Record<Exclude<FormKind, keyof typeof SETTINGS | 'settings'>, string> = {
  attribute: '/v1/attributes',
  metric: '/v1/metrics',
  achievement: '/v1/achievements',
  points_system: '/v1/points',
  points_level: '/v1/points/{systemId}/levels',
  points_trigger: '/v1/points/{systemId}/triggers',
  points_boost: '/v1/points/{systemId}/boosts',
  leaderboard: '/v1/leaderboards',
  reward: '/v1/rewards',
  webhook: '/v1/webhooks',
  admin_key: '/v1/admin-api-keys',
  application_key: '/v1/application-api-keys',
  tenant: '/v1/tenants',
};
const kinds = Object.keys(PATHS) as (keyof typeof PATHS)[];

test.each(Object.entries(SETTINGS))(
  'the form of the settings %s has each property that requests can set',
  (kind, schema) => {
    const names = namesIn(schema()).filter((name) => !ELSEWHERE[kind]?.includes(name));
    expect(FORMS[kind as keyof typeof SETTINGS].map(({ name }) => name).sort()).toEqual(names.sort());
  },
);

test('the form of the other settings has the rest of them', () => {
  const { branding, experimentation, ...others } = schemaOf('/v1/settings', 'patch').properties!;
  // The share of the control group is in the organisation\'s form.
  const names = [...Object.keys(others), ...namesIn(experimentation)].filter((name) => name !== 'controlRatio');
  expect(branding).toBeDefined();
  expect(FORMS.settings.map(({ name }) => name).sort()).toEqual(names.sort());
});

test.each(kinds)('the form of every %s has each property that requests can set', (kind) => {
  const names = writable(PATHS[kind]);
  expect(names.length).toBeGreaterThan(1);
  expect(FORMS[kind].map(({ name }) => name).sort()).toEqual(names);
});

test.each(kinds)('the form of every %s marks required and immutable properties', (kind) => {
  const { required = [] } = schemaOf(PATHS[kind], 'post').items as { required?: string[] };
  const always = FORMS[kind].filter((field) => field.required === true && !field.when && field.initial === undefined);
  for (const { name } of always) expect(required).toContain(name);
  const changeable = namesIn(schemaOf(PATHS[kind], 'patch').items);
  for (const { name, fixed } of FORMS[kind]) expect([name, changeable.includes(name)]).toEqual([name, fixed !== true]);
});

/** A property's name in the document. References name resources by key. */
const DOCUMENT_NAMES: Record<string, string[]> = {
  metricId: ['metricKey'],
  pointsSystemId: ['pointsSystemKey'],
  leaderboardId: ['leaderboardKey'],
  teamAttributeId: ['teamAttributeKey'],
  secondaryAttributeId: ['secondaryAttributeKey'],
  achievementId: ['achievementKey', 'achievementName', 'achievementId'],
  achievementIds: ['achievementKeys', 'achievementNames', 'achievementIds'],
  requires: ['requiresKeys', 'requiresNames', 'requiresIds'],
};
const inDocument = (names: string[]): string[] => names.flatMap((name) => DOCUMENT_NAMES[name] ?? [name]).sort();

const documentSchema = schemaOf('/v1/configuration', 'put').properties!;
const system = documentSchema['pointsSystems']!.items!;
const DOCUMENT_ITEMS = {
  attribute: documentSchema['attributes']!.items,
  metric: documentSchema['metrics']!.items,
  achievement: documentSchema['achievements']!.items,
  points_system: system,
  points_level: system.properties!['levels']!.items,
  points_trigger: system.properties!['triggers']!.items,
  points_boost: system.properties!['boosts']!.items,
  leaderboard: documentSchema['leaderboards']!.items,
  reward: documentSchema['rewards']!.items,
};
type DocumentKind = keyof typeof DOCUMENT_ITEMS;

test.each(Object.keys(DOCUMENT_ITEMS) as DocumentKind[])('the document has each property of every %s', (kind) => {
  const names = namesIn(DOCUMENT_ITEMS[kind]).filter((name) => !PARTS.includes(name) && name !== 'id');
  const wanted = inDocument(writable(PATHS[kind])).filter((name) => kind !== 'achievement' || name !== 'id');
  expect(names.sort()).toEqual(wanted);
});

const TODAY = '2026-03-01';
const badge = { url: 'https://example.org/badge.png' };
const conditions = {
  userAttributes: [{ key: 'plan', value: 'pro' }],
  eventAttributes: [{ key: 'deck', value: 'es' }],
};
const { userAttributes } = conditions;
const described = { description: 'What it is', badge };

/** A document whose items together have every property. */
const FULL: Configuration = {
  attributes: [
    { key: 'plan', name: 'Plan', type: 'user', writableBy: 'server' },
    { key: 'deck', name: 'Deck', type: 'event' },
  ],
  metrics: [
    {
      key: 'flips',
      name: 'Flips',
      description: 'Cards that a user flips',
      unitType: 'currency',
      units: 'EUR',
      guards: { maxValue: { limit: 5, action: 'clamp' } },
      onOverview: true,
    },
  ],
  achievements: [
    { key: 'tour', name: 'Tour', trigger: 'api', status: 'locked', ...described },
    { key: 'top', name: 'Top', trigger: 'api', leaderboardKey: 'flips', rankFrom: 2, rankTo: 3 },
    { key: 'tenth', name: 'Tenth', trigger: 'api', leaderboardKey: 'flips', rankPercent: 10 },
    {
      key: 'ten',
      name: 'Ten',
      trigger: 'metric',
      metricKey: 'flips',
      metricValue: 10,
      repeat: 'weekly',
      startDate: '2026-01-05',
      endDate: '2026-12-31',
      secret: true,
      ...conditions,
    },
    { name: 'Week', trigger: 'streak', streakLength: 7 },
    { id: '00000000-0000-4000-8000-00000000000a', name: 'Same', trigger: 'streak', streakLength: 8 },
    { id: '00000000-0000-4000-8000-00000000000b', name: 'Same', trigger: 'streak', streakLength: 9 },
    { key: 'years', name: 'Years', trigger: 'anniversary', anniversaryYears: 2 },
    {
      key: 'all',
      name: 'All',
      trigger: 'achievement',
      achievementKeys: ['tour'],
      achievementNames: ['Week'],
      achievementIds: ['00000000-0000-4000-8000-00000000000a'],
      requiresKeys: ['years'],
      requiresNames: ['Week'],
      requiresIds: ['00000000-0000-4000-8000-00000000000b'],
    },
  ],
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      maxPoints: 100,
      spendableByUsers: true,
      expiresAfterDays: 365,
      ...described,
      levels: [{ key: 'low', name: 'Low', points: 5, ...described }],
      triggers: [
        { type: 'metric', points: 1, status: 'active', metricKey: 'flips', metricThreshold: 2, ...conditions },
        { type: 'metric', points: -1, metricKey: 'flips', metricThreshold: 3, blockIfOutOfPoints: true },
        { type: 'achievement', points: 2, achievementKey: 'tour' },
        { type: 'achievement', points: 3, achievementName: 'Week' },
        { type: 'achievement', points: 4, achievementId: '00000000-0000-4000-8000-00000000000a' },
        { type: 'achievement', points: 7, pointsSystemKey: 'xp', levelKey: 'low' },
        { type: 'achievement', points: 8, leaderboardKey: 'flips', rankFrom: 1, rankTo: 2 },
        { type: 'achievement', points: 9, leaderboardKey: 'flips', rankPercent: 0.5 },
        { type: 'streak', points: 5, streakLength: 3 },
        { type: 'time', points: 6, timeUnit: 'hours', timeInterval: 12 },
      ],
      boosts: [
        {
          name: 'Twice',
          userId: 'ada',
          start: TODAY,
          end: '2026-03-09',
          multiplier: 2,
          rounding: 'up',
          userAttributes,
        },
      ],
    },
  ],
  leaderboards: [
    {
      key: 'flips',
      name: 'Most flips',
      description: 'Who flips most',
      status: 'active',
      rankBy: 'metric',
      aggregate: 'min',
      ties: 'first',
      secondaryAttributeKey: 'deck',
      secondaryOrder: 'descending',
      keepsMetadata: true,
      order: 'ascending',
      metricKey: 'flips',
      maxParticipants: 10,
      start: TODAY,
      end: '2026-12-31',
      startTime: '08:00',
      endTime: '20:00',
      breakdownAttributes: ['plan'],
      runUnit: 'day',
      runInterval: 7,
      leagues: {
        tiers: [{ name: 'Bronze', badge: { url: 'https://example.org/bronze.png' } }, { name: 'Silver' }],
        cohortUsers: 30,
        promoted: 5,
        demoted: 4,
        inactive: 'fall',
      },
    },
    {
      key: 'xp',
      name: 'Most XP',
      rankBy: 'points',
      pointsSystemKey: 'xp',
      maxParticipants: null,
      start: TODAY,
      teamAttributeKey: 'plan',
      teamsBy: 'mean',
      teamMinMembers: 3,
    },
  ],
  rewards: [
    {
      key: 'mug',
      name: 'Mug',
      description: 'With your name',
      badge: { url: 'https://example.org/mug.png' },
      pointsSystemKey: 'xp',
      price: 250,
      stock: 50,
      limitPerUser: 1,
      claimableByUsers: false,
      status: 'active',
    },
  ],
};

async function applied(document: Configuration): Promise<Catalog> {
  const draft = new CatalogDraft(emptyCatalog(0), { nextNo: 1, nowMs: Date.parse(TODAY) });
  expect(await configure(draft, document, { today: TODAY })).toEqual([]);
  return draft.catalog;
}

/** The properties that a document's items have together. */
function namesUsed({ attributes, metrics, achievements, pointsSystems = [], leaderboards, rewards }: Configuration) {
  const lists: Record<DocumentKind, readonly object[] | undefined> = {
    attribute: attributes,
    metric: metrics,
    achievement: achievements,
    points_system: pointsSystems,
    points_level: pointsSystems.flatMap(({ levels = [] }) => levels),
    points_trigger: pointsSystems.flatMap(({ triggers = [] }) => triggers),
    points_boost: pointsSystems.flatMap(({ boosts = [] }) => boosts),
    leaderboard: leaderboards,
    reward: rewards,
  };
  return Object.fromEntries(
    Object.entries(lists).map(([kind, items = []]) => [kind, [...new Set(items.flatMap(Object.keys))].sort()]),
  );
}

describe('a configuration with every property', () => {
  const all = Object.fromEntries(Object.entries(DOCUMENT_ITEMS).map(([kind, item]) => [kind, namesIn(item).sort()]));

  test('fits the document, and its export equals what was applied', async () => {
    expect(makeAjv().validate(schemaOf('/v1/configuration', 'put'), FULL)).toBe(true);
    expect(namesUsed(FULL)).toEqual(all);
    const exported = await exportConfiguration(await applied(FULL));
    expect(namesUsed(exported)).toEqual(all);
    expect(exported.metrics).toEqual(FULL.metrics);
    expect(exported.leaderboards[0]).toEqual(FULL.leaderboards![0]);
    expect(exported.rewards).toEqual(FULL.rewards);
    expect(exported.pointsSystems[0]!.boosts).toEqual(FULL.pointsSystems![0]!.boosts);
  });

  test('shows weeks as days, and requests with either are the same', async () => {
    const [board] = FULL.leaderboards!;
    const weekly = { ...FULL, leaderboards: [{ ...board!, runUnit: 'week' as const, runInterval: 1 }] };
    expect((await exportConfiguration(await applied(weekly))).leaderboards).toEqual([board]);
    const { runInterval: _, ...once } = weekly.leaderboards[0]!;
    expect((await exportConfiguration(await applied({ ...FULL, leaderboards: [once] }))).leaderboards).toEqual([board]);
    // Answers keep the units of the contract.
    const answered = JSON.stringify(paths['/v1/leaderboards/{id}']!['get']);
    expect(answered).toContain('"enum":["day","month","year"]');
    expect(answered).not.toContain('"week"');
  });

  test("pulled from another server, equals that server's export except for fields that only Laurel has", async () => {
    const catalog = await applied(FULL);
    const nowMs = Date.parse(TODAY);
    const services = {
      resources: { read: async () => catalog },
      configuration: { streaks: async () => catalog },
      clock: { now: () => nowMs },
    };
    /** Answers like the operations. */
    const ask = async (path: string): Promise<unknown> => {
      const { pathname, searchParams } = new URL(path, 'http://source');
      const found = adminOperations.flatMap((operation) => {
        const match = new RegExp(`^${operation.path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(pathname);
        return operation.method === 'get' && match !== null ? [{ operation, params: { ...match.groups } }] : [];
      })[0]!;
      const query = { limit: Number(searchParams.get('limit')), skip: Number(searchParams.get('skip')) };
      const call = { params: found.params, query, tenant: { no: 0 }, caller: { scope: 'all' } };
      return ((await found.operation.handle(services as never, call as never)) as { body: unknown }).body;
    };
    const { document } = await pullSource({ ask } as Source, { partial: false });
    const expected = await exportConfiguration(catalog);
    const additions = (kind: DocumentKind): string[] =>
      Object.entries(FIELDS[kind]).flatMap(([name, { addition }]) =>
        addition ? (DOCUMENT_NAMES[name] ?? [name]) : [],
      );
    const without = <T extends object>(kind: DocumentKind, items: T[]): object[] =>
      items.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => !additions(kind).includes(name))));
    expect(document).toMatchObject({
      attributes: without('attribute', expected.attributes),
      metrics: without('metric', expected.metrics),
      achievements: without('achievement', expected.achievements),
      pointsSystems: without(
        'points_system',
        expected.pointsSystems.map((one) => ({ ...one, triggers: without('points_trigger', one.triggers ?? []) })),
      ),
      leaderboards: without('leaderboard', expected.leaderboards),
    });
    expect(JSON.stringify(document)).not.toMatch(
      /guards|onOverview|writableBy|aggregate|spendableByUsers|expiresAfterDays/,
    );
  });
});

/** Further names of settings; the document has each setting once. */
const OTHER_NAMES = ['customizationEnabled'];

test.each([
  ['/v1/streaks/settings', 'streaks'],
  ['/v1/events/settings', 'events'],
] as const)('%s: the document has each setting', (path, name) => {
  const names = namesIn(schemaOf(path, 'patch')).filter((setting) => !OTHER_NAMES.includes(setting));
  expect(names.length).toBeGreaterThan(1);
  expect(namesIn(documentSchema[name]).sort()).toEqual(names.sort());
});
