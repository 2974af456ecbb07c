import { describe, expect, test } from 'vitest';
import { configure } from '../../src/catalog/configuration/configure.ts';
import { DEMO } from '../../src/catalog/demo.ts';
import { CatalogDraft } from '../../src/catalog/draft.ts';
import { emptyCatalog, type Catalog } from '../../src/domain/catalog.ts';
import type {
  Configuration,
  ConfiguredAchievement,
  ConfiguredBoost,
  ConfiguredLeaderboard,
  ConfiguredTrigger,
} from '../../src/domain/configuration.ts';

const SOME_ID = '00000000-0000-4000-8000-000000000001';

const EMPTY = emptyCatalog(0);

async function draftOf(before: Catalog, document: Configuration): Promise<{ draft: CatalogDraft; problems: string[] }> {
  const draft = new CatalogDraft(before, { nextNo: 100, nowMs: 0 });
  const problems = await configure(draft, document, { today: '2026-03-01' });
  return { draft, problems: problems.map(({ path, text }) => `${path}: ${text}`) };
}

const BASE: Configuration = {
  attributes: [
    { key: 'plan', name: 'Plan', type: 'user' },
    { key: 'deck', name: 'Deck', type: 'event' },
  ],
  metrics: [{ key: 'flips', name: 'Flips' }],
  achievements: [{ key: 'day', name: 'Day', trigger: 'streak', streakLength: 1 }],
  pointsSystems: [{ key: 'xp', name: 'XP' }],
};

const problemsOf = async (document: Configuration): Promise<string[]> =>
  (await draftOf(EMPTY, { ...BASE, ...document })).problems;
const ofAchievement = (more: Partial<ConfiguredAchievement>): Promise<string[]> =>
  problemsOf({ achievements: [...BASE.achievements!, { key: 'a', name: 'A', trigger: 'metric', ...more }] });
const ofTrigger = (more: Partial<ConfiguredTrigger>): Promise<string[]> =>
  problemsOf({ pointsSystems: [{ key: 'xp', name: 'XP', triggers: [{ type: 'metric', points: 1, ...more }] }] });
const ofBoost = (more: Partial<ConfiguredBoost>): Promise<string[]> =>
  problemsOf({
    pointsSystems: [{ key: 'xp', name: 'XP', boosts: [{ name: 'B', start: '2026-01-01', multiplier: 2, ...more }] }],
  });
const ofBoard = (more: Partial<ConfiguredLeaderboard>): Promise<string[]> =>
  problemsOf({ leaderboards: [{ key: 'b', name: 'B', rankBy: 'streak', ...more }] });

test('the demo is valid', async () => {
  expect((await draftOf(EMPTY, DEMO)).problems).toEqual([]);
  expect(await problemsOf({})).toEqual([]);
});

describe('keys and names', () => {
  test.each<[string, Configuration, string[]]>([
    [
      'keys are unique',
      {
        metrics: [
          { key: 'x', name: 'X' },
          { key: 'x', name: 'Y' },
        ],
        pointsSystems: [
          { key: 'xp', name: 'XP' },
          { key: 'XP', name: 'XP' },
        ],
      },
      ["metrics[0].key: another metric has the key 'x'", "metrics[1].key: another metric has the key 'x'"],
    ],
    ['a name is not empty', { metrics: [{ key: 'x', name: ' ' }] }, ['metrics[0].name: must not be empty']],
    [
      'a user and an event attribute may share a key',
      {
        attributes: [
          { key: 'x', name: 'X', type: 'user' },
          { key: 'x', name: 'X', type: 'event' },
        ],
      },
      [],
    ],
    [
      'two attributes of one type may not share a key',
      {
        attributes: [
          { key: 'x', name: 'X', type: 'user' },
          { key: 'x', name: 'Y', type: 'user' },
        ],
      },
      [
        "attributes[0].key: another user attribute has the key 'x'",
        "attributes[1].key: another user attribute has the key 'x'",
      ],
    ],
    [
      'levels of one system differ in key and points',
      {
        pointsSystems: [
          {
            key: 'xp',
            name: 'XP',
            levels: [
              { key: 'l', name: 'L', points: 1 },
              { key: 'm', name: 'M', points: 1 },
            ],
          },
        ],
      },
      [
        'pointsSystems[0].levels[0].points: another level begins at 1 points',
        'pointsSystems[0].levels[1].points: another level begins at 1 points',
      ],
    ],
    [
      'a name that several achievements without a key share is an invalid reference',
      {
        achievements: [
          { name: 'N', trigger: 'streak', streakLength: 1 },
          { name: 'N', trigger: 'streak', streakLength: 2 },
          { name: 'All', trigger: 'achievement', achievementNames: ['N'] },
        ],
      },
      [
        "achievements[2].achievementNames[0]: more than one achievement without a key is called 'N': refer to it by its ID, or give it a key",
      ],
    ],
    [
      'an ID names one achievement of the document',
      {
        achievements: [
          { id: SOME_ID, name: 'N', trigger: 'streak', streakLength: 1 },
          { id: SOME_ID, name: 'N', trigger: 'streak', streakLength: 2 },
          { name: 'All', trigger: 'achievement', achievementIds: ['00000000-0000-4000-8000-000000000009'] },
        ],
      },
      [
        'achievements[1].id: another achievement of the document has this ID',
        "achievements[2].achievementIds[0]: unknown achievement ID '00000000-0000-4000-8000-000000000009'",
      ],
    ],
  ])('%s', async (_name, document, problems) => expect(await problemsOf(document)).toEqual(problems));

  test('the type of an attribute cannot change', async () => {
    const { catalog } = (await draftOf(EMPTY, BASE)).draft;
    const attributes = [{ key: 'plan', name: 'Plan', type: 'event' as const }];
    expect((await draftOf(catalog, { attributes })).problems).toEqual([
      "attributes[0].type: 'plan' is a user attribute, and the type of an attribute cannot be changed: delete it first",
    ]);
    expect((await draftOf(catalog, { attributes: [...BASE.attributes!, ...attributes] })).problems).toEqual([]);
  });
});

