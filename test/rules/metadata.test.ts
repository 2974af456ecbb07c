import { expect, test } from 'vitest';
import { putScore, scoreBoards } from '../../src/rules/leaderboards.ts';
import { dropMetadataOf } from '../../src/rules/metadata.ts';
import type { PlanBoard } from '../../src/rules/plan.ts';
import type { User } from '../../src/rules/user.ts';
import { boardOf, DAY, decimal, freshUser, NOON, planOf } from './surroundings.ts';

const FLOOR = -1e15;
const BEST = { no: 8, fold: 'max', floor: FLOOR, metadata: true } as const;
const SUM = { no: 9, metadata: true } as const;

const eventNo = (no: number): string => String(no).padStart(32, '0');

function score(user: User, boards: Partial<PlanBoard>[], { value, no }: { value: number; no: number | null }) {
  const metadata = no === null ? {} : { metadata: { event: eventNo(no), json: `{"no":${no}}` } };
  return scoreBoards(user, {
    plan: planOf({ boards: boards.map((board) => boardOf(board)) }),
    nowMs: NOON,
    day: DAY,
    second: 43_200,
    ledgers: [],
    length: 0,
    event: { value: decimal(value), reached: 1000, occurred: null, ...metadata },
  });
}

/** The number of the event whose metadata an entry has. */
const shown = (user: User, board: number): number | null => {
  const sent = user.metadata.find(({ runs }) => runs.some((run) => run.board === board && run.runDay === DAY));
  return sent === undefined ? null : Number(sent.event);
};

test.each<[string, Partial<PlanBoard>, [value: number, no: number | null][], (number | null)[]]>([
  [
    'the highest value',
    BEST,
    [
      [5, 1],
      [3, 2],
      [9, 3],
      [9, 4],
      [11, null],
    ],
    [1, 1, 3, 3, null],
  ],
  [
    'the lowest value',
    { ...BEST, fold: 'min' },
    [
      [5, 1],
      [7, 2],
      [3, null],
    ],
    [1, 1, null],
  ],
  [
    'a sum',
    SUM,
    [
      [5, 1],
      [3, null],
      [0, 2],
      [-2, 3],
    ],
    [1, 1, 1, 3],
  ],
  ['a board that keeps none', { no: 8 }, [[5, 1]], [null]],
])('%s', (_name, board, events, expected) => {
  const user = freshUser();
  const found = events.map(([value, no]) => {
    score(user, [board], { value, no });
    return shown(user, board.no!);
  });
  expect(found).toEqual(expected);
});

test('an event is stored once for all of its boards, and no longer once none of them shows it', () => {
  const user = freshUser();
  score(user, [BEST, SUM], { value: 5, no: 1 });
  expect(user.metadata).toEqual([
    {
      event: eventNo(1),
      json: '{"no":1}',
      runs: [
        { board: 8, runDay: DAY },
        { board: 9, runDay: DAY },
      ],
    },
  ]);
  score(user, [BEST, SUM], { value: 3, no: 2 });
  expect([shown(user, 8), shown(user, 9)]).toEqual([1, 2]);
  score(user, [BEST, SUM], { value: 7, no: null });
  expect([shown(user, 8), shown(user, 9)]).toEqual([null, 2]);
  dropMetadataOf(user, eventNo(2));
  expect(user.metadata).toEqual([]);
});

test('a board that no longer keeps metadata does not keep that of a score it has no longer', () => {
  const user = freshUser();
  score(user, [BEST], { value: 5, no: 1 });
  score(user, [{ no: 8, fold: 'max', floor: FLOOR }], { value: 6, no: 2 });
  expect(user.metadata).toEqual([]);
});

test('a correction that changes a best score removes its metadata; the same score keeps it', () => {
  const user = freshUser();
  score(user, [BEST, SUM], { value: 5, no: 1 });
  putScore(user, boardOf(BEST), '', { runDay: DAY, ...decimal(5), reached: null });
  putScore(user, boardOf(SUM), '', { runDay: DAY, ...decimal(4), reached: null });
  expect([shown(user, 8), shown(user, 9)]).toEqual([1, 1]);
  putScore(user, boardOf(BEST), '', { runDay: DAY, ...decimal(4), reached: null });
  expect([shown(user, 8), shown(user, 9)]).toEqual([null, 1]);
  putScore(user, boardOf({ ...SUM, floor: FLOOR }), '', { runDay: DAY, ...decimal(FLOOR), reached: null });
  expect(user.metadata).toEqual([]);
});

test('a user keeps the metadata of the last 32 events', () => {
  const user = freshUser();
  for (let no = 1; no <= 40; no += 1) score(user, [{ ...SUM, no }], { value: 1, no });
  expect(user.metadata.map(({ event }) => Number(event))).toEqual(Array.from({ length: 32 }, (_, index) => index + 9));
});
