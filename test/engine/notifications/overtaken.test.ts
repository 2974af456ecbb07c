import { describe, expect, test } from 'vitest';
import { overtaken, type Place } from '../../../src/engine/notifications/due/places.ts';
import type { ReportedPlace } from '../../../src/postgres/notifications/places.ts';

const places = (ranks: Record<string, number>): Map<string, Place> =>
  new Map(Object.entries(ranks).map(([userId, rank]) => [userId, { rank, value: 100 - rank }]));
const window = (rank: number | null, waitingRank?: number): Omit<ReportedPlace, 'userId'> => ({
  rank,
  value: rank && 100 - rank,
  waits: waitingRank !== undefined,
  waitingRank: waitingRank ?? null,
});

describe('who is overtaken', () => {
  test.each<{
    name: string;
    known: Record<string, number>;
    now: Record<string, number>;
    windows?: Record<string, Omit<ReportedPlace, 'userId'>>;
    expected: [user: string, before: number | null, now: number | null][];
  }>([
    { name: 'nobody moved', known: { a: 1, b: 2 }, now: { a: 1, b: 2 }, expected: [] },
    {
      name: 'the user who acted was reported, the two whom they passed were not',
      known: { a: 1, b: 2 },
      now: { c: 1, a: 2, b: 3 },
      windows: { c: window(1) },
      expected: [
        ['a', 1, 2],
        ['b', 2, 3],
      ],
    },
    { name: 'fell off the leaderboard', known: { a: 1, b: 2 }, now: { a: 1 }, expected: [['b', 2, null]] },
    {
      name: 'reported in the window, then passed',
      known: { a: 2, b: 1 },
      now: { a: 2, b: 1 },
      windows: { a: window(1) },
      expected: [['a', 1, 2]],
    },
    {
      name: 'the waiting message has the current rank',
      known: { a: 4 },
      now: { a: 2 },
      windows: { a: window(3, 2) },
      expected: [],
    },
    {
      name: 'the waiting message has another rank',
      known: { a: 4 },
      now: { a: 3 },
      windows: { a: window(3, 2) },
      expected: [['a', 3, 3]],
    },
    {
      name: 'nothing was compared before: only those with a window',
      known: {},
      now: { a: 1, b: 2, c: 3 },
      windows: { a: window(1), b: window(1) },
      expected: [['b', 1, 2]],
    },
    { name: 'somebody appears without an event', known: { a: 1 }, now: { a: 1, b: 2 }, expected: [['b', null, 2]] },
  ])('$name', ({ known, now, windows = {}, expected }) => {
    const reported = new Map(Object.entries(windows).map(([userId, each]) => [userId, { userId, ...each }]));
    const found = overtaken({ known: places(known), now: places(now), reported });
    expect(found.map((each) => [each.userId, each.before.rank, each.now?.rank ?? null])).toEqual(expected);
  });
});
