import { describe, expect, test } from 'vitest';
import { mergeMoves, mergeUsers, type MergeFacts } from '../../src/rules/merge.ts';
import type { PlanBoard } from '../../src/rules/plan.ts';
import { newUser, type User } from '../../src/rules/user.ts';

const NOW = 1_800_000_000_000;
const user = (more: Partial<User>): User => ({ ...newUser(NOW - 1_000, { freezes: 0, generation: null }), ...more });

function merged(into: User, from: User, more: Partial<MergeFacts> = {}): User {
  const { streaks, freezes, earnedDay, settledMs, begunDay } = into;
  return mergeUsers(into, from, {
    nowMs: NOW,
    streaks: { streaks, freezes, earnedDay, settledMs, begunDay },
    length: 3,
    quests: new Map(),
    bothRanked: new Set(),
    boards: [],
    isOpen: () => true,
    mostTokens: 3,
    ...more,
  });
}

describe('fields', () => {
  test('totals are added, and what either reached stays reached', () => {
    const into = user({ totals: new Map([[1, { whole: 5, micros: 500_000, peak: 40 }]]) });
    const from = user({
      totals: new Map([
        [1, { whole: 2, micros: 500_000, peak: null }],
        [2, { whole: 1, micros: 0, peak: null }],
      ]),
    });
    expect(Object.fromEntries(merged(into, from).totals)).toEqual({
      1: { whole: 8, micros: 0, peak: 40 },
      2: { whole: 1, micros: 0, peak: null },
    });
  });

  test('what either was paid for is paid, except a rank of the run in which the other has a place, too', () => {
    const paid = (...paidMs: [number, number][]) => user({ paidMs: new Map(paidMs) });
    const facts = { bothRanked: new Set([2, 3]) };
    const after = merged(paid([1, 10], [2, 10]), paid([1, 20], [2, 20], [3, 20], [4, 20]), facts);
    expect(Object.fromEntries(after.paidMs)).toEqual({ 1: 20, 2: 10, 4: 20 });
  });

  test('the earlier completion is kept; of repeating ones, as history says', () => {
    const into = user({
      completions: new Map([
        [1, 20],
        [3, 50],
      ]),
      quests: new Map([[3, { times: 1, periods: [{ period: 7, whole: 4, micros: 0, done: true }] }]]),
    });
    const from = user({
      completions: new Map([
        [1, 10],
        [2, 30],
        [3, 60],
      ]),
      quests: new Map([
        [
          3,
          {
            times: 2,
            periods: [
              { period: 8, whole: 1, micros: 0, done: false },
              { period: 7, whole: 2, micros: 0, done: true },
            ],
          },
        ],
      ]),
    });
    const after = merged(into, from, { quests: new Map([[3, { times: 2, latestMs: 55 }]]) });
    expect(Object.fromEntries(after.completions)).toEqual({ 1: 10, 2: 30, 3: 55 });
    expect(after.quests.get(3)).toEqual({
      times: 2,
      periods: [
        { period: 8, whole: 1, micros: 0, done: false },
        { period: 7, whole: 6, micros: 0, done: true },
      ],
    });
  });

  test('settings of the remaining user win; who hid stays hidden', () => {
    const into = user({
      name: 'Ann',
      attributes: new Map([[1, 'pro']]),
      deviceTokens: '["a","b"]',
      notifications: '1-',
      hidden: 0,
    });
    const from = user({
      createdMs: 5,
      name: 'Gus',
      email: 'g@example.com',
      attributes: new Map([
        [1, 'free'],
        [2, 'fr'],
      ]),
      deviceTokens: '["b","c","d"]',
      notifications: '23',
      hidden: 1,
    });
    const after = merged(into, from);
    expect(after).toMatchObject({
      createdMs: 5,
      name: 'Ann',
      email: 'g@example.com',
      deviceTokens: '["a","b","c"]',
      notifications: '13',
      hidden: 1,
    });
    expect(Object.fromEntries(after.attributes)).toEqual({ 1: 'pro', 2: 'fr' });
  });

  test('neither user is changed', () => {
    const into = user({ scores: [{ board: 1, runDay: 0, group: '', whole: 3, micros: 0 }] });
    const from = user({ scores: [{ board: 1, runDay: 0, group: '', whole: 4, micros: 0 }] });
    const before = structuredClone([into, from]);
    merged(into, from, { boards: [{ no: 1, by: 'points', runs: [] }] });
    expect([into, from]).toEqual(before);
  });
});

describe('scores', () => {
  const score = (whole: number, reached?: number): Partial<User> => ({
    scores: [{ board: 1, runDay: 0, group: '', whole, micros: 0 }],
    scoreTimes: reached === undefined ? [] : [{ board: 1, runDay: 0, reached }],
  });
  const FLOOR = -(2 ** 53);
  const board = (more: Partial<PlanBoard>): PlanBoard => ({ no: 1, by: 'none', runs: [], ...more });

  test.each([
    ['a sum', {}, score(3), score(4), 7, undefined],
    ['the sum of one', {}, {}, score(4), 4, undefined],
    ['the highest value', { fold: 'max', floor: FLOOR }, score(3), score(4), 4, undefined],
    ['the lowest value', { fold: 'min', floor: FLOOR }, score(3), score(4), 3, undefined],
    ['the last value', { fold: 'last', floor: FLOOR }, score(3, 20), score(4, 10), 3, 20],
    ['the first of equal values', { fold: 'max', floor: FLOOR, ties: true }, score(4, 20), score(4, 10), 4, 10],
    ['the later time of a sum', { floor: FLOOR, ties: true }, score(3, 20), score(4, 30), 7, 30],
    ['the new length of a streak', { by: 'streak' }, score(1), score(2), 3, undefined],
  ] as const)('%s', (_, more, own, other, whole, reached) => {
    const after = merged(user(own as Partial<User>), user(other as Partial<User>), {
      boards: [board(more as Partial<PlanBoard>)],
    });
    expect(after.scores).toMatchObject([{ whole }]);
    if (reached !== undefined) expect(after.scoreTimes).toEqual([{ board: 1, runDay: 0, reached }]);
  });

  test('a run that is final keeps the score of the remaining user', () => {
    const after = merged(user(score(3)), user(score(4)), { boards: [board({})], isOpen: () => false });
    expect(after.scores).toMatchObject([{ whole: 3 }]);
    expect(merged(user({}), user(score(4)), { boards: [board({})], isOpen: () => false }).scores).toEqual([]);
  });

  test('the user moves to the group of the merged attributes', () => {
    const grouped = board({ groups: [2] });
    const before = user(score(3));
    const after = merged(before, user({ ...score(4), attributes: new Map([[2, 'fr']]) }), { boards: [grouped] });
    expect(mergeMoves(before, after, [grouped], () => false)).toMatchObject([{ oldScore: 0, score: 7, group: '2:fr' }]);
    expect(mergeMoves(before, after, [grouped], () => true)).toEqual([]);
  });

  test('what was earned for a team stays with it, and the present team is that of the remaining user', () => {
    const stay = (team: string, whole: number) => ({ board: 1, runDay: 0, sinceMs: 0, team, whole, micros: 0 });
    const after = merged(
      user({ ...score(3), stays: [stay('red', 3)] }),
      user({ ...score(6), stays: [stay('blue', 3), stay('green', 1), stay('red', 2)] }),
      { boards: [board({ team: 9 })] },
    );
    expect(after.stays).toEqual([stay('blue', 3), stay('green', 1), stay('red', 5)]);
  });
});
