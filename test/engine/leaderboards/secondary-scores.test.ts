import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { secondaryOf, secondaryScore } from '../../../src/domain/secondary-score.ts';
import { startLaurel } from '../../laurel.ts';
import { BoardsByTheClock } from './boards-by-the-clock.ts';
import { differencesIn } from '../../differences.ts';

// On a busy machine an event that waits for a server leaves its leaderboards out after 500 ms. Here it waits almost until the connection
// counts as gone.
vi.mock('../../../src/redis/outage.ts', async (original) => ({ ...(await original<object>()), SILENT_MS: 2_900 }));

const BOARD = {
  key: 'board',
  name: 'Levels',
  status: 'active',
  rankBy: 'metric',
  metricKey: 'm',
  aggregate: 'max',
  ties: 'first',
  secondaryAttributeKey: 'moves',
  keepsMetadata: true,
  start: '2031-03-01',
  runUnit: 'day',
  runInterval: 2,
} as const;
const ATTRIBUTES: Configuration['attributes'] = [
  { key: 'land', name: 'Land', type: 'user' },
  { key: 'moves', name: 'Moves', type: 'event' },
];

test('rank numbers are in the order of the numbers, and give them back', () => {
  const numbers = [-4e9, -12.5, -0.000001, 0, 0.1, 31, 123456789.012345, 4e9];
  for (const order of ['ascending', 'descending'] as const) {
    const ranks = numbers.map((number) => {
      const text = number.toFixed(6);
      return secondaryOf(JSON.stringify({ moves: text }), { key: 'moves', order });
    });
    expect(ranks.toSorted((a, b) => (order === 'ascending' ? b - a : a - b))).toEqual(ranks);
    expect(ranks.every((rank) => Number.isSafeInteger(rank) && rank > 0)).toBe(true);
    expect(ranks.map((rank) => secondaryScore(rank, order))).toEqual(numbers);
  }
  for (const text of ['', 'many', ' 1', '1e3', '4000000000.000001', '0.1234567', '١', '-', '12345678901'])
    expect([text, secondaryOf(JSON.stringify({ moves: text }), { key: 'moves', order: 'ascending' })]).toEqual([
      text,
      0,
    ]);
  expect(secondaryOf('', { key: 'moves', order: 'ascending' })).toBe(0);
  expect(secondaryOf('{}', { key: 'toString', order: 'ascending' })).toBe(0);
});

test('only leaderboards of single events that rank equal scores by time can have a secondary score', async () => {
  const laurel = await startLaurel({
    configuration: { attributes: ATTRIBUTES, metrics: [{ key: 'm', name: 'M' }], leaderboards: [BOARD] },
  });
  try {
    const { admin } = laurel;
    const refused = async (fields: object): Promise<string> => {
      const leaderboards = [{ ...BOARD, ...fields }];
      const { status, body } = await admin.put('/v1/configuration', {
        attributes: ATTRIBUTES,
        metrics: [{ key: 'm', name: 'M' }],
        leaderboards,
      });
      expect(status).toBe(422);
      return JSON.stringify(body);
    };
    expect(await refused({ aggregate: 'sum' })).toContain("only with an aggregate of 'max', 'min' or 'last'");
    expect(await refused({ ties: 'shared' })).toContain("boards with ties 'first'");
    expect(await refused({ secondaryAttributeKey: 'land' })).toContain("unknown event attribute 'land'");
    expect(await refused({ secondaryAttributeKey: undefined, secondaryOrder: 'descending' })).toContain(
      'boards with a secondaryAttributeId',
    );
    const { body: attributes } = await admin.get('/v1/attributes');
    const { id } = attributes.find(({ key }: { key: string }) => key === 'moves');
    const { body } = await admin.delete(`/v1/attributes?ids=${id}`);
    expect(JSON.stringify(body.issues)).toContain('board');
  } finally {
    await laurel.close();
  }
});

