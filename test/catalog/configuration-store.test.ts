import { beforeEach, describe, expect, test } from 'vitest';
import { Catalogs } from '../../src/catalog/catalogs.ts';
import { createConfigurationStore, type ConfigurationStore } from '../../src/catalog/configuration/store.ts';
import { DEMO, loadDemo } from '../../src/catalog/demo.ts';
import { createResources } from '../../src/catalog/resources.ts';
import { FixedClock } from '../../src/clock.ts';
import { type Catalog } from '../../src/domain/catalog.ts';
import { DEFAULT_STREAK_SETTINGS } from '../../src/domain/fields/tenant-settings.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import { loadCatalog } from '../../src/postgres/catalog.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const WHO = { who: 'adm_test' };
let store: ConfigurationStore;
let announced: string[];
const clock = new FixedClock(0);

const database = opened(() => testDatabase({ redis: false }));

beforeEach(async () => {
  await database.pool.query(
    `TRUNCATE catalog_resources, audit_log CASCADE;
     UPDATE tenants SET catalog_version = 0, next_no = 1, streaks = NULL, event_settings = NULL,
            message_settings = NULL, message_kinds = '{}', messages_updated = NULL`,
  );
  announced = [];
  clock.set(Date.UTC(2026, 2, 1, 12));
  store = createConfigurationStore({
    pool: database.pool,
    announce: async (message) => void announced.push(message),
    clock,
  });
});

const catalog = async (): Promise<Catalog> => (await loadCatalog(database.pool, 0))!;
const apply = (document: Configuration): ReturnType<ConfigurationStore['apply']> => store.apply(0, document, WHO);

test('an empty tenant has an empty document with the default settings', async () => {
  expect(await store.read(0)).toEqual({
    attributes: [],
    metrics: [],
    achievements: [],
    pointsSystems: [],
    leaderboards: [],
    rewards: [],
    events: { lateEventDays: 35, clientsMaySendLate: false, signUpDateWritableBy: 'server' },
    messages: {
      templates: [],
      pushTemplates: [],
      unsubscribePages: [],
      localeAttribute: null,
      quietHours: null,
      emailsPerDay: 3,
      pushesPerDay: 3,
      trackOpens: false,
      trackClicks: false,
    },
    streaks: DEFAULT_STREAK_SETTINGS,
  });
  await expect(store.read(404)).rejects.toMatchObject({ code: 'not_found' });
});

