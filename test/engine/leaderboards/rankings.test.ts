import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Leaderboard } from '../../../src/domain/catalog.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { leaderboardsAll, leaderboardsGet, leaderboardsRankings } from '../../../src/operations/leaderboards.ts';
import { testDatabase } from '../../postgres/database.ts';
import { fitting, withReads, type ReadFixture } from '../read-fixture.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

const withBoard = (
  fields: Partial<Leaderboard>,
  run: (reads: ReadFixture) => Promise<void>,
  breakdown: string[] = [],
): Promise<void> =>
  withReads(
    database,
    (b) => {
      const breakdownAttributes = breakdown.map((key) => b.attribute(key, 'user').id);
      b.attribute('other', 'user');
      b.leaderboard('board', 'metric', { metricId: b.metric('m').id, breakdownAttributes, ...fields });
    },
    run,
  );

type Query = Partial<Parameters<ReadFixture['leaderboards']['rankings']>[2]>;

async function page(reads: ReadFixture, query: Query = {}) {
  const answer = await reads.leaderboards.rankings(reads.compiled, 'board', { offset: 0, limit: 10, ...query });
  return fitting(leaderboardsGet, answer);
}
const places = async (reads: ReadFixture, query: Query = {}) =>
  (await page(reads, query)).rankings.map(({ rank, userId, value }) => [rank, userId, value]);

test('a page: names, shared ranks, the best first, ties in a fixed order', () =>
  withBoard({}, async (reads) => {
    await reads.laurel.engine.record(0, 'm', {
      event: { user: { id: 'a', name: 'Ada' }, value: 5 },
      idempotencyKey: null,
    });
    for (const [user, value] of [
      ['b', 9],
      ['c', 5],
      ['d', 0.5],
      ['e', -1],
    ] as const)
      await reads.laurel.event('m', user, value);
    const { rankings, status, key } = await page(reads);
    expect({ status, key }).toEqual({ status: 'active', key: 'board' });
    expect(rankings).toEqual([
      { userId: 'b', userName: null, rank: 1, value: 9 },
      { userId: 'c', userName: null, rank: 2, value: 5 },
      { userId: 'a', userName: 'Ada', rank: 2, value: 5 },
      { userId: 'd', userName: null, rank: 4, value: 0.5 },
    ]);
    expect(await places(reads, { offset: 2, limit: 1 })).toEqual([[2, 'a', 5]]);
    expect(await places(reads, { limit: 0 })).toEqual([]);
    expect(await places(reads, { offset: 4 })).toEqual([]);
  }));