describe.each([
  ['a tenant on one shard', 1],
  ['a tenant spread over four shards', 4],
])('%s', (_, spread) => {
  let boards: BoardsByTheClock;
  beforeAll(async () => {
    const copies = [
      { ...BOARD, key: 'most', secondaryOrder: 'descending' as const },
      { ...BOARD, key: 'lands', breakdownAttributes: ['land'] },
      { ...BOARD, key: 'later', status: 'inactive' as const, maxParticipants: 3 },
    ];
    boards = await BoardsByTheClock.start(
      '2031-03-01T10:00:00Z',
      [BOARD, ...copies],
      { attributes: ATTRIBUTES },
      { spread },
    );
  });
  afterAll(() => boards.laurel.close());

  async function send(user: string, value: number, moves: string | null, land = 'fr') {
    const sent = {
      user: { id: user, attributes: { land } },
      value,
      metadata: { by: user },
      ...(moves !== null && { attributes: { moves } }),
    };
    const { status, body } = await boards.laurel.app.post('/v1/metrics/m/event', sent);
    expect([status, body.error]).toEqual([201, undefined]);
    return body;
  }

  /** `rank user secondaryScore` of each place; checks that each shows its own metadata. */
  async function places(key: string, query = 'run=2031-03-01'): Promise<string[]> {
    const { status, body } = await boards.laurel.app.get(`/v1/leaderboards/${key}?${query}`);
    expect([status, body.error]).toEqual([200, undefined]);
    return body.rankings.map((each: { rank: number; userId: string; secondaryScore?: number; metadata?: unknown }) => {
      if (each.userId !== 'into') expect(each.metadata).toEqual({ by: each.userId });
      return `${each.rank} ${each.userId} ${each.secondaryScore ?? '-'}`;
    });
  }

  const among = async (key: string, userIds: string[]): Promise<string[]> => {
    const { body } = await boards.laurel.app.post(`/v1/leaderboards/${key}/rankings`, { userIds, run: '2031-03-01' });
    return body.rankings.map(({ rank, userId }: { rank: number; userId: string }) => `${rank} ${userId}`);
  };

  test('an event answers with its rank; pages, friends, groups and places agree, with metadata, on each part', async () => {
    for (const [user, moves] of [
      ['a', '31'],
      ['b', '12'],
      ['c', null],
      ['d', '31'],
      ['e', 'many'],
      ['f', '-0.25'],
      ['g', '200'],
    ] as const)
      await send(user, 5, moves);
    expect((await send('h', 4, '1')).leaderboards.board).toMatchObject({ rank: 8, previousRank: null });
    // An equal score with more moves changes nothing, one with fewer moves moves the user.
    const worse = await send('g', 5, '300');
    expect([worse.leaderboards.board, worse.leaderboards.most.rank]).toEqual([undefined, 1]);
    expect((await send('g', 5, '20')).leaderboards.board).toMatchObject({ rank: 3, previousRank: 5 });
    const order = ['1 f -0.25', '2 b 12', '3 g 20', '4 a 31', '5 d 31', '6 c -', '7 e -', '8 h 1'];
    expect(await places('board')).toEqual(order);
    expect(await places('lands', 'run=2031-03-01&userAttributes=land:fr')).toEqual(order);
    expect(await places('board', 'run=2031-03-01&userId=a&offset=-1&limit=3')).toEqual(order.slice(2, 5));
    expect(await places('most')).toEqual([
      '1 g 300',
      '2 a 31',
      '3 d 31',
      '4 b 12',
      '5 f -0.25',
      '6 c -',
      '7 e -',
      '8 h 1',
    ]);
    expect(await among('board', ['h', 'c', 'd', 'b'])).toEqual(['1 b', '2 d', '3 c', '4 h']);
    const own = await boards.laurel.app.get('/v1/users/d/leaderboards/board');
    expect(own.body).toMatchObject({ rank: 5, value: 5, secondaryScore: 31, participants: 8, percentile: 50 });
    const none = await boards.laurel.app.get('/v1/users/c/leaderboards/board');
    expect(none.body).toMatchObject({ rank: 6, secondaryScore: null });
    for (const hidden of [true, false]) {
      expect((await boards.laurel.admin.patch('/v1/users/b', { hidden })).status).toBe(200);
      expect((await places('board')).length).toBe(hidden ? 7 : 8);
    }
    expect(await places('board')).toEqual(order);
  });

  test('deletions, final runs, exports and runs filled from history keep the order; nothing is left in Redis', async () => {
    const { admin, redis, pool } = boards.laurel;
    expect((await admin.delete('/v1/users?ids=h')).body).toMatchObject({ issues: [] });
    await boards.store();
    expect(await differencesIn({ redis, pool })).toEqual([]);
    const before = { board: await places('board'), most: await places('most') };
    await boards.at('2031-03-03T12:02:00Z');
    await boards.due();
    expect(await boards.sets()).toEqual([]);
    expect({ board: await places('board'), most: await places('most') }).toEqual(before);
    expect(await among('board', ['e', 'g', 'd', 'a'])).toEqual(['1 g', '2 a', '3 d', '4 e']);
    const { body: own } = await boards.laurel.app.get('/v1/users/d/leaderboards/board?run=2031-03-01');
    expect(own).toMatchObject({ rank: 5, secondaryScore: 31 });
    const { body: exported } = await admin.get('/v1/users/g/export');
    expect(exported.finalRanks).toContainEqual(
      expect.objectContaining({ leaderboard: 'board', rank: 3, secondaryScore: 20 }),
    );
    await boards.change('later', { status: 'active' });
    await boards.fill();
    const { body } = await boards.laurel.app.get('/v1/leaderboards/later?run=2031-03-01');
    expect(
      body.rankings.map(({ rank, userId, secondaryScore: moves }: Record<string, unknown>) => [rank, userId, moves]),
    ).toEqual([
      [1, 'f', -0.25],
      [2, 'b', 12],
      [3, 'g', 20],
    ]);
  });

  test('a merged user has the better secondary score of two equal scores', async () => {
    // Two users on different parts cannot be merged.
    if (spread > 1) return;
    const { admin } = boards.laurel;
    await send('into', 5, '40');
    await send('from', 5, '7');
    await send('other', 5, '9');
    const run = 'run=2031-03-03';
    expect(await places('board', run)).toEqual(['1 from 7', '2 other 9', '3 into 40']);
    await boards.store();
    const merged = admin.post('/v1/users/merge', { from: 'from', into: 'into', acrossControlGroup: true });
    await boards.store();
    expect((await merged).status).toBeLessThan(300);
    expect(await places('board', run)).toEqual(['1 into 7', '2 other 9']);
  });

  test('an equal score below the last rank has no previous rank, although the last rank was lower when an event was answered', async () => {
    await boards.at('2031-03-05T10:00:00Z');
    for (const [user, value] of [
      ['p', 5],
      ['q', 5],
      ['r', 1],
      ['s', 1],
    ] as const)
      await send(user, value, '9');
    const { eventId } = await send('r', 4, '9');
    const reverse = async (id: string): Promise<string> => {
      await boards.store();
      const { body } = await boards.laurel.admin.post('/v1/events/reverse', { eventIds: [id] });
      expect(body).toMatchObject({ issues: [] });
      return body.reversals[0].reversalId;
    };
    const reversalId = await reverse(eventId);
    expect((await send('t', 1, '20')).leaderboards.later).toMatchObject({ rank: null, threshold: 1 });
    await reverse(reversalId);
    const { later } = (await send('s', 1, '5')).leaderboards;
    expect(later).toMatchObject({ rank: null, previousRank: null, threshold: 4 });
  });
});
