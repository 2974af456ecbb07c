import { expect, test } from 'vitest';
import { dayOf } from '../../../src/domain/periods.ts';
import type { KeptRuns } from '../../../src/engine/leaderboards/kept-runs.ts';
import { NO_PAST } from './no-past.ts';
import { LiveStandings } from '../../../src/engine/leaderboards/live-standings.ts';
import { percentileOf } from '../../../src/engine/leaderboards/standings.ts';
import { usersLeaderboard } from '../../../src/operations/leaderboards.ts';
import { testDatabase } from '../../postgres/database.ts';
import { fitting, withReads, type ReadFixture } from '../read-fixture.ts';
import { boardKey } from '../../../src/redis/keys.ts';
import { onlyPart } from '../../stack/only-part.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());

async function of(reads: ReadFixture, userId: string, query: { run?: string; numEvents?: number } = {}) {
  const answer = await reads.leaderboards.ofUser(reads.compiled, userId, { key: 'board', numEvents: 10, ...query });
  return fitting(usersLeaderboard, answer);
}

test('rank and value are live, null when not listed; the history contains today', () =>
  withReads(
    database,
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, maxParticipants: 2 }),
    async (reads) => {
      for (const [user, value] of [
        ['a', 9],
        ['b', 8],
        ['c', 7],
        ['d', -7],
      ] as const)
        await reads.laurel.event('m', user, value);
      const second = await of(reads, 'b');
      expect(second).toMatchObject({ key: 'board', rank: 2, value: 8, percentile: 66.6, participants: 3 });
      expect(second.history).toEqual([
        {
          date: '2026-11-18',
          timestamp: '2026-11-18T12:00:00.000Z',
          previousRank: null,
          rank: 2,
          previousValue: null,
          value: 8,
        },
      ]);
      expect((await of(reads, 'b', { numEvents: 0 })).history).toEqual([]);
      // Beyond the last rank, a user is still among those with a score.
      for (const [user, percentile] of [
        ['c', 33.3],
        ['d', null],
      ] as const)
        expect(await of(reads, user)).toMatchObject({
          rank: null,
          value: null,
          percentile,
          participants: 3,
          history: [],
        });
      await reads.laurel.event('m', 'b', -2);
      expect(await of(reads, 'c')).toMatchObject({ rank: 2, value: 7 });
      await expect(of(reads, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
    },
  ));

test.each([
  [1, 1, 100],
  [1, 3, 100],
  [3, 3, 33.3],
  [2, 3, 66.6],
  [2, 1_000_000, 99.9],
  [1_000_000, 1_000_000, 0],
  // The number of participants was read before others came.
  [3, 2, 33.3],
])('rank %i of %i: percentile %d', (rank, participants, percentile) =>
  expect(percentileOf(rank, participants)).toBe(percentile),
);

test("the user's own group, and the run of the user's local date", () =>
  withReads(
    database,
    (b) => {
      const breakdownAttributes = [b.attribute('land', 'user').id];
      const metricId = b.metric('m').id;
      b.leaderboard('board', 'metric', { metricId, breakdownAttributes, runUnit: 'day', runInterval: 1 });
    },
    async (reads) => {
      reads.at('2026-11-18T23:30:00Z');
      await reads.laurel.event('m', { id: 'a', attributes: { land: 'de' } }, 9);
      await reads.laurel.event('m', { id: 'b', attributes: { land: 'jp' }, tz: 'Asia/Tokyo' }, 5);
      await reads.laurel.event('m', 'none', 5);
      expect(await of(reads, 'a')).toMatchObject({ rank: 1, value: 9 });
      expect(await of(reads, 'b')).toMatchObject({ rank: 1, value: 5, history: [{ date: '2026-11-19' }] });
      expect(await of(reads, 'b', { run: '2026-11-18' })).toMatchObject({ rank: null, value: null, history: [] });
      expect(await of(reads, 'none')).toMatchObject({ rank: null, value: null, percentile: null, participants: null });
      await expect(of(reads, 'a', { run: '2025-11-18' })).rejects.toMatchObject({ code: 'unprocessable' });
    },
  ));

test('reads kept runs and snapshots', async () => {
  const day = dayOf('2026-11-18');
  const kept: { redis?: LiveStandings } = {};
  const past: KeptRuns = {
    ...NO_PAST,
    standings: async () => kept.redis ?? null,
    groupOf: async () => null,
    snapshots: async (_run, _userId, count) =>
      [
        { day: day - 2, atMs: (day - 1) * 86_400_000, rank: 3, value: 1 },
        { day: day - 1, atMs: day * 86_400_000, rank: null, value: null },
        { day, atMs: day * 86_400_000 + 1, rank: 7, value: 7 },
      ].slice(-count),
  };
  await withReads(
    database,
    (b) => b.leaderboard('board', 'metric', { metricId: b.metric('m').id, end: '2026-11-18' }),
    async (reads) => {
      await reads.laurel.event('m', 'u', 4);
      const entries = async (numEvents: number) =>
        (await of(reads, 'u', { numEvents })).history.map((e) => [
          e.date,
          e.previousRank,
          e.rank,
          e.previousValue,
          e.value,
        ]);
      // The current state replaces today's snapshot.
      const all = [
        ['2026-11-16', null, 3, null, 1],
        ['2026-11-17', 3, null, 1, null],
        ['2026-11-18', null, 1, null, 4],
      ];
      expect(await entries(10)).toEqual(all);
      expect(await entries(1)).toEqual(all.slice(2));
      reads.at('2026-11-19T00:00:00Z');
      const other = { tenantNo: 77, boardNo: 1, runDay: 0, group: '' };
      await reads.laurel.redis.zadd(boardKey(onlyPart(77), other), 4, 'u', 5, 'other', 9, 'third');
      kept.redis = new LiveStandings(reads.laurel.redis, other, {
        aggregate: null,
        order: null,
        ties: null,
        secondaryAttributeId: null,
        maxParticipants: null,
      });
      expect(await of(reads, 'u')).toMatchObject({ rank: 3, value: 4 });
      expect((await entries(1))[0]).toEqual(['2026-11-18', null, 7, null, 7]);
    },
    past,
  );
});
