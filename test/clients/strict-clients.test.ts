import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startLaurel } from '../laurel.ts';
import { STUDY_APP } from '../study-app.ts';
import { strictDecoder } from './strict-decoder.ts';
import { opened } from '../stack/opened.ts';

/**
 * Clients in languages with strict decoders, over answers with fractions and with values that are newer than the clients.
 */
const LANGUAGES = ['Go', 'Swift', 'Python', 'C#', 'PHP'];
const TOTAL = 12.75;

const laurel = opened(() =>
  startLaurel({
    configuration: {
      ...STUDY_APP,
      achievements: [
        ...STUDY_APP.achievements!,
        { key: 'year', name: 'A year', trigger: 'anniversary', anniversaryYears: 1, status: 'active' },
      ],
      pointsSystems: [
        ...STUDY_APP.pointsSystems!,
        {
          key: 'stars',
          name: 'Stars',
          levels: [{ key: 'first', name: 'First', points: 1 }],
          triggers: [
            { type: 'metric', metricKey: 'flips', metricThreshold: 1, points: 1, status: 'active' },
            { type: 'achievement', pointsSystemKey: 'stars', levelKey: 'first', points: 5, status: 'active' },
          ],
        },
      ],
      streaks: { metrics: [{ metricKey: 'flips', threshold: 2.5 }] },
    },
    workers: true,
  }),
);
beforeAll(async () => {
  await asks('POST', '/v1/metrics/flips/event', {}, { user: { id: 'ada' }, value: TOTAL });
});
beforeEach(async () => {
  await laurel.admin.patch('/v1/organisation', { boardValues: 'byClient' });
});

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
type Body = any;

async function asks(method: string, path: string, headers: Record<string, string>, sent?: object): Promise<Body> {
  const base = path.startsWith('/v1/streaks/settings') ? laurel.adminUrl : laurel.appUrl;
  const response = await fetch(base + path, {
    method,
    headers: { 'X-API-KEY': laurel.adminKey, 'Content-Type': 'application/json', ...headers },
    ...(sent !== undefined && { body: JSON.stringify(sent) }),
  });
  expect([path, response.ok]).toEqual([path, true]);
  return response.json();
}

const schema = (name: string, surface = 'application'): string => `${surface}.json#/components/schemas/${name}`;

/**
 * Everything that contains a leaderboard value or a trigger: the path, the contract's schema, and whether the answer is a
 * list.
 */
const READS: [path: string, schema: string, list?: boolean][] = [
  ['/v1/leaderboards/flips', schema('LeaderboardResponseWithRankings')],
  ['/v1/users/ada/leaderboards/flips', schema('UserLeaderboardResponseWithHistory')],
  ['/v1/users/ada/wrapped', schema('WrappedResponse')],
  ['/v1/users/ada/metrics', schema('MetricResponse'), true],
  ['/v1/users/ada/metrics/flips', schema('MetricResponse')],
  ['/v1/achievements', schema('AchievementWithStatsResponse'), true],
  ['/v1/points/stars', schema('PointsSystemResponse')],
  ['/v1/users/ada/points/stars?awards=10', schema('GetUserPointsResponse')],
  ['/v1/users/ada/achievements?includeIncomplete=true', schema('UserAchievementWithStatsResponse'), true],
];

const decodeAs = (version: '1.21.1' | '1.26.0') => {
  const decode = strictDecoder(version);
  return (body: Body, name: string, list = false): void => {
    for (const one of list ? body : [body]) decode(name, one);
  };
};

/** The Go client sends its version and no language. */
const named = (language: string): Record<string, string> => (language === 'Go' ? {} : { 'X-Fern-Language': language });

describe.each(LANGUAGES)('%s', (language) => {
  test.each(['1.21.1', '1.26.0'] as const)('of version %s decodes every answer', async (version) => {
    const headers = { ...named(language), 'X-SDK-VERSION': version };
    const decode = decodeAs(version);
    for (const [path, name, list] of READS) {
      const answered = await asks('GET', path, headers);
      expect(() => decode(answered, name, list)).not.toThrow();
    }
    const answered = await asks('POST', '/v1/metrics/flips/event', headers, { user: { id: 'ada' }, value: 0.25 });
    expect(() => decode(answered, schema('EventResponse'))).not.toThrow();
    await asks('POST', '/v1/metrics/flips/event', headers, { user: { id: 'ada' }, value: -0.25 });
    const settings = await asks('GET', '/v1/streaks/settings', headers);
    expect(() => decode(settings, schema('StreakSettings', 'newer'))).not.toThrow();
  });
});

test('rounds leaderboard values down, and keeps totals of metrics', async () => {
  const headers = { 'X-Fern-Language': 'Go' };
  const board = await asks('GET', '/v1/leaderboards/flips', headers);
  expect(board.rankings[0].value).toBe(12);
  expect((await asks('GET', '/v1/users/ada/leaderboards/flips', headers)).value).toBe(12);
  expect((await asks('GET', '/v1/users/ada/metrics/flips', headers)).current).toBe(TOTAL);
});

const valueFor = async (headers: Record<string, string>): Promise<number> =>
  (await asks('GET', '/v1/leaderboards/flips', headers)).rankings[0].value;