describe('applying', () => {
  test('stores the whole demo once', async () => {
    expect(await loadDemo(store)).toBe(true);
    expect(await loadDemo(store)).toBe(false);
    const { version, achievements, metrics, triggers, boosts, levels, leaderboards } = await catalog();
    expect(version).toBe(1);
    expect(announced).toEqual(['0:1']);
    expect(new Set(achievements.map(({ trigger }) => trigger)).size).toBe(4);
    const both = achievements.find(({ key }) => key === 'off-to-a-start');
    expect(both?.achievementIds).toHaveLength(2);
    expect(triggers.find(({ type }) => type === 'achievement')?.achievementId).toBe(both?.id);
    expect(leaderboards.map(({ metricId }) => metricId)).toContain(metrics[0]?.id);
    expect([levels.length, boosts.length, leaderboards.length]).toEqual([3, 1, 3]);
  });

  test('a document never mixes with the demo silently: it lists what the document does not name, and the caller chooses whether to keep it', async () => {
    const systems = [{ key: 'xp', name: 'XP', triggers: [] }];
    const mine: Configuration = { metrics: [{ key: 'steps', name: 'Steps' }], pointsSystems: systems };
    expect(await store.hasDemo(0)).toBe(false);
    await loadDemo(store);
    expect(await store.hasDemo(0)).toBe(true);

    const { changes, demo } = await store.diff(0, mine, 'remove');
    expect(demo.map(({ kind }) => kind)).toHaveLength(18);
    expect(demo).toContainEqual(expect.objectContaining({ kind: 'points_boost', pointsSystemKey: 'xp' }));
    expect(changes).toContainEqual(expect.objectContaining({ kind: 'points_boost', action: 'delete', demo: true }));
    // The kept resources depend on metrics that the document omits.
    await expect(store.diff(0, mine, 'keep')).rejects.toThrow("unknown metric 'flashcards-flipped'");
    await expect(apply(mine)).rejects.toThrow("unknown metric 'flashcards-flipped'");
    // Without a choice, unnamed resources stay, are listed and still belong to the demo.
    const undecided = await apply({ attributes: DEMO.attributes! });
    expect([undecided.changes, undecided.demo.some(({ kind }) => kind === 'points_boost')]).toEqual([[], true]);
    expect(await store.hasDemo(0)).toBe(true);

    const { version } = await store.apply(0, mine, { who: 'test' }, 'remove');
    const { metrics, boosts, levels, attributes, achievements, leaderboards, pointsSystems } = await catalog();
    expect([version, metrics.map(({ key }) => key), pointsSystems.map(({ key }) => key)]).toEqual([
      2,
      ['steps'],
      ['xp'],
    ]);
    expect([boosts, levels, attributes, achievements, leaderboards]).toEqual([[], [], [], [], []]);
    expect(await store.hasDemo(0)).toBe(false);
    // From now on omitted lists stay, as usual.
    expect((await apply({ leaderboards: [] })).changes).toEqual([]);
  });

  test('resources that the user edited are not removed with the demo; what is kept no longer belongs to the demo', async () => {
    await loadDemo(store);
    const resources = createResources({ pool: database.pool, announce: async () => undefined, clock });
    const [metric, other] = (await catalog()).metrics;
    const { id: _id, no: _no, created: _created, updated: _updated, ...fields } = metric!;
    await resources.edit(0, { who: 'test' }, (draft) =>
      draft.update('metric', metric!.id, { ...fields, name: 'Mine' }),
    );
    const none: Configuration = { achievements: [], pointsSystems: [], leaderboards: [] };
    expect((await store.diff(0, none)).demo.map(({ name }) => name)).toEqual([
      'country',
      'plan',
      'subject',
      other!.key,
    ]);
    const { changes } = await store.apply(0, none, { who: 'test' }, 'keep');
    expect(changes.every(({ kind }) => kind !== 'metric' && kind !== 'attribute')).toBe(true);
    expect(await store.hasDemo(0)).toBe(false);
    expect((await apply({ leaderboards: [] })).changes).toEqual([]);
  });

  test('applying a document twice, or applying an export, changes nothing', async () => {
    await apply(DEMO);
    const before = await catalog();
    clock.set(Date.UTC(2026, 5, 1));
    expect(await apply(DEMO)).toEqual({ version: 1, changes: [], demo: [] });
    expect(await apply(await store.read(0))).toEqual({ version: 1, changes: [], demo: [] });
    expect(await catalog()).toEqual(before);
    expect(announced).toEqual(['0:1']);
    const { rows } = await database.pool.query('SELECT DISTINCT version, who FROM audit_log');
    expect(rows).toEqual([{ version: 1, who: 'adm_test' }]);
  });

  test('an exported document creates the same configuration elsewhere', async () => {
    await apply(DEMO);
    const document = await store.read(0);
    await apply({ attributes: [], metrics: [], achievements: [], pointsSystems: [], leaderboards: [] });
    const { version } = await apply(document);
    expect(version).toBe(3);
    expect(await store.read(0)).toEqual(document);
  });

  test('an update keeps the ID and number and reports what changed', async () => {
    await apply(DEMO);
    const before = (await catalog()).metrics;
    clock.set(Date.UTC(2026, 2, 2));
    const { changes } = await apply({ metrics: DEMO.metrics!.map((metric) => ({ ...metric, units: 'x' })) });
    expect(changes).toEqual(
      ['flashcards-flipped', 'minutes-studied'].map((name) => ({
        action: 'update',
        kind: 'metric',
        name,
        fields: ['units'],
        before: { units: name === 'minutes-studied' ? 'minutes' : 'cards' },
        after: { units: 'x' },
      })),
    );
    expect((await catalog()).metrics).toEqual(
      before.map((metric) => ({ ...metric, units: 'x', updated: Date.UTC(2026, 2, 2) })),
    );
  });

  test('soft-deletes what a list omits, with its parts; reusing the key creates a new resource', async () => {
    await apply({ pointsSystems: [{ key: 'xp', name: 'XP', levels: [{ key: 'one', name: 'One', points: 1 }] }] });
    const [old] = (await catalog()).pointsSystems;
    const { changes } = await apply({ pointsSystems: [] });
    expect(changes).toEqual(
      [
        { action: 'delete', kind: 'points_system', name: 'xp', pointsSystemKey: undefined },
        { action: 'delete', kind: 'points_level', name: 'one', pointsSystemKey: 'xp' },
      ].map((change) =>
        change.pointsSystemKey === undefined ? { action: change.action, kind: change.kind, name: change.name } : change,
      ),
    );
    const { rows } = await database.pool.query(
      `SELECT doc->>'name' AS name FROM catalog_resources WHERE deleted IS NOT NULL ORDER BY no`,
    );
    expect(rows).toEqual([{ name: 'XP' }, { name: 'One' }]);
    await apply({ pointsSystems: [{ key: 'xp', name: 'XP' }] });
    const { pointsSystems, levels } = await catalog();
    expect(pointsSystems).toEqual([expect.objectContaining({ no: 3 })]);
    expect(pointsSystems[0]?.id).not.toBe(old?.id);
    expect(levels).toEqual([]);
  });

  test('keeps lists and settings that the document omits', async () => {
    await apply(DEMO);
    const before = await catalog();
    await apply({ streaks: { freezes: { enabled: true, max: 2 } } });
    await apply({
      pointsSystems: [{ ...DEMO.pointsSystems![0]!, boosts: undefined!, triggers: undefined!, name: 'X' }],
    });
    const after = await catalog();
    expect(after.streaks).toEqual({ ...before.streaks, freezes: { ...before.streaks.freezes, enabled: true, max: 2 } });
    expect([after.achievements, after.triggers, after.boosts]).toEqual([
      before.achievements,
      before.triggers,
      before.boosts,
    ]);
  });

  test('serialises two concurrent documents', async () => {
    const metrics = (key: string): Configuration => ({ metrics: [{ key, name: key }] });
    const versions = await Promise.all(['a', 'b', 'c'].map((key) => apply(metrics(key))));
    expect(versions.map(({ version }) => version)).toEqual(expect.arrayContaining([1, 2, 3]));
    expect((await catalog()).metrics).toHaveLength(1);
  });

  test('tenants share nothing', async () => {
    await database.pool.query(`INSERT INTO tenants (no, id, name) VALUES (7, gen_random_uuid(), 'Seven')`);
    await apply({ metrics: [{ key: 'same', name: 'Mine' }] });
    await store.apply(7, { metrics: [{ key: 'same', name: 'Theirs' }] }, WHO);
    expect((await store.read(0)).metrics).toEqual([expect.objectContaining({ name: 'Mine' })]);
    expect(announced).toEqual(['0:1', '7:1']);
  });

  test('resolves once the catalogs of this process have the change', async () => {
    const catalogs = new Catalogs(database.pool);
    const near = createConfigurationStore({ pool: database.pool, announce: async () => undefined, catalogs });
    await catalogs.load(0);
    await near.apply(0, { metrics: [{ key: 'now', name: 'Now' }] }, WHO);
    expect([...catalogs.get(0)!.metrics.keys()]).toEqual(['now']);
    catalogs.close();
  });
});

