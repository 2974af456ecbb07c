import { describe, expect, test } from 'vitest';
import { NO_SCORE } from '../../src/domain/leaderboard.ts';
import { caughtUp, type Filling, setScores, streakScore } from '../../src/rules/board-filling.ts';
import type { RunScore } from '../../src/rules/leaderboards.ts';
import type { PlanBoard } from '../../src/rules/plan.ts';
import type { Score, User } from '../../src/rules/user.ts';
import {
  boardOf,
  DAY,
  DAY_MS,
  dailyStreak,
  decimal,
  freshUser,
  METRIC,
  NOON,
  planOf,
  totalsOf,
} from './surroundings.ts';

const filling = (fields: Partial<PlanBoard> = {}): Filling => ({
  plan: planOf(),
  board: boardOf(fields),
  metric: METRIC,
  nowMs: NOON,
});
const score = (value: number, fields: Partial<RunScore> = {}): RunScore => ({
  runDay: DAY,
  ...decimal(value),
  reached: null,
  ...fields,
});
const own = (value: number, fields: Partial<Score> = {}): Score => ({
  board: 8,
  runDay: DAY,
  group: '',
  ...decimal(value),
  ...fields,
});
const set = (user: User, scores: RunScore[], fields: Partial<PlanBoard> = {}) =>
  setScores(user, scores, filling(fields));

describe('scores from history', () => {
  test('replace those of the user, and a repetition changes nothing', () => {
    const user = freshUser({ scores: [own(3)] });
    const scores = [score(5), score(2.5, { runDay: DAY - 7 })];
    expect(set(user, scores)).toMatchObject({
      isOn: true,
      changes: [
        { runDay: DAY, oldScore: 3, score: 5, onlyGroup: true },
        { runDay: DAY - 7, oldScore: 0, score: 2.5 },
      ],
    });
    expect(user.scores).toEqual([own(5), own(2.5, { runDay: DAY - 7 })]);
    expect(set(user, scores)).toEqual({ isOn: true, changes: [] });
  });

  test('a score of 0 is kept, but is not on the leaderboard; without a score there is none', () => {
    const user = freshUser();
    expect(set(user, [score(0)]).isOn).toBe(false);
    expect(user.scores).toEqual([own(0)]);
    const fields = { floor: NO_SCORE, fold: 'max' as const };
    expect(set(user, [score(NO_SCORE)], fields).changes).toMatchObject([{ oldScore: 0, score: NO_SCORE }]);
    expect(user.scores).toEqual([]);
  });

  test('are cut off at the bound', () => {
    const user = freshUser();
    set(user, [score(2e15)]);
    expect(user.scores).toEqual([own(999_999_999_999_999)]);
  });

  test('move the user to the present group; hidden users and those without a value are in no set', () => {
    const inGroup = (fields: Partial<User>) =>
      set(freshUser({ scores: [own(5, { group: '2:de' })], ...fields }), [score(5)], { groups: [1] });
    const attributes = new Map([[1, 'fr']]);
    expect(inGroup({ attributes })).toMatchObject({
      isOn: true,
      changes: [{ oldGroup: '2:de', group: '2:fr', oldScore: 5, score: 5 }],
    });
    expect(inGroup({}).changes).toMatchObject([{ group: '', oldScore: 5, score: 0 }]);
    expect(inGroup({ attributes, hidden: 1 })).toMatchObject({ isOn: false, changes: [{ oldScore: 0, score: 0 }] });
  });

  test('an unknown time leaves the one that was known', () => {
    const fields = { floor: NO_SCORE, ties: true as const };
    const user = freshUser({ scores: [own(5)], scoreTimes: [{ board: 8, runDay: DAY, reached: 70 }] });
    expect(set(user, [score(5)], fields).changes).toEqual([]);
    expect(set(user, [score(5, { reached: 60 })], fields).changes).toMatchObject([{ oldReached: 70, reached: 60 }]);
  });

  test('what is in no stay yet was earned in the present team', () => {
    const user = freshUser({ attributes: new Map([[1, 'red']]) });
    expect(set(user, [score(5)], { team: 1 }).changes).toMatchObject([
      { teams: [{ team: 'red', whole: 5, members: 1 }] },
    ]);
    expect(set(user, [score(7)], { team: 1 }).changes).toMatchObject([
      { teams: [{ team: 'red', whole: 2, members: 0 }] },
    ]);
  });
});

describe('what a user gained meanwhile', () => {
  const counted = freshUser({ totals: totalsOf({ [METRIC]: 10 }) });
  const now = freshUser({ totals: totalsOf({ [METRIC]: 14 }) });
  const after = (scores: RunScore[], fields: Partial<PlanBoard> = {}, user = now) =>
    caughtUp(scores, user, counted, filling(fields));

  test.each<[string, RunScore[], Partial<PlanBoard>, [number, number][]]>([
    ['is added to the current run', [score(3)], {}, [[DAY, 7]]],
    ['negated in ascending order', [score(-3)], { sign: -1, floor: NO_SCORE }, [[DAY, -7]]],
    ['instead of no score', [score(NO_SCORE)], { floor: NO_SCORE, ties: true }, [[DAY, 4]]],
    [
      'as the score of a new run',
      [score(3, { runDay: DAY - 7 })],
      {},
      [
        [DAY - 7, 3],
        [DAY, 4],
      ],
    ],
  ])('%s', (_name, scores, fields, expected) => {
    expect(after(scores, fields)?.map(({ runDay, whole }) => [runDay, whole])).toEqual(expected);
  });

  test.each<[string, Partial<PlanBoard>]>([
    ['at a time of day', { from: 0 }],
    ['without a current run', { runs: [DAY, -1, DAY] }],
  ])('is uncertain: %s', (_name, fields) => {
    expect(after([score(3)], fields)).toBeNull();
  });

  test('is uncertain if the run has changed since', () => {
    const yesterday = { ...counted, updatedMs: NOON - DAY_MS };
    expect(caughtUp([score(3)], now, yesterday, filling({ runs: [DAY - 1, DAY, DAY + 1] }))).toBeNull();
  });

  test.each<[string, PlanBoard['fold'], number, number]>([
    ['a higher one', 'max', 9, 9],
    ['not a lower one', 'max', 3, 5],
    ['a lower one', 'min', 3, 3],
    ['not a higher one', 'min', 9, 5],
    ['the last one', 'last', 3, 3],
  ])('the own score wins if it is better: %s', (_name, fold, value, expected) => {
    const user = freshUser({ scores: [own(value)], scoreTimes: [{ board: 8, runDay: DAY, reached: 70 }] });
    const [found] = after([score(5, { reached: 60 })], { fold: fold!, floor: NO_SCORE }, user)!;
    expect(found?.whole).toBe(expected);
  });

  test('of equal scores, the earlier one counts', () => {
    const user = freshUser({ scores: [own(5)], scoreTimes: [{ board: 8, runDay: DAY, reached: 50 }] });
    expect(after([score(5, { reached: 60 })], { fold: 'max', floor: NO_SCORE, ties: true }, user)).toMatchObject([
      { reached: 50 },
    ]);
  });
});

test('a leaderboard of streaks takes the settled length', () => {
  const streaks = (lastDay: number) => ({ ...freshUser().streaks, daily: dailyStreak(3, lastDay) });
  expect(streakScore(freshUser({ streaks: streaks(DAY - 1) }), planOf(), NOON)).toBe(3);
  expect(streakScore(freshUser({ streaks: streaks(DAY - 2) }), planOf(), NOON)).toBe(0);
});