describe('achievements', () => {
  const metric = { metricKey: 'flips', metricValue: 1 };
  test.each<[Partial<ConfiguredAchievement>, string[]]>([
    [metric, []],
    [{ ...metric, metricValue: 0.5 }, []],
    [{}, ["metricKey: required for trigger 'metric'", "metricValue: required for trigger 'metric'"]],
    [{ ...metric, metricKey: 'x' }, ["metricKey: unknown metric 'x'"]],
    [{ ...metric, metricValue: 0 }, ['metricValue: must be greater than 0']],
    [{ ...metric, metricValue: 0.000_000_1 }, ['metricValue: must have at most 6 decimals']],
    [{ ...metric, streakLength: 1 }, ["streakLength: only for trigger 'streak'"]],
    [
      { ...metric, userAttributes: [{ key: 'plan', value: 'pro' }], eventAttributes: [{ key: 'deck', value: 'x' }] },
      [],
    ],
    [
      { ...metric, userAttributes: [{ key: 'deck', value: 'x' }] },
      ["userAttributes[0].key: unknown user attribute 'deck' (it is an event attribute)"],
    ],
    [
      { ...metric, eventAttributes: [{ key: 'plan', value: 'x' }] },
      ["eventAttributes[0].key: unknown event attribute 'plan' (it is a user attribute)"],
    ],
    [
      {
        ...metric,
        userAttributes: [
          { key: 'plan', value: 'a' },
          { key: 'plan', value: 'b' },
        ],
      },
      ["userAttributes[1].key: 'plan' is named twice"],
    ],
    [{ trigger: 'streak' }, ["streakLength: required for trigger 'streak'"]],
    [{ trigger: 'anniversary' }, ["anniversaryYears: required for trigger 'anniversary'"]],
    [{ trigger: 'anniversary', anniversaryYears: 0 }, ['anniversaryYears: must be at least 1']],
    [{ ...metric, anniversaryYears: 1 }, ["anniversaryYears: only for trigger 'anniversary'"]],
    [{ trigger: 'streak', streakLength: 0 }, ['streakLength: must be at least 1']],
    [
      { trigger: 'streak', streakLength: 1, eventAttributes: [{ key: 'deck', value: 'x' }] },
      ["eventAttributes: only for trigger 'metric'"],
    ],
    [{ trigger: 'api' }, []],
    [{ trigger: 'achievement' }, ["achievementKeys: required for trigger 'achievement'"]],
    [{ trigger: 'achievement', achievementKeys: ['day'] }, []],
    [{ trigger: 'achievement', achievementKeys: ['day', 'x'] }, ["achievementKeys[1]: unknown achievement 'x'"]],
    [
      { trigger: 'achievement', achievementNames: ['Day'] },
      ["achievementNames[0]: unknown achievement without a key 'Day'"],
    ],
    [{ trigger: 'achievement', achievementKeys: ['day', 'day'] }, ['achievementKeys[1]: named twice']],
    [{ trigger: 'achievement', achievementKeys: ['a'] }, ['achievementKeys: form a cycle: a → a']],
  ])('%j', async (more, problems) =>
    expect(await ofAchievement(more)).toEqual(problems.map((problem) => `achievements[1].${problem}`)),
  );

  test('an achievement that is completed by call needs a key', async () => {
    expect(await problemsOf({ achievements: [{ name: 'Tour', trigger: 'api' }] })).toEqual([
      "achievements[0].key: required for trigger 'api'",
    ]);
  });

  test('reports a circle once per achievement, with every step', async () => {
    const composite = (key: string, ...achievementKeys: string[]): ConfiguredAchievement => ({
      key,
      name: key,
      trigger: 'achievement',
      achievementKeys,
    });
    expect(
      await problemsOf({
        achievements: [
          composite('a', 'b'),
          composite('b', 'c', 'd'),
          composite('c', 'a'),
          composite('d', 'e'),
          { key: 'e', name: 'e', trigger: 'api' },
        ],
      }),
    ).toEqual([
      'achievements[0].achievementKeys: form a cycle: a → b → c → a',
      'achievements[1].achievementKeys: form a cycle: b → c → a → b',
      'achievements[2].achievementKeys: form a cycle: c → a → b → c',
    ]);
  });
});