describe('matching resources', () => {
  const trigger = (points: number, metricThreshold = 1): object => ({
    type: 'metric',
    points,
    metricKey: 'm',
    metricThreshold,
  });
  const withTriggers = (...triggers: object[]): Configuration => ({
    metrics: [{ key: 'm', name: 'M' }],
    pointsSystems: [{ key: 'xp', name: 'XP', triggers: triggers as never }],
  });
  const nos = async (): Promise<[number, number][]> => (await catalog()).triggers.map(({ no, points }) => [no, points]);

  test('matches a trigger by equal content before one by target', async () => {
    await apply(withTriggers(trigger(1), trigger(2), trigger(3)));
    const [first, , third] = await nos();
    await apply(withTriggers(trigger(3), trigger(9)));
    expect(await nos()).toEqual([[first![0], 9], third]);
  });

  test('equal triggers are separate triggers', async () => {
    await apply(withTriggers(trigger(1), trigger(1)));
    const before = await nos();
    expect((await apply(withTriggers(trigger(1), trigger(1)))).changes).toEqual([]);
    await apply(withTriggers(trigger(1)));
    expect(await nos()).toEqual([before[0]]);
  });

  test('matches a boost by its name and user', async () => {
    const boost = (name: string, userId: string | null, multiplier: number): object => ({
      name,
      userId,
      multiplier,
      start: '2026-01-01',
    });
    const withBoosts = (...boosts: object[]): Configuration => ({
      pointsSystems: [{ key: 'xp', name: 'XP', boosts: boosts as never }],
    });
    await apply(withBoosts(boost('B', 'ada', 2), boost('B', 'bob', 2), boost('B', null, 2)));
    const before = (await catalog()).boosts;
    await apply(withBoosts(boost('B', null, 3), boost('B', 'bob', 4)));
    expect((await catalog()).boosts.map(({ id, multiplier }) => [id, multiplier])).toEqual([
      [before[1]!.id, 4],
      [before[2]!.id, 3],
    ]);
  });

  test('matches an achievement without a key by its name; the achievement stays the same when it gets a key', async () => {
    const named = (more: object): Configuration => ({
      achievements: [
        { name: 'Quiet', trigger: 'streak', streakLength: 3, ...more },
        {
          name: 'All',
          trigger: 'achievement',
          ...('key' in more ? { achievementKeys: ['quiet'] } : { achievementNames: ['Quiet'] }),
        },
      ],
    });
    await apply(named({}));
    expect(await apply(await store.read(0))).toMatchObject({ changes: [] });
    const [before] = (await catalog()).achievements;
    const { changes } = await apply(named({ key: 'quiet' }));
    const fields = { fields: ['key'], before: {}, after: { key: 'quiet' } };
    expect(changes).toEqual([{ action: 'update', kind: 'achievement', name: 'quiet', ...fields }]);
    expect((await catalog()).achievements[0]?.id).toBe(before?.id);
  });

  test('a leaderboard without a start keeps its creation day', async () => {
    const board: Configuration = { leaderboards: [{ key: 'b', name: 'B', rankBy: 'streak' }] };
    await apply(board);
    clock.set(Date.UTC(2026, 2, 9));
    expect((await apply(board)).changes).toEqual([]);
    expect((await catalog()).leaderboards[0]?.start).toBe('2026-03-01');
  });

  test('a trigger keeps its last activation time', async () => {
    const active = (status: 'active' | 'inactive'): Configuration => withTriggers({ ...trigger(1), status });
    const activated = async (): Promise<number | null | undefined> => (await catalog()).triggers[0]?.activated;
    await apply(active('inactive'));
    expect(await activated()).toBeNull();
    await apply(active('active'));
    expect(await activated()).toBe(Date.UTC(2026, 2, 1, 12));
    clock.set(Date.UTC(2026, 2, 2));
    await apply(withTriggers({ ...trigger(1, 7), status: 'active' }));
    expect(await activated()).toBe(Date.UTC(2026, 2, 1, 12));
    await apply(active('inactive'));
    await apply(active('active'));
    expect(await activated()).toBe(Date.UTC(2026, 2, 2));
  });
});

