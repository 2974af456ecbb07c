import { describe, expect, test } from 'vitest';
import { NO_SCORE } from '../../src/domain/leaderboard.ts';
import { leaveSets, setHidden } from '../../src/rules/hiding.ts';
import type { PlanBoard } from '../../src/rules/plan.ts';
import type { User } from '../../src/rules/user.ts';
import { boardOf, DAY, decimal, freshUser, NOON } from './surroundings.ts';

const [ADMIN, OWN] = [1, 2];

const scoring = (value: number, fields: Partial<User> = {}): User =>
  freshUser({ scores: [{ board: 8, runDay: DAY, group: '', ...decimal(value) }], ...fields });

const set = (
  user: User,
  hidden: boolean,
  { by = ADMIN, board = {}, cleared = false }: { by?: number; board?: Partial<PlanBoard>; cleared?: boolean } = {},
) => setHidden(user, { by, hidden }, { boards: [boardOf(board)], isCleared: () => cleared, nowMs: NOON });

describe('hiding', () => {
  test('takes the user from the leaderboards; showing brings the score back; a repetition changes nothing', () => {
    const user = scoring(5);
    expect(set(user, true)).toMatchObject([{ oldScore: 5, score: 0, onlyGroup: false }]);
    expect(user.hidden).toBe(1);
    expect(set(user, true)).toBeNull();
    expect(set(user, false)).toMatchObject([{ oldScore: 0, score: 5 }]);
    expect(user.hidden).toBe(0);
    expect(set(user, false)).toBeNull();
  });

  test('lasts until neither the administrator nor the user wants it', () => {
    const user = scoring(5, { hidden: 1 });
    expect(set(user, true, { by: OWN })).toEqual([]);
    expect(set(user, false, { by: ADMIN })).toEqual([]);
    expect(user.hidden).toBe(2);
    expect(set(user, false, { by: OWN })).toMatchObject([{ score: 5 }]);
  });

  test('ranks are recorded only of current runs; cleared runs have no sets', () => {
    expect(set(scoring(5), true, { board: { runs: [DAY + 7] } })).toMatchObject([{ onlyGroup: true }]);
    expect(set(scoring(5), true, { cleared: true })).toEqual([]);
  });

  test('a user who is not ranked has no place to leave', () => {
    expect(set(scoring(0), true)).toEqual([]);
    expect(set(scoring(5), true, { board: { groups: [1] } })).toEqual([]);
  });

  test('what the user earned for teams goes, and comes back', () => {
    const stays = [{ board: 8, runDay: DAY, sinceMs: NOON, team: 'red', ...decimal(5) }];
    const user = scoring(5, { stays });
    const board = { team: 1 };
    expect(set(user, true, { board })).toMatchObject([{ teams: [{ team: 'red', whole: -5, members: -1 }] }]);
    expect(set(user, false, { board })).toMatchObject([{ teams: [{ team: 'red', whole: 5, members: 1 }] }]);
  });
});

test('a hidden user leaves the sets of all runs, under any member', () => {
  const user = scoring(5, { scoreTimes: [{ board: 8, runDay: DAY, reached: 70 }] });
  expect(leaveSets(user, [{ board: 9, runDay: DAY - 1, group: '2:de' }])).toMatchObject([
    { board: { no: 8 }, runDay: DAY, oldGroup: '', oldScore: 1, score: 0 },
    { board: { no: 8, ties: true }, runDay: DAY, oldScore: 0, score: NO_SCORE, oldReached: 70 },
    { board: { no: 9 }, runDay: DAY - 1, oldGroup: '2:de', oldScore: 1, score: 0 },
  ]);
});