describe('points', () => {
  const metric = { metricKey: 'flips', metricThreshold: 1 };
  test.each<[Partial<ConfiguredTrigger>, string[]]>([
    [metric, []],
    [{ ...metric, points: -5, blockIfOutOfPoints: true }, []],
    [{}, ["metricKey: required for type 'metric'", "metricThreshold: required for type 'metric'"]],
    [{ ...metric, metricThreshold: 0 }, ['metricThreshold: must be at least 1']],
    [{ ...metric, points: 1.5 }, ['points: must be a whole number']],
    [{ ...metric, timeUnit: 'days' }, ["timeUnit: only for type 'time'"]],
    [{ type: 'achievement' }, ["achievementKey: required for type 'achievement'"]],
    [{ type: 'achievement', achievementKey: 'x' }, ["achievementKey: unknown achievement 'x'"]],
    [{ type: 'achievement', achievementName: 'x' }, ["achievementName: unknown achievement without a key 'x'"]],
    [{ type: 'achievement', achievementKey: 'day' }, []],
    [{ type: 'achievement', pointsSystemKey: 'xp' }, []],
    [{ type: 'achievement', pointsSystemKey: 'xp', levelKey: 'x' }, ["levelKey: the points system has no level 'x'"]],
    [
      { type: 'achievement', pointsSystemKey: 'x' },
      ["pointsSystemKey: unknown points system 'x'", "achievementKey: required for type 'achievement'"],
    ],
    [
      { type: 'achievement', achievementKey: 'day', pointsSystemKey: 'xp' },
      ['pointsSystemKey: only for triggers without an achievement'],
    ],
    [{ type: 'achievement', achievementKey: 'day', levelKey: 'x' }, ['levelKey: only for triggers for levels']],
    [{ type: 'user_creation', pointsSystemKey: 'xp' }, ["pointsSystemKey: only for type 'achievement'"]],
    [{ type: 'streak' }, ["streakLength: required for type 'streak'"]],
    [
      { type: 'streak', streakLength: 2, ...metric },
      ["metricKey: only for type 'metric'", "metricThreshold: only for type 'metric'"],
    ],
    [{ type: 'time', timeUnit: 'hours' }, ["timeInterval: required for type 'time'"]],
    [{ type: 'time', timeUnit: 'hours', timeInterval: 6 }, []],
    [{ type: 'user_creation' }, []],
    [
      { type: 'user_creation', eventAttributes: [{ key: 'deck', value: 'x' }] },
      ["eventAttributes: only for type 'metric'"],
    ],
  ])('a trigger %j', async (more, problems) =>
    expect(await ofTrigger(more)).toEqual(problems.map((problem) => `pointsSystems[0].triggers[0].${problem}`)),
  );

  test.each<[Partial<ConfiguredBoost>, string[]]>([
    [{ end: '2026-01-01', userId: 'ada' }, []],
    [{ multiplier: 0 }, ['multiplier: must be greater than 0 and less than 100']],
    [{ multiplier: 100 }, ['multiplier: must be greater than 0 and less than 100']],
    [{ multiplier: 0.5 }, []],
    [{ end: '2025-12-31' }, ['end: must not be before start']],
    [{ start: '2026-02-30' }, ['start: must be a date (YYYY-MM-DD)']],
    [{ userAttributes: [{ key: 'x', value: '' }] }, ["userAttributes[0].key: unknown user attribute 'x'"]],
  ])('a boost %j', async (more, problems) =>
    expect(await ofBoost(more)).toEqual(problems.map((problem) => `pointsSystems[0].boosts[0].${problem}`)),
  );

  test('the maximum points of a system are at least 1', async () => {
    expect(await problemsOf({ pointsSystems: [{ key: 'xp', name: 'XP', maxPoints: 0 }] })).toEqual([
      'pointsSystems[0].maxPoints: must be at least 1',
    ]);
  });
});