test('a diff reports changes and makes none', async () => {
  await apply(DEMO);
  const document: Configuration = {
    attributes: [...DEMO.attributes!, { key: 'school', name: 'School', type: 'user' }],
    streaks: { weekStart: 'monday' },
  };
  expect((await store.diff(0, document)).changes).toEqual([
    { action: 'create', kind: 'attribute', name: 'school' },
    {
      action: 'update',
      kind: 'streaks',
      name: 'streaks',
      fields: ['weekStart'],
      before: { weekStart: 'sunday' },
      after: { weekStart: 'monday' },
    },
  ]);
  expect((await catalog()).version).toBe(1);
  expect(await store.diff(0, {})).toEqual({ changes: [], demo: [] });
});

test('sets streak settings one by one', async () => {
  await apply(DEMO);
  const [metric] = (await catalog()).metrics;
  const { streaks: settings } = await store.updateStreaks(
    0,
    { metrics: [{ metricId: metric!.id, threshold: 5 }], freezes: { max: 3 } },
    WHO,
  );
  expect(settings).toEqual({
    ...DEFAULT_STREAK_SETTINGS,
    metrics: [{ metricId: metric!.id, threshold: 5 }],
    freezes: { ...DEFAULT_STREAK_SETTINGS.freezes, max: 3 },
  });
  expect(await store.streaks(0)).toMatchObject({ streaks: settings });
  await expect(store.updateStreaks(0, { freezes: { initial: 4 } }, WHO)).rejects.toThrow(
    'freezes.initial: must not be above freezes.max',
  );
  // A document cannot omit what the settings name unless it omits the settings.
  await expect(
    apply({ metrics: [DEMO.metrics![1]!], achievements: [], pointsSystems: [], leaderboards: [] }),
  ).rejects.toThrow("streaks.metrics[0].metricKey: unknown metric 'flashcards-flipped'");
});

