import { describe, expect, test } from 'vitest';
import { configure } from '../../src/catalog/configuration/configure.ts';
import { exportConfiguration } from '../../src/catalog/configuration/export.ts';
import { CatalogDraft } from '../../src/catalog/draft.ts';
import { emptyCatalog, type Catalog } from '../../src/domain/catalog.ts';
import type { Configuration, ConfiguredAchievement, ConfiguredLeaderboard } from '../../src/domain/configuration.ts';
import { dateOf, DAY_MS, dayOf } from '../../src/domain/periods.ts';

// The rules about changes apply to a document as they do to the operations.
const EMPTY = emptyCatalog(0);

async function apply(
  before: Catalog,
  document: Configuration,
  date: string,
): Promise<{ catalog: Catalog; problems: string[] }> {
  const draft = new CatalogDraft(before, { nextNo: 100, nowMs: dayOf(date) * DAY_MS });
  const problems = await configure(draft, document, { today: date });
  return { catalog: draft.catalog, problems: problems.map(({ path, text }) => `${path}: ${text}`) };
}

const BASE: Configuration = {
  attributes: [{ key: 'plan', name: 'Plan', type: 'user' }],
  metrics: [
    { key: 'flips', name: 'Flips' },
    { key: 'minutes', name: 'Minutes' },
  ],
  pointsSystems: [{ key: 'xp', name: 'XP' }],
};

/** Errors of `next` applied after `first`, which was applied on 2026-03-01. */
async function problemsOf(first: Configuration, next: Configuration, date = '2026-03-02'): Promise<string[]> {
  const before = await apply(EMPTY, { ...BASE, ...first }, '2026-03-01');
  expect(before.problems).toEqual([]);
  return (await apply(before.catalog, next, date)).problems;
}

describe('an achievement', () => {
  const streak: ConfiguredAchievement = { key: 'a', name: 'A', trigger: 'streak', streakLength: 1, status: 'active' };
  const ofChange = (first: Partial<ConfiguredAchievement>, next: ConfiguredAchievement): Promise<string[]> =>
    problemsOf({ achievements: [{ ...streak, ...first }] }, { achievements: [next] });
  const api: ConfiguredAchievement = { key: 'a', name: 'A', trigger: 'api', status: 'active' };

  test('changes its trigger only while it is inactive', async () => {
    const refused = [
      "achievements[0].trigger: can be changed only while the achievement is inactive: set status 'inactive' first",
    ];
    expect(await ofChange({}, api)).toEqual(refused);
    expect(await ofChange({ status: 'locked' }, api)).toEqual(refused);
    expect(await ofChange({ status: 'inactive' }, api)).toEqual([]);
    expect(await ofChange({}, { ...api, status: 'inactive' })).toEqual([]);
  });

  test('keeps its key', async () => {
    const keyless: ConfiguredAchievement = { name: 'A', trigger: 'streak', streakLength: 1, status: 'active' };
    expect(await ofChange({}, keyless)).toEqual(["achievements[0].key: cannot be changed: it is 'a'"]);
  });
});

describe('a leaderboard', () => {
  const board: ConfiguredLeaderboard = {
    key: 'b',
    name: 'B',
    rankBy: 'metric',
    metricKey: 'flips',
    start: '2026-03-01',
    status: 'active',
  };
  const ofChange = (
    first: Partial<ConfiguredLeaderboard>,
    next: Partial<ConfiguredLeaderboard>,
    date?: string,
  ): Promise<string[]> =>
    problemsOf({ leaderboards: [{ ...board, ...first }] }, { leaderboards: [{ ...board, ...first, ...next }] }, date);
  const first = "can be changed only while the leaderboard is inactive: set status 'inactive' first";

  test.each<[Partial<ConfiguredLeaderboard>, string[]]>([
    [{ metricKey: 'minutes' }, ['metricKey']],
    [{ rankBy: 'points', metricKey: undefined!, pointsSystemKey: 'xp' }, ['rankBy', 'metricKey', 'pointsSystemKey']],
    [{ start: '2026-02-01' }, ['start']],
    [{ startTime: '08:00', endTime: '09:00' }, ['startTime', 'endTime']],
    [{ breakdownAttributes: ['plan'] }, ['breakdownAttributes']],
    [{ runUnit: 'month' }, ['runUnit', 'runInterval']],
  ])('%j needs an inactive leaderboard', async (change, fields) => {
    expect(await ofChange({}, change)).toEqual(fields.map((field) => `leaderboards[0].${field}: ${first}`));
    expect(await ofChange({ status: 'inactive' }, change)).toEqual([]);
    expect(await ofChange({}, { ...change, status: 'inactive' })).toEqual([]);
  });

  test('may be renamed, extended and limited while it runs', async () => {
    expect(await ofChange({}, { name: 'C', description: 'd', end: '2026-12-01', maxParticipants: 5 })).toEqual([]);
  });

  test('a finished one stays finished, however it ended, and stays in the document unedited', async () => {
    const again = (status: string): string[] => [
      `leaderboards[0].status: cannot become '${status}': the leaderboard is finished; create another one`,
    ];
    expect(await ofChange({ status: 'finished' }, { status: 'active' })).toEqual(again('active'));
    expect(await ofChange({ status: 'finished' }, { status: 'inactive' })).toEqual(again('inactive'));
    const ended = { end: '2026-03-05' };
    expect(await ofChange(ended, { status: 'inactive' }, '2026-03-05')).toEqual([]);
    expect(await ofChange(ended, { status: 'inactive' }, '2026-03-06')).toEqual(again('inactive'));
    expect(await ofChange(ended, { end: '2026-04-01' }, '2026-03-06')).toEqual([
      'leaderboards[0].end: cannot be changed: the leaderboard is finished',
    ]);
    expect(await ofChange(ended, { metricKey: 'minutes' }, '2026-03-06')).toEqual([
      'leaderboards[0].metricKey: can be changed only while the leaderboard is inactive: it is finished',
    ]);
    expect(await ofChange(ended, {}, '2026-03-06')).toEqual([]);
    expect(await ofChange(ended, { status: 'finished', name: 'Over' }, '2026-03-06')).toEqual([]);
  });
});

