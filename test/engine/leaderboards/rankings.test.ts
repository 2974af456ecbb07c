import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Leaderboard } from '../../../src/domain/catalog.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { leaderboardsAll, leaderboardsGet } from '../../../src/operations/leaderboards.ts';
import { testDatabase, type TestDatabase } from '../../postgres/database.ts';
import { fitting, withReads, type ReadFixture } from '../read-fixture.ts';
import { onlyPart } from '../../stack/only-part.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

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
    expect(await places(reads, { run: '2026-11-19' })).toEqual([[1, 'east', 2]]);
    reads.at('2026-11-19T00:30:00Z');
    expect(await places(reads)).toEqual([[1, 'east', 2]]);
    expect(await places(reads, { run: '2026-11-18' })).toEqual([[1, 'utc', 1]]);
    expect(await places(reads, { run: '2026-11-17' })).toEqual([]);
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