test.each<[Partial<ConfiguredLeaderboard>, string[]]>([
  [{}, []],
  [{ maxParticipants: null, start: '2026-01-31', end: '2026-01-31', startTime: '22:00', endTime: '02:00' }, []],
  [{ rankBy: 'metric' }, ["metricKey: required for rankBy 'metric'"]],
  [{ rankBy: 'metric', metricKey: 'x' }, ["metricKey: unknown metric 'x'"]],
  [
    { rankBy: 'points', metricKey: 'flips' },
    ["metricKey: only for rankBy 'metric'", "pointsSystemKey: required for rankBy 'points'"],
  ],
  [{ rankBy: 'points', pointsSystemKey: 'xp', runUnit: 'month' }, []],
  [{ runUnit: 'day' }, ["runUnit: not for rankBy 'streak': such a board is perpetual"]],
  [{ runInterval: 7 }, ['runInterval: only for boards with a runUnit']],
  [{ rankBy: 'points', pointsSystemKey: 'xp', runUnit: 'day', runInterval: 0 }, ['runInterval: must be at least 1']],
  [{ rankBy: 'points', pointsSystemKey: 'xp', runUnit: 'week', runInterval: 1_428 }, []],
  [
    { rankBy: 'points', pointsSystemKey: 'xp', runUnit: 'week', runInterval: 1_429 },
    ['runInterval: must be at most 10000 days, which are 1428 weeks'],
  ],
  [
    { rankBy: 'points', pointsSystemKey: 'xp', runUnit: 'month', runInterval: 10_001 },
    ['runInterval: must be at most 10000'],
  ],
  [{ maxParticipants: 1_001 }, ['maxParticipants: must be at most 1000']],
  [{ start: '2026-01-02', end: '2026-01-01' }, ['end: must not be before start']],
  [{ startTime: '08:00', endTime: '08:00' }, ['endTime: must differ from startTime']],
  [{ breakdownAttributes: ['plan'] }, []],
  [{ breakdownAttributes: ['plan', 'plan'] }, ["breakdownAttributes[1]: 'plan' is named twice"]],
  [
    { breakdownAttributes: ['deck'] },
    ["breakdownAttributes[0]: unknown user attribute 'deck' (it is an event attribute)"],
  ],
])('a leaderboard %j', async (more, problems) =>
  expect(await ofBoard(more)).toEqual(problems.map((problem) => `leaderboards[0].${problem}`)),
);

test.each<[NonNullable<Configuration['streaks']>, string[]]>([
  [
    {
      metrics: [{ metricKey: 'flips', threshold: 0.5 }],
      freezes: { initial: 2, max: 100, autoEarnInterval: 7, autoEarnAmount: 1 },
    },
    [],
  ],
  [{ metrics: [{ metricKey: 'x', threshold: 1 }] }, ["metrics[0].metricKey: unknown metric 'x'"]],
  [{ metrics: [{ metricKey: 'flips', threshold: 0 }] }, ['metrics[0].threshold: must be greater than 0']],
  [
    {
      metrics: [
        { metricKey: 'flips', threshold: 1 },
        { metricKey: 'flips', threshold: 2 },
      ],
    },
    ['metrics[1].metricKey: named twice'],
  ],
  [{ daysOff: [0, 6] }, []],
  [{ frequency: 'weekly', daysOff: [0] }, ["daysOff: only for frequency 'daily'"]],
  [{ freezes: { max: 101 } }, ['freezes.max: must be at most 100']],
  [{ freezes: { initial: 2, max: 1 } }, ['freezes.initial: must not be above freezes.max']],
  [{ freezes: { autoEarnInterval: 7 } }, ['freezes.autoEarnAmount: autoEarnInterval and autoEarnAmount go together']],
])('streak settings %j', async (streaks, problems) =>
  expect(await problemsOf({ streaks })).toEqual(problems.map((problem) => `streaks.${problem}`)),
);

test('reports every error, references first', async () => {
  expect(await problemsOf({ achievements: [{ key: 'a', name: '', trigger: 'metric', metricKey: 'x' }] })).toEqual([
    "achievements[0].metricKey: unknown metric 'x'",
    'achievements[0].name: must not be empty',
    "achievements[0].metricValue: required for trigger 'metric'",
  ]);
});
