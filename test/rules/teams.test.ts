import { expect, test } from 'vitest';
import { MOST_STAYS } from '../../src/packed/user-fields.ts';
import { allMoves, correct, credit } from '../../src/rules/teams.ts';
import type { User } from '../../src/rules/user.ts';
import { boardOf, DAY, decimal, freshUser, NOON } from './surroundings.ts';

const TEAM = 3;
const board = boardOf({ team: TEAM });
const RUN = { board: 8, runDay: DAY };

const earn = (user: User, team: string | null, value: number, nowMs = NOON) => {
  if (team === null) user.attributes.delete(TEAM);
  else user.attributes.set(TEAM, team);
  return credit(user, board, { runDay: DAY, earned: decimal(value), nowMs });
};

test('what a user earns counts for the present team; the first value makes a member', () => {
  const user = freshUser();
  expect(earn(user, 'red', 5)).toEqual([{ team: 'red', ...decimal(5), members: 1 }]);
  expect(earn(user, 'red', 0.5)).toEqual([{ team: 'red', ...decimal(0.5), members: 0 }]);
  expect(earn(user, 'red', -5.5)).toEqual([{ team: 'red', ...decimal(-5.5), members: -1 }]);
});

test('a user without a team earns for none, and keeps what was earned', () => {
  const user = freshUser();
  expect(earn(user, null, 5)).toBe(null);
  expect(earn(user, 'red', 2)).toMatchObject([{ team: 'red', whole: 2 }]);
  expect(user.stays.map(({ team, whole }) => [team, whole])).toEqual([
    ['', 5],
    ['red', 2],
  ]);
});

test('a user who changes the team leaves the earned behind, and is a member of both', () => {
  const user = freshUser();
  earn(user, 'red', 5);
  expect(earn(user, 'blue', 3)).toEqual([{ team: 'blue', ...decimal(3), members: 1 }]);
  expect(earn(user, 'red', 1)).toEqual([{ team: 'red', ...decimal(1), members: 0 }]);
  expect(allMoves(user, RUN, 1)).toEqual([
    { team: 'red', ...decimal(6), members: 1 },
    { team: 'blue', ...decimal(3), members: 1 },
  ]);
  expect(allMoves(user, RUN, -1)).toMatchObject([
    { whole: -6, members: -1 },
    { whole: -3, members: -1 },
  ]);
});

test('after the most stays, the last one goes on', () => {
  const user = freshUser();
  for (let at = 0; at < MOST_STAYS + 2; at += 1) earn(user, `team ${at}`, 1);
  expect(user.stays).toHaveLength(MOST_STAYS);
  expect(user.stays.at(-1)).toMatchObject({ team: `team ${MOST_STAYS - 1}`, whole: 3 });
});

test.each([
  ['in the first team', 0, 'red'],
  ['in the second team', 1000, 'blue'],
  ['before the first stay', -1000, 'red'],
])('a correction goes to the team of that time: %s', (_name, later, team) => {
  const user = freshUser();
  earn(user, 'red', 5, NOON);
  earn(user, 'blue', 3, NOON + 1000);
  const moves = correct(user, board, { runDay: DAY, earned: decimal(-2), atMs: NOON + later });
  expect(moves).toMatchObject([{ team, whole: -2 }]);
});

test('stays of runs that accept no event are dropped', () => {
  const old = { board: 8, runDay: DAY - 1, sinceMs: 0, team: 'red', whole: 1, micros: 0 };
  const user = freshUser({ stays: [old, { ...old, board: 9 }] });
  earn(user, 'red', 1);
  expect(user.stays.map((stay) => [stay.board, stay.runDay])).toEqual([
    [9, DAY - 1],
    [8, DAY],
  ]);
});
