import { expect, test } from 'vitest';
import { groupName } from '../../src/domain/user.ts';
import { dropGoneBoards, type ScoredEvent, scoreBoards, scoreIn } from '../../src/rules/leaderboards.ts';
import type { PlanBoard } from '../../src/rules/plan.ts';
import type { Ledger } from '../../src/rules/points.ts';
import type { User } from '../../src/rules/user.ts';
import { boardOf, DAY, DAY_MS, decimal, freshUser, NOON, planOf, systemOf } from './surroundings.ts';

const FLOOR = -1e15;
const RUN = { board: 8, runDay: DAY };

interface Change {
  value?: number | null;
  second?: number;
  day?: number;
  reached?: number;
  occurred?: ScoredEvent['occurred'];
  ledgers?: Ledger[];
  length?: number;
}

function score(user: User, board: PlanBoard, change: Change = {}) {
  const { value = 1, second = 43_200, day = DAY, reached = 1000, occurred = null, ledgers = [], length = 0 } = change;
  const event = value === null ? null : { value: decimal(value), reached, occurred };
  return scoreBoards(user, { plan: planOf({ boards: [board] }), nowMs: NOON, day, second, ledgers, length, event });
}

/** The scores after each value. */
const scoresOf = (board: PlanBoard, values: number[]): (number | undefined)[] => {
  const user = freshUser();
  return values.map((value, at) => {
    score(user, board, { value, reached: 1000 + at });
    return scoreIn(user, RUN)?.whole;
  });
};

test.each<[string, Partial<PlanBoard>, number[], (number | undefined)[]]>([
  ['sum', {}, [3, 4, -10, 0], [3, 7, -3, -3]],
  ['a sum of nothing', {}, [0], [undefined]],
  ['max', { fold: 'max', floor: FLOOR }, [3, 7, 5, -1], [3, 7, 7, 7]],
  ['max of negative values', { fold: 'max', floor: FLOOR }, [-5, -3, -9], [-5, -3, -3]],
  ['min', { fold: 'min', floor: FLOOR }, [3, 7, 1, 2], [3, 3, 1, 1]],
  ['last', { fold: 'last', floor: FLOOR }, [3, 7, 1], [3, 7, 1]],
  ['ascending sum is negated', { sign: -1, floor: FLOOR }, [3, 4], [-3, -7]],
  ['the least value, ascending', { fold: 'max', sign: -1, floor: FLOOR }, [30, 20, 25], [-30, -20, -20]],
])('aggregates: %s', (_name, fields, values, expected) => {
  expect(scoresOf(boardOf(fields), values)).toEqual(expected);
});

test('with `last`, an event that happened earlier changes nothing', () => {
  const user = freshUser();
  const board = boardOf({ fold: 'last', floor: FLOOR });
  score(user, board, { value: 5, reached: 2000 });
  expect(score(user, board, { value: 9, reached: 1999 }).changes).toEqual([]);
  score(user, board, { value: 7, reached: 2001 });
  expect(scoreIn(user, RUN)).toMatchObject(decimal(7));
});

test('with `last`, the event of a millisecond that is applied last counts, whatever number its process gave it', () => {
  const user = freshUser();
  const board = boardOf({ fold: 'last', floor: FLOOR });
  score(user, board, { value: 5, reached: 2007 });
  for (const value of [9, 3, 6]) {
    expect(score(user, board, { value, reached: 2000 }).changes).toMatchObject([{ score: value }]);
    expect(scoreIn(user, RUN)).toMatchObject(decimal(value));
  }
  expect(score(user, board, { value: 8, reached: 1999 }).changes).toEqual([]);
});

test('a change has the old and the new score; an unchanged score is no change', () => {
  const user = freshUser();
  const board = boardOf({ fold: 'max', floor: FLOOR });
  expect(score(user, board, { value: 5 }).changes).toMatchObject([{ oldScore: FLOOR, score: 5 }]);
  expect(score(user, board, { value: 8.5 }).changes).toMatchObject([{ oldScore: 5, score: 8.5, onlyGroup: false }]);
  expect(score(user, board, { value: 8.5 }).changes).toEqual([]);
});

test.each<[string, Partial<PlanBoard>, [value: number, reached: number][], number[]]>([
  [
    'of equal best values, the first counts',
    { fold: 'max' },
    [
      [5, 10],
      [5, 20],
      [6, 30],
      [6, 25],
    ],
    [10, 10, 30, 25],
  ],
  [
    'a sum is reached at its last event',
    {},
    [
      [5, 10],
      [5, 20],
      [0, 30],
    ],
    [10, 20, 20],
  ],
  [
    'a sum is never reached before its last event',
    {},
    [
      [5, 20],
      [5, 10],
    ],
    [20, 20],
  ],
  [
    'a sum of zeros is reached at the first',
    {},
    [
      [0, 10],
      [0, 20],
      [5, 30],
    ],
    [-10, -10, 30],
  ],
])('ties: %s', (_name, fields, events, expected) => {
  const user = freshUser();
  const board = boardOf({ ties: true, floor: FLOOR, ...fields });
  const times = events.map(([value, reached]) => {
    score(user, board, { value, reached });
    return user.scoreTimes[0]!.reached;
  });
  expect(times).toEqual(expected);
});