test('sorts days off, and clears them when the frequency is no longer daily', async () => {
  const daysOff = async (): Promise<number[]> => (await catalog()).streaks.daysOff;
  await store.updateStreaks(0, { daysOff: [6, 0] }, WHO);
  expect(await daysOff()).toEqual([0, 6]);
  await store.updateStreaks(0, { evaluationMode: 'AND' }, WHO);
  expect(await daysOff()).toEqual([0, 6]);
  const refused = { code: 'unprocessable', message: "daysOff: only for frequency 'daily'" };
  await expect(store.updateStreaks(0, { frequency: 'weekly', daysOff: [1] }, WHO)).rejects.toMatchObject(refused);
  await store.updateStreaks(0, { frequency: 'weekly' }, WHO);
  expect(await daysOff()).toEqual([]);
  await apply({ streaks: { frequency: 'daily', daysOff: [5, 3] } });
  expect(await daysOff()).toEqual([3, 5]);
  await apply({ streaks: { frequency: 'monthly' } });
  expect(await daysOff()).toEqual([]);
});

describe('versions', () => {
  const page = { limit: 100, skip: 0 };
  const key = (name: string) => ({ key: name.toLowerCase(), name });

  /** Applies documents, and returns what `read` then gave, by version. */
  const history = async (documents: Configuration[]): Promise<Map<number, object>> => {
    const documentOf = new Map<number, object>();
    for (const document of documents) documentOf.set((await apply(document)).version, await store.read(0));
    return documentOf;
  };

  // The clock stands still: versions of one millisecond are told apart.
  const DOCUMENTS: Configuration[] = [
    { metrics: [key('Steps'), key('Pages')], attributes: [{ ...key('Plan'), type: 'user' }] },
    {
      pointsSystems: [{ ...key('XP'), levels: [{ ...key('Novice'), points: 1 }], triggers: [] }],
      streaks: { frequency: 'weekly', metrics: [{ metricKey: 'steps', threshold: 3 }] },
    },
    { metrics: [key('Steps'), { ...key('Pages'), name: 'Pages read' }], events: { lateEventDays: 3 } },
    { metrics: [key('Steps')], events: { clientsMaySendLate: true } },
    { metrics: [key('Steps'), key('Pages')], pointsSystems: [], streaks: { frequency: 'daily', metrics: [] } },
    { metrics: [], attributes: [] },
  ];

  test('the document of every version is the one that was read then', async () => {
    const documentOf = await history(DOCUMENTS);
    expect([...documentOf.keys()]).toEqual([1, 2, 3, 4, 5, 6]);
    for (const [version, document] of documentOf) expect(await store.readVersion(0, version)).toEqual(document);
    for (const unknown of [7, 404])
      await expect(store.readVersion(0, unknown)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('applying the document of any version restores it, as a new version', async () => {
    const documentOf = await history(DOCUMENTS);
    for (const version of [2, 4, 6, 1, 3, 5]) {
      await apply(await store.readVersion(0, version));
      expect(await store.read(0)).toEqual(documentOf.get(version));
    }
    expect((await catalog()).version).toBe(12);
    expect(await store.readVersion(0, 3)).toEqual(documentOf.get(3));
  });

  test('a process that has an earlier version reads what has changed since, and gets the same catalog', async () => {
    const known: Catalog[] = [await catalog()];
    const template = { kind: 'recap' as const, subject: 'S', html: '{{unsubscribeUrl}}', text: '{{unsubscribeUrl}}' };
    for (const document of [...DOCUMENTS, { messages: { templates: [template], emailsPerDay: 1 } }]) {
      clock.set(clock.now() + 1_000);
      await apply(document);
      known.push(await catalog());
    }
    const resources = createResources({ pool: database.pool, announce: async () => undefined, clock });
    const webhook = { name: 'hook', url: 'https://hook.example', header: null, events: ['points.changed' as const] };
    const fields = { ...webhook, filter: null, enabled: true, secretNo: 1 };
    const { result } = await resources.edit(0, WHO, (draft) => draft.create('webhook', fields));
    known.push(await catalog());
    await resources.edit(0, WHO, (draft) => draft.update('webhook', result.id, { ...fields, name: 'other' }));
    const newest = await catalog();
    for (const one of [...known, newest])
      expect(await loadCatalog(database.pool, 0, one), `since version ${one.version}`).toEqual(newest);
    // One from a database that was restored meanwhile.
    expect(await loadCatalog(database.pool, 0, { ...newest, version: 99, metrics: [] })).toEqual(newest);
    await database.pool.query('UPDATE catalog_resources SET created_version = NULL, deleted_version = NULL');
    for (const one of known) expect(await loadCatalog(database.pool, 0, one)).toEqual(newest);
  });

  test('resources that a process before these columns wrote are placed by their times', async () => {
    const documentOf = new Map<number, object>();
    for (const document of DOCUMENTS) {
      clock.set(clock.now() + 1_000);
      documentOf.set((await apply(document)).version, await store.read(0));
    }
    await database.pool.query('UPDATE catalog_resources SET created_version = NULL, deleted_version = NULL');
    for (const [version, document] of documentOf) expect(await store.readVersion(0, version)).toEqual(document);
  });

  test('lists who made each version and what it changed, newest first, as long as the audit log has it', async () => {
    await apply(DOCUMENTS[0]!);
    clock.set(clock.now() + 60_000);
    await store.apply(0, { metrics: Array.from({ length: 13 }, (_, n) => key(`M${n}`)) }, { who: 'adm_other' });
    const [second, first, ...others] = await store.versions(0, page);
    expect(others).toEqual([]);
    expect(first).toEqual({
      version: 1,
      at: '2026-03-01T12:00:00.000Z',
      who: 'adm_test',
      changeCount: 3,
      changes: ['plan', 'steps', 'pages'].map((name, index) => ({
        action: 'create',
        kind: index === 0 ? 'attribute' : 'metric',
        name,
      })),
    });
    expect(second).toMatchObject({ version: 2, at: '2026-03-01T12:01:00.000Z', who: 'adm_other', changeCount: 15 });
    expect(second!.changes).toHaveLength(10);
    expect(await store.versions(0, { limit: 1, skip: 1 })).toEqual([first]);
    expect(await store.versions(0, { limit: 1, skip: 2 })).toEqual([]);
    await database.pool.query('DELETE FROM audit_log WHERE version = 1');
    expect(await store.versions(0, page)).toEqual([second]);
    await expect(store.readVersion(0, 1)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a change of one resource keeps one row, whatever the size of the configuration', async () => {
    const metrics = Array.from({ length: 50 }, (_, n) => key(`M${n}`));
    await apply({ metrics });
    await apply({ metrics: metrics.map((metric, n) => (n === 7 ? { ...metric, name: 'Seven' } : metric)) });
    const { rows } = await database.pool.query('SELECT count(*)::int AS rows FROM catalog_versions');
    expect(rows).toEqual([{ rows: 1 }]);
  });
});