test.each([
  ['byClient', {}, TOTAL],
  ['byClient', { 'X-Fern-Language': 'JavaScript' }, TOTAL],
  ['byClient', { 'X-Fern-Language': 'JavaScript', 'X-SDK-VERSION': '1.26.0' }, TOTAL],
  ['byClient', { 'X-Fern-Language': 'Swift' }, 12],
  ['byClient', { 'X-SDK-VERSION': '1.21.1' }, 12],
  ['byClient', { 'X-SDK-VERSION': '1.27.0' }, 12],
  ['byClient', { 'X-Fern-SDK-Version': '1.0.27' }, 12],
  ['exact', { 'X-SDK-VERSION': '1.21.1' }, TOTAL],
  ['exact', { 'X-Fern-Language': 'Swift' }, TOTAL],
  ['whole', {}, 12],
  ['whole', { 'X-Fern-Language': 'JavaScript' }, 12],
] as const)('with boardValues %s and %j the value is %d', async (boardValues, headers, expected) => {
  await laurel.admin.patch('/v1/organisation', { boardValues });
  expect(await valueFor(headers)).toBe(expected);
});

test.each([
  [{}, 'anniversary'],
  [{ 'X-Fern-Language': 'JavaScript', 'X-SDK-VERSION': '1.26.0' }, 'anniversary'],
  [{ 'X-SDK-VERSION': '2.0.0' }, 'anniversary'],
  [{ 'X-Fern-Language': 'JavaScript', 'X-Fern-SDK-Version': '1.0.42' }, 'api'],
  [{ 'X-Fern-Language': 'JavaScript' }, 'api'],
  [{ 'X-SDK-VERSION': '1.9.0' }, 'api'],
])('a client with %j sees an anniversary with trigger %s', async (headers, trigger) => {
  const achievements = await asks('GET', '/v1/achievements', headers);
  expect(achievements.find(({ key }: Body) => key === 'year')).toMatchObject({ trigger, anniversaryYears: 1 });
});

/**
 * The requests of clients of 1.0, with the fields that must have a value and the dates that they read without a null check.
 */
const FIRST_CLIENTS = [
  { 'X-Fern-Language': 'JavaScript' },
  { 'X-Fern-Language': 'PHP', 'X-Fern-SDK-Name': 'Trophy', 'X-Fern-SDK-Version': '1.0.27' },
];

test.each(FIRST_CLIENTS)('a client of 1.0 (%j) gets no null where it refuses one', async (headers) => {
  expect((await asks('GET', '/v1/users/ada', headers)).deviceTokens).toEqual([]);
  const boards = await asks('GET', '/v1/leaderboards', headers);
  expect(boards).toContainEqual(expect.objectContaining({ key: 'flips', runUnit: null, runInterval: 0 }));
  for (const board of boards) expect(board.maxParticipants).toBeTypeOf('number');
  const event = await asks('POST', '/v1/metrics/flips/event', headers, { user: { id: 'eve' }, value: 1 });
  expect(event.leaderboards.flips.runInterval).toBe(0);
  const open = await asks('GET', '/v1/users/ada/achievements?includeIncomplete=true', headers);
  expect(open.length).toBeGreaterThan(0);
  for (const achievement of open) expect(achievement.achievedAt).not.toBeNull();
  expect(await asks('GET', '/v1/streaks?userIds=nobody', headers)).toEqual([
    { userId: 'nobody', streakLength: 0, extended: '' },
  ]);
  await asks('PUT', '/v1/users/idle', headers, { name: 'Idle' });
  expect(await asks('GET', '/v1/users/idle/streak', headers)).not.toHaveProperty('extended');
});

test.each([{}, { 'X-SDK-VERSION': '1.21.1' }, { 'X-Fern-Language': 'JavaScript', 'X-SDK-VERSION': '1.26.0' }])(
  'a client with %j gets null where the contract allows it',
  async (headers) => {
    expect((await asks('GET', '/v1/users/ada', headers)).deviceTokens).toBeNull();
    const boards = await asks('GET', '/v1/leaderboards', headers);
    expect(boards).toContainEqual(expect.objectContaining({ key: 'flips', runInterval: null }));
    expect(await asks('GET', '/v1/streaks?userIds=nobody', headers)).toMatchObject([{ extended: null }]);
  },
);

test('the decoder refuses what strict clients refuse', () => {
  const decode = strictDecoder('1.21.1');
  const ranking = { userId: 'a', userName: null, rank: 1, value: 1 };
  decode(schema('LeaderboardRanking'), ranking);
  expect(() => decode(schema('LeaderboardRanking'), { ...ranking, value: 1.5 })).toThrow('integer');
  expect(() => decode(schema('LeaderboardRanking'), { userId: 'a' })).toThrow('required');
  const achievement = {
    id: 'a',
    name: 'A',
    trigger: 'anniversary',
    description: null,
    badgeUrl: null,
    userAttributes: [],
  };
  expect(() => decode(schema('AchievementResponse'), achievement)).toThrow('allowed values');
  expect(() => strictDecoder('1.26.0')(schema('AchievementResponse'), achievement)).not.toThrow();
});