test('reports an omitted resource that a kept one references, with the referencing resources', async () => {
  const first: Configuration = {
    achievements: [
      { key: 'a', name: 'A', trigger: 'metric', metricKey: 'flips', metricValue: 1 },
      { name: 'Quiet', trigger: 'achievement', achievementKeys: ['a'] },
    ],
    pointsSystems: [
      {
        key: 'xp',
        name: 'XP',
        triggers: [{ type: 'metric', points: 1, metricKey: 'flips', metricThreshold: 1 }],
        boosts: [{ name: 'Pro', start: '2026-01-01', multiplier: 2, userAttributes: [{ key: 'plan', value: 'pro' }] }],
      },
    ],
    leaderboards: [
      { key: 'f', name: 'F', rankBy: 'metric', metricKey: 'flips' },
      { key: 'x', name: 'X', rankBy: 'points', pointsSystemKey: 'xp', breakdownAttributes: ['plan'] },
    ],
    streaks: { metrics: [{ metricKey: 'flips', threshold: 1 }] },
  };
  const leavesOut = (noun: string, key: string, who: string): string =>
    `unknown ${noun} '${key}': the document leaves it out, but ${who} refers to it`;
  expect(await problemsOf(first, { metrics: [{ key: 'minutes', name: 'Minutes' }] })).toEqual([
    `achievements[0].metricKey: ${leavesOut('metric', 'flips', "achievement 'a'")}`,
    `pointsSystems[0].triggers[0].metricKey: ${leavesOut('metric', 'flips', "metric trigger of points system 'xp'")}`,
    `leaderboards[0].metricKey: ${leavesOut('metric', 'flips', "leaderboard 'f'")}`,
    `streaks.metrics[0].metricKey: ${leavesOut('metric', 'flips', 'the streak settings')}`,
  ]);
  expect(await problemsOf(first, { attributes: [] })).toEqual([
    `pointsSystems[0].boosts[0].userAttributes[0].key: ${leavesOut('user attribute', 'plan', "boost 'Pro' of points system 'xp'")}`,
    `leaderboards[1].breakdownAttributes[0]: ${leavesOut('user attribute', 'plan', "leaderboard 'x'")}`,
  ]);
  expect(await problemsOf(first, { pointsSystems: [] })).toEqual([
    `leaderboards[1].pointsSystemKey: ${leavesOut('points system', 'xp', "leaderboard 'x'")}`,
  ]);
  expect(await problemsOf(first, { achievements: [first.achievements![1]!] })).toEqual([
    `achievements[0].achievementKeys[0]: ${leavesOut('achievement', 'a', "achievement 'Quiet'")}`,
  ]);
});

test('an achievement is named by key or by name, not by both', async () => {
  const first: Configuration = {
    achievements: [
      { key: 'a', name: 'A', trigger: 'api' },
      { name: 'Quiet', trigger: 'streak', streakLength: 1 },
    ],
  };
  const trigger = { type: 'achievement' as const, points: 1, achievementKey: 'a', achievementName: 'Quiet' };
  expect(await problemsOf(first, { pointsSystems: [{ key: 'xp', name: 'XP', triggers: [trigger] }] })).toEqual([
    'pointsSystems[0].triggers[0].achievementName: only where achievementKey is not given',
  ]);
});

test("times of day that differ only in their seconds' notation are equal", async () => {
  const board: ConfiguredLeaderboard = {
    key: 'b',
    name: 'B',
    rankBy: 'streak',
    startTime: '08:00',
    endTime: '08:00:00',
  };
  expect(await problemsOf({}, { leaderboards: [board] })).toEqual([
    'leaderboards[0].endTime: must differ from startTime',
  ]);
});

test('a finished leaderboard does not block a document that was exported while it ran', async () => {
  const { catalog } = await apply(
    EMPTY,
    { leaderboards: [{ key: 'b', name: 'B', rankBy: 'streak', status: 'active', end: '2026-03-05' }] },
    '2026-03-01',
  );
  expect(await apply(catalog, await exportConfiguration(catalog), dateOf(dayOf('2027-01-01')))).toMatchObject({
    problems: [],
  });
});