test('pages and places agree with a model, over random leaderboards with ties', async () => {
  await withBoard({ maxParticipants: null }, async (reads) => {
    const set = boardKey(onlyPart(0), {
      boardNo: reads.compiled.leaderboards.get('board')!.no,
      runDay: dayOf('2026-01-01'),
      group: '',
    });
    const user = fc.integer({ min: 0, max: 30 }).map((n) => `u${n}`);
    const query = fc.record({
      offset: fc.integer({ min: -12, max: 35 }),
      limit: fc.integer({ min: 0, max: 35 }),
      userId: fc.option(user, { nil: undefined }),
      max: fc.option(fc.integer({ min: 1, max: 30 }), { nil: null }),
    });
    const scores = fc.dictionary(user, fc.integer({ min: 1, max: 6 }), { maxKeys: 30 });
    await fc.assert(
      fc.asyncProperty(scores, fc.array(query, { minLength: 5, maxLength: 15 }), async (board, queries) => {
        await reads.laurel.redis.del(set);
        for (const [userId, score] of Object.entries(board)) await reads.laurel.redis.zadd(set, score, userId);
        for (const { offset, limit, userId, max } of queries) {
          // The model: everyone, sorted; ranks counted one by one.
          const all = Object.entries(board)
            .sort(([a, x], [b, y]) => y - x || (a < b ? 1 : -1))
            .map(
              ([id, score]) => [1 + Object.values(board).filter((other) => other > score).length, id, score] as const,
            )
            .filter(([rank]) => max === null || rank <= max);
          const own = userId === undefined ? 0 : all.findIndex(([, id]) => id === userId);
          const from = Math.max(own + offset, 0);
          const expected = own < 0 ? [] : all.slice(from, from + limit);
          if (offset < 0 && userId === undefined) continue;
          reads.laurel.catalog = {
            ...reads.laurel.catalog,
            leaderboards: reads.laurel.catalog.leaderboards.map((b) => ({ ...b, maxParticipants: max })),
          };
          expect(await places(reads, { offset, limit, ...(userId !== undefined && { userId }) })).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});

test("around a user: the offset counts from the user's place, and starts at the first place at the earliest", () =>
  withBoard({ maxParticipants: 3 }, async (reads) => {
    for (const [user, value] of [
      ['a', 9],
      ['b', 8],
      ['c', 7],
      ['d', 6],
    ] as const)
      await reads.laurel.event('m', user, value);
    expect(await places(reads, { userId: 'b' })).toEqual([
      [2, 'b', 8],
      [3, 'c', 7],
    ]);
    expect(await places(reads, { userId: 'c', offset: -1, limit: 2 })).toEqual([
      [2, 'b', 8],
      [3, 'c', 7],
    ]);
    expect(await places(reads, { userId: 'b', offset: -5, limit: 2 })).toEqual([
      [1, 'a', 9],
      [2, 'b', 8],
    ]);
    expect(await places(reads, { userId: 'd' })).toEqual([]);
    expect(await places(reads, { userId: 'nobody' })).toEqual([]);
    await expect(page(reads, { offset: -1 })).rejects.toMatchObject({ code: 'unprocessable' });
    await expect(page(reads, { limit: 10_001 })).rejects.toMatchObject({ code: 'unprocessable' });
  }));

type Among = Parameters<ReadFixture['leaderboards']['among']>[2];

async function among(reads: ReadFixture, userIds: string[], query: Partial<Among> = {}) {
  const answer = await reads.leaderboards.among(reads.compiled, 'board', { userIds, ...query });
  return fitting(leaderboardsRankings, answer).rankings.map(({ rank, userId, value }) => [rank, userId, value]);
}

test('among given users: ranks count them alone, each once, also beyond the last rank of the leaderboard', () =>
  withBoard({ maxParticipants: 1 }, async (reads) => {
    for (const [user, value] of [
      ['a', 9],
      ['b', 8],
      ['c', 8],
      ['d', 0.5],
      ['e', -1],
    ] as const)
      await reads.laurel.event('m', user, value);
    const known = ['nobody', 'd', 'e', 'b', 'c', 'd', 'b'];
    const all = [
      [1, 'c', 8],
      [1, 'b', 8],
      [3, 'd', 0.5],
    ];
    expect(await among(reads, known)).toEqual(all);
    expect(await among(reads, known, { offset: 1, limit: 1 })).toEqual(all.slice(1, 2));
    expect(await among(reads, known, { around: 'd', offset: -1 })).toEqual(all.slice(1));
    expect(await among(reads, known, { around: 'c', offset: -1, limit: 2 })).toEqual(all.slice(0, 2));
    expect(await among(reads, known, { around: 'e' })).toEqual([]);
    expect(await among(reads, ['nobody'])).toEqual([]);
    await expect(among(reads, known, { around: 'a' })).rejects.toMatchObject({
      code: 'unprocessable',
      message: 'around must be one of userIds.',
    });
    await expect(among(reads, known, { offset: -1 })).rejects.toMatchObject({ code: 'unprocessable' });
  }));

test('among given users: pages agree with the whole leaderboard, over random subsets with ties', () =>
  withBoard({ maxParticipants: null }, async (reads) => {
    const ids = Array.from({ length: 25 }, (_, n) => `u${n}`);
    for (const [n, id] of ids.entries()) await reads.laurel.event('m', id, (n * 7) % 6);
    const everyone = await places(reads, { limit: 100 });
    const query = fc.record({
      userIds: fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1 }),
      offset: fc.integer({ min: -6, max: 12 }),
      limit: fc.integer({ min: 0, max: 30 }),
      isAround: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(query, async ({ userIds, offset, limit, isAround }) => {
        if (offset < 0 && !isAround) return;
        const given = everyone.filter(([, id]) => userIds.includes(id as string));
        const expected = given.map(([, id, value]) => [
          1 + given.filter((other) => other[2]! > value!).length,
          id,
          value,
        ]);
        const place = given.findIndex(([, id]) => id === userIds[0]);
        const from = isAround ? Math.max(0, place + offset) : offset;
        expect(await among(reads, userIds, { offset, limit, ...(isAround && { around: userIds[0]! }) })).toEqual(
          isAround && place === -1 ? [] : expected.slice(from, from + limit),
        );
      }),
      { numRuns: 60 },
    );
  }));

test('among given users of a leaderboard with a breakdown: all groups together, one by its values, or the own one', () =>
  withBoard(
    {},
    async (reads) => {
      for (const [id, land, value] of [
        ['a', 'de', 5],
        ['b', 'fr', 7],
        ['c', 'de', 6],
      ] as const)
        await reads.laurel.event('m', { id, attributes: { land } }, value);
      await reads.laurel.event('m', 'landless', 9);
      const ids = ['a', 'b', 'c', 'landless'];
      const german = [
        [1, 'c', 6],
        [2, 'a', 5],
      ];
      expect(await among(reads, ids)).toEqual([
        [1, 'b', 7],
        [2, 'c', 6],
        [3, 'a', 5],
      ]);
      expect(await among(reads, ids, { userAttributes: { land: 'de' } })).toEqual(german);
      expect(await among(reads, ids, { groupOf: 'a' })).toEqual(german);
      expect(await among(reads, ids, { groupOf: 'landless' })).toEqual([]);
      await expect(among(reads, ids, { groupOf: 'a', userAttributes: { land: 'fr' } })).rejects.toMatchObject({
        code: 'forbidden',
      });
      for (const userAttributes of [{}, { other: 'x' }, { land: 'de', other: 'x' }])
        await expect(among(reads, ids, { userAttributes })).rejects.toMatchObject({ code: 'unprocessable' });
    },
    ['land'],
  ));

test('a breakdown: a group needs all its values; a leaderboard without a breakdown accepts none', () =>
  withBoard(
    { maxParticipants: 1 },
    async (reads) => {
      for (const [id, land, value] of [
        ['a', 'de', 5],
        ['b', 'fr', 7],
        ['c', 'de', 6],
      ] as const)
        await reads.laurel.event('m', { id, attributes: { land, plan: 'x:y' } }, value);
      expect(await places(reads, { userAttributes: 'plan:x:y,land:de' })).toEqual([[1, 'c', 6]]);
      expect(await places(reads, { userAttributes: 'land:fr,plan:x:y' })).toEqual([[1, 'b', 7]]);
      expect(await places(reads, { userAttributes: 'land:fr,plan:x:y', userId: 'c' })).toEqual([]);
      expect(await places(reads, { userAttributes: 'land:nowhere,plan:x:y' })).toEqual([]);
      for (const userAttributes of [undefined, '', 'land:de', 'land:de,plan:x,other:z', 'land:de,unknown:x', 'land'])
        await expect(page(reads, userAttributes === undefined ? {} : { userAttributes })).rejects.toMatchObject({
          code: 'unprocessable',
        });
    },
    ['land', 'plan'],
  ));

test('refuses attributes on a leaderboard without a breakdown', () =>
  withBoard({}, async (reads) => {
    await expect(page(reads, { userAttributes: 'other:x' })).rejects.toMatchObject({ code: 'unprocessable' });
  }));

test("runs: the UTC date's, the named user's local date's, and by first day", () =>
  withBoard({ start: '2026-11-01', runUnit: 'day', runInterval: 1 }, async (reads) => {
    reads.at('2026-11-18T23:30:00Z');
    await reads.laurel.event('m', 'utc', 1);
    await reads.laurel.event('m', { id: 'east', tz: 'Asia/Tokyo' }, 2);
    expect(await places(reads)).toEqual([[1, 'utc', 1]]);
    expect(await places(reads, { userId: 'east' })).toEqual([[1, 'east', 2]]);
    expect(await places(reads, { userId: 'utc' })).toEqual([[1, 'utc', 1]]);
    expect(await among(reads, ['utc', 'east'])).toEqual([[1, 'utc', 1]]);
    expect(await among(reads, ['utc', 'east'], { around: 'east' })).toEqual([[1, 'east', 2]]);
    expect(await places(reads, { run: '2026-11-19' })).toEqual([[1, 'east', 2]]);
    expect(await among(reads, ['utc', 'east'], { run: '2026-11-19' })).toEqual([[1, 'east', 2]]);
    reads.at('2026-11-19T00:30:00Z');
    expect(await places(reads)).toEqual([[1, 'east', 2]]);
    expect(await places(reads, { run: '2026-11-18' })).toEqual([[1, 'utc', 1]]);
    expect(await places(reads, { run: '2026-11-17' })).toEqual([]);
    // A user's next event after days forgets the score in a run that is not final yet.
    reads.at('2026-11-21T12:00:00Z');
    await reads.laurel.event('m', 'utc', 5);
    expect(await among(reads, ['utc', 'east'], { run: '2026-11-18' })).toEqual([[1, 'utc', 1]]);
    for (const run of ['2026-10-31', '2026-02-30', 'today'])
      await expect(page(reads, { run })).rejects.toMatchObject({ code: 'unprocessable' });
  }));

test('only its first day names a run', () =>
  withBoard({ start: '2026-01-31', runUnit: 'month', runInterval: 1 }, async (reads) => {
    expect((await page(reads, { run: '2026-02-28' })).rankings).toEqual([]);
    await expect(page(reads, { run: '2026-03-01' })).rejects.toMatchObject({ code: 'unprocessable' });
  }));

test.each([
  ['active', '2026-11-18', null, 'active'],
  ['scheduled', '2026-11-18', null, 'active'],
  ['scheduled', '2026-11-19', null, 'scheduled'],
  ['active', '2026-11-19', null, 'scheduled'],
  ['active', '2026-11-01', '2026-11-18', 'active'],
  ['active', '2026-11-01', '2026-11-17', 'finished'],
  ['scheduled', '2026-11-01', '2026-11-17', 'finished'],
  ['finished', '2026-11-01', null, 'finished'],
  ['inactive', '2026-11-01', null, null],
] as const)('a leaderboard that is stored as %s from %s to %s is %s', (status, start, end, shown) =>
  withBoard({ status, start, end }, async (reads) => {
    const list = (finished: boolean) =>
      fitting(leaderboardsAll, reads.leaderboards.list(reads.compiled, finished)).map((board) => board.status);
    expect(list(true)).toEqual(shown === null ? [] : [shown]);
    expect(list(false)).toEqual(shown === null || shown === 'finished' ? [] : [shown]);
    if (shown === null) await expect(page(reads)).rejects.toMatchObject({ code: 'not_found' });
    else expect(await page(reads)).toMatchObject({ status: shown, rankings: [] });
  }),
);

test('a finished leaderboard shows its last run', () =>
  withBoard({ start: '2026-11-16', end: '2026-11-18', runUnit: 'day', runInterval: 2 }, async (reads) => {
    await reads.laurel.event('m', 'u', 3);
    reads.at('2026-12-24T00:00:00Z');
    expect(await page(reads)).toMatchObject({ status: 'finished', rankings: [{ userId: 'u', rank: 1, value: 3 }] });
    await expect(reads.leaderboards.rankings(reads.compiled, 'no', { offset: 0, limit: 1 })).rejects.toMatchObject({
      code: 'not_found',
    });
  }));