test.each([
  ['before the window', 8, 17, 7.99, false],
  ['its first second', 8, 17, 8, true],
  ['its end is outside', 8, 17, 17, false],
  ['over midnight, in the evening', 22, 6, 23, true],
  ['over midnight, in the morning', 22, 6, 5.99, true],
  ['over midnight, at noon', 22, 6, 12, false],
])('time of day: %s', (_name, from, to, hour, counts) => {
  const board = boardOf({ from: from * 3600, to: to * 3600 });
  expect(score(freshUser(), board, { second: Math.floor(hour * 3600) }).changes).toHaveLength(counts ? 1 : 0);
});

test('an event with a time of its own counts by that time of day', () => {
  const occurred = { second: 9 * 3600, runs: null };
  const board = boardOf({ from: 8 * 3600, to: 17 * 3600 });
  expect(score(freshUser(), board, { second: 20 * 3600, occurred }).changes).toHaveLength(1);
});

test('an event counts in the run of the local day; outside of the runs it counts nowhere', () => {
  const board = boardOf({ runs: [DAY - 7, DAY, -1] });
  const user = freshUser();
  for (const day of [DAY - 1, DAY, DAY + 1]) score(user, board, { day, value: day - DAY + 2 });
  expect(user.scores.map(({ runDay, whole }) => [runDay, whole])).toEqual([
    [DAY, 2],
    [DAY - 7, 1],
  ]);
});

test('a late event counts in its own run, and not in a run that is final', () => {
  const user = freshUser();
  const board = boardOf({ runs: [DAY - 7, DAY, DAY] });
  score(user, board, { occurred: { second: 0, runs: { 8: DAY - 7 } } });
  score(user, board, { occurred: { second: 0, runs: {} } });
  expect(user.scores).toMatchObject([{ runDay: DAY - 7, whole: 1 }]);
});

test('scores of runs that accept no event are dropped; those of other leaderboards stay', () => {
  const old = { runDay: DAY - 14, group: '', whole: 5, micros: 0 };
  const user = freshUser({
    scores: [
      { board: 7, ...old },
      { board: 8, ...old },
      { board: 9, ...old },
    ],
  });
  score(user, boardOf({ runs: [DAY - 7, DAY, DAY] }));
  expect(user.scores.map(({ board, runDay }) => [board, runDay])).toEqual([
    [7, DAY - 14],
    [8, DAY],
    [9, DAY - 14],
  ]);
});

const grouped = boardOf({ groups: [1, 2] });
const living = (city?: string): User['attributes'] =>
  new Map(
    city === undefined
      ? [[2, 'f']]
      : [
          [1, city],
          [2, 'f'],
        ],
  );

test('a user without a value is not ranked, and keeps the score until there is one', () => {
  const user = freshUser({ attributes: living() });
  expect(score(user, grouped, { value: 5 }).changes).toEqual([]);
  user.attributes = living('Bern');
  expect(score(user, grouped, { value: 2 }).changes).toMatchObject([
    { group: groupName(['Bern', 'f']), oldScore: 0, score: 7 },
  ]);
});

test('a user whose value changed moves to the other group with the score, even at an event that adds nothing', () => {
  const user = freshUser({ attributes: living('Bern') });
  score(user, grouped, { value: 5 });
  user.attributes = living('Rom');
  expect(score(user, grouped, { value: null }).changes).toEqual([]);
  expect(score(user, grouped, { value: 0 }).changes).toMatchObject([
    { oldGroup: groupName(['Bern', 'f']), group: groupName(['Rom', 'f']), score: 5, onlyGroup: true },
  ]);
});

test('a hidden user has a score and no place', () => {
  const user = freshUser({ hidden: 1 });
  expect(score(user, boardOf(), { value: 5 }).changes).toEqual([]);
  expect(scoreIn(user, RUN)).toMatchObject(decimal(5));
});

test.each([
  [10, 25, 15],
  [25, 10, -15],
  [10, 10, undefined],
])('points from %d to %d score %d', (before, total, expected) => {
  const user = freshUser();
  const ledger = { system: systemOf(), before, total, nowMs: NOON, left: 0, boosts: [], awards: [], boosted: null };
  score(user, boardOf({ by: 'points', system: 5 }), { value: null, ledgers: [ledger] });
  expect(scoreIn(user, RUN)?.whole).toBe(expected);
});

test('a streak leaderboard follows the length in both directions', () => {
  const user = freshUser();
  const lengths = [3, 4, 0].map((length) => {
    score(user, boardOf({ by: 'streak' }), { length });
    return scoreIn(user, RUN)?.whole;
  });
  expect(lengths).toEqual([3, 4, 0]);
});

test('a sum that leaves its range is reported', () => {
  const user = freshUser({ scores: [{ ...RUN, group: '', whole: 1e15 - 1, micros: 0 }] });
  expect(score(user, boardOf(), { value: 1 }).leftRange).toBe(8);
});

test('at the first event of a day, deleted leaderboards are dropped, those of a newer catalog not', () => {
  const scores = [7, 8, 12].map((board) => ({ board, runDay: DAY, group: '', whole: 1, micros: 0 }));
  const present = { newest: 10, boards: { 8: true } as Record<number, true> };
  const user = freshUser({ updatedMs: NOON - DAY_MS, scores });
  dropGoneBoards(user, planOf({ present }));
  expect(user.scores.map(({ board }) => board)).toEqual([8, 12]);
});
