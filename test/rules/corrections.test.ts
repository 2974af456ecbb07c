import { describe, expect, test } from 'vitest';
import { NO_SCORE } from '../../src/domain/leaderboard.ts';
import type { Compensated, PackedCompletion } from '../../src/packed/record.ts';
import { compensate } from '../../src/rules/compensation.ts';
import { type PlannedUser, recompute, type RecomputationStep } from '../../src/rules/recomputation.ts';
import { isRefusal } from '../../src/rules/refusal.ts';
import { type Reversal, reverse, type ReversalOutcome } from '../../src/rules/reversal.ts';
import type { Score, User } from '../../src/rules/user.ts';
import { boardOf, DAY, decimal, freshUser, METRIC, NOON, planOf, streakOf, totalsOf } from './surroundings.ts';

const SYSTEM = 5;
const ACHIEVEMENT = 3;

const award = (id: string, points: number, day?: number): Compensated =>
  day === undefined ? [id, SYSTEM, 7, points] : [id, SYSTEM, 7, points, day];
const withPoints = (total: number, owed: number | null = null): User =>
  freshUser({ points: new Map([[SYSTEM, total]]), owed: new Map(owed === null ? [] : [[SYSTEM, owed]]) });
const scoreOf = (value: number, fields: Partial<Score> = {}): Score => ({
  board: 8,
  runDay: DAY,
  group: '',
  ...decimal(value),
  ...fields,
});

describe('points that are taken back and given back', () => {
  const LIMITS = { [SYSTEM]: 100 };
  const take = (
    user: User,
    awards: Compensated[],
    held: string[] = [],
    limits: Record<number, number> | null = LIMITS,
  ) => {
    const { moves, shortfalls, movedBy } = compensate(user, awards, { held, limits });
    const [total, owed] = [user.points.get(SYSTEM) ?? 0, user.owed.get(SYSTEM) ?? 0];
    return {
      total,
      owed,
      moved: Object.fromEntries(movedBy),
      shortfalls,
      awards: moves.flatMap((move) => move.awards),
    };
  };

  test('a total falls to 0 at most; the rest is owed, and deducted from what is given later', () => {
    const user = withPoints(10);
    expect(take(user, [award('a', 30)])).toMatchObject({
      total: 0,
      owed: 20,
      moved: { a: -10 },
      shortfalls: [[5, 20]],
    });
    expect(user.points.has(SYSTEM)).toBe(false);
    expect(take(user, [award('b', -25)])).toMatchObject({ total: 5, owed: 0, moved: { b: 5 }, shortfalls: [] });
    expect(user.owed.size).toBe(0);
  });

  test('a total rises to the maximum at most; the rest is owed to the user, and not taken later', () => {
    const user = withPoints(95);
    expect(take(user, [award('a', -8)])).toMatchObject({ total: 100, owed: -3, moved: { a: 5 }, shortfalls: [] });
    expect(take(user, [award('b', 8)])).toMatchObject({ total: 95, owed: 0, moved: { b: -5 } });
  });

  test('without limits, exactly what is asked is given and taken', () => {
    expect(take(withPoints(95, -3), [award('a', -8)], [], null)).toMatchObject({ total: 103, owed: -3 });
    expect(take(withPoints(95, -3), [award('a', 8)], [], null)).toMatchObject({ total: 87, owed: -3 });
  });

  test('gives before it takes, leaves held awards, and dates the awards', () => {
    expect(take(withPoints(0), [award('a', 4), award('b', -6, DAY - 2), award('c', 5)], ['c'])).toEqual({
      total: 2,
      owed: 0,
      moved: { b: 6, a: -4 },
      shortfalls: [],
      awards: [
        { trigger: 7, points: 6, after: 6, boosts: [], day: DAY - 2 },
        { trigger: 7, points: -4, after: 2, boosts: [] },
      ],
    });
  });

  test('the order of reversals does not matter', () => {
    const all = [award('a', 40), award('b', -15), award('c', 7), award('d', -60)];
    const results = [all, all.toReversed()].map((awards) => {
      const user = withPoints(20);
      for (const each of awards) take(user, [each]);
      return [user.points.get(SYSTEM) ?? 0, user.owed.get(SYSTEM) ?? 0];
    });
    expect(results[0]).toEqual([48, 0]);
    expect(results[1]).toEqual(results[0]);
  });
});

describe('reversals', () => {
  const reversal = (fields: Partial<Reversal> = {}): Reversal => ({
    root: 'root',
    reversed: 'root',
    voids: true,
    metric: METRIC,
    value: decimal(4),
    occurredMs: NOON,
    occurredDay: DAY,
    day: DAY,
    attributes: '',
    replayed: {
      streaks: { daily: streakOf({}), weekly: streakOf({}), monthly: streakOf({}) } as never,
      freezes: 0,
      earnedDay: null,
      settlements: { streaks: [], beside: [] },
    },
    superseded: [],
    repairs: [],
    counted: [],
    quests: [],
    awards: [],
    held: [],
    limits: {},
    revoked: [],
    restored: [],
    boards: [],
    ...fields,
  });
  const reversed = (user: User, fields: Partial<Reversal> = {}): ReversalOutcome => {
    const outcome = reverse(user, reversal(fields), planOf(), NOON);
    if (isRefusal(outcome)) throw new Error(outcome.refusal);
    return outcome;
  };

  test('takes the value from the total and the counts, and lowers the peak, so that it can be earned again', () => {
    const user = freshUser({ totals: totalsOf({ [METRIC]: 10 }), counts: totalsOf({ 3: 9.5 }) });
    expect(reversed(user, { counted: [3] })).toMatchObject({ total: decimal(6), endedStreak: null });
    expect([user.totals.get(METRIC), user.counts.get(3)]).toEqual([
      { ...decimal(6), peak: null },
      { ...decimal(5.5), peak: null },
    ]);
    expect(user.corrections).toBe(1);
  });

  test('a total may not leave its range', () => {
    const user = freshUser({ totals: totalsOf({ [METRIC]: -999_999_999_999_999 }) });
    const outcome = reverse(user, reversal(), planOf(), NOON);
    expect(outcome).toEqual({ refusal: 'outOfRange', metric: METRIC, sum: 'total' });
  });

  test('says which streak it ended', () => {
    const user = freshUser();
    user.streaks.daily = streakOf({ length: 3, startDay: DAY - 2, lastPeriod: DAY, currentPeriod: DAY });
    expect(reversed(user).endedStreak).toBe(3);
  });

  describe('achievements', () => {
    const achievement = { no: ACHIEVEMENT, metric: METRIC, whole: 5, micros: 0 };
    const having = (total: number): User =>
      freshUser({
        totals: totalsOf({ [METRIC]: total }),
        completions: new Map([[ACHIEVEMENT, NOON - 1]]),
        points: new Map([[SYSTEM, 20]]),
      });
    const revoked = [{ achievement, awards: [award('of the achievement', 8)] }];

    test('go with their awards, unless the user still qualifies', () => {
      const gone = having(8);
      expect(reversed(gone, { revoked })).toMatchObject({
        revoked: [[ACHIEVEMENT, NOON - 1]],
        completions: [[ACHIEVEMENT, -1]],
        ledgers: [{ before: 20, total: 12 }],
      });
      expect(gone.completions.size).toBe(0);
      expect(reversed(having(9), { revoked })).toMatchObject({ revoked: [], completions: [], ledgers: [] });
    });

    test('come back unchanged, unless the user has them', () => {
      const restored: PackedCompletion[] = [[ACHIEVEMENT, NOON - 5]];
      const user = freshUser();
      expect(reversed(user, { restored })).toMatchObject({ restored, completions: [[ACHIEVEMENT, 1]] });
      expect(user.completions.get(ACHIEVEMENT)).toBe(NOON - 5);
      expect(reversed(user, { restored })).toMatchObject({ restored: [], completions: [] });
    });

    test('of a period: only the last one is counted as gone, and the time of the latest other one stays', () => {
      const user = freshUser({
        completions: new Map([[ACHIEVEMENT, NOON]]),
        quests: new Map([[ACHIEVEMENT, { times: 2, periods: [{ period: DAY, ...decimal(6), done: true }] }]]),
      });
      const period: PackedCompletion = [ACHIEVEMENT, NOON, null, DAY];
      const quests = [{ no: ACHIEVEMENT, period: DAY }];
      const one = { achievement, awards: [], period, latest: NOON - 9 };
      expect(reversed(user, { quests, revoked: [one] })).toMatchObject({ revoked: [period], completions: [] });
      expect(user.quests.get(ACHIEVEMENT)).toEqual({
        times: 1,
        periods: [{ period: DAY, ...decimal(2), done: false }],
      });
      expect(user.completions.get(ACHIEVEMENT)).toBe(NOON - 9);
      const other = { achievement, awards: [], period: [ACHIEVEMENT, NOON - 9, null, DAY - 9] as PackedCompletion };
      expect(reversed(user, { revoked: [other] }).completions).toEqual([[ACHIEVEMENT, -1]]);
    });
  });

  describe('scores', () => {
    const correct = (user: User, fields: Partial<Reversal['boards'][number]>, awards: Compensated[] = []) =>
      reversed(user, { awards, boards: [{ board: boardOf(), run: DAY, ...fields }] }).scores;

    test('lose the value, in runs in which the user has a score', () => {
      const user = freshUser({ scores: [scoreOf(10)] });
      expect(correct(user, { earned: decimal(-4), atMs: NOON })).toMatchObject([{ oldScore: 10, score: 6 }]);
      expect(correct(freshUser(), { earned: decimal(-4), atMs: NOON })).toEqual([]);
      expect(correct(freshUser({ scores: [scoreOf(10)], hidden: 1 }), { earned: decimal(-4), atMs: NOON })).toEqual([]);
    });

    test('of points lose what was really taken', () => {
      const user = freshUser({ scores: [scoreOf(10)], points: new Map([[SYSTEM, 3]]) });
      const moved = correct(
        user,
        { board: boardOf({ by: 'points', system: SYSTEM }), awards: [{ id: 'a', atMs: NOON }] },
        [award('a', 8)],
      );
      expect(moved).toMatchObject([{ oldScore: 10, score: 7 }]);
    });

    test('are replaced where the best value counts, and removed if none is left', () => {
      const board = boardOf({ fold: 'max', floor: NO_SCORE });
      const user = freshUser({ scores: [scoreOf(10)] });
      const next = { runDay: DAY, ...decimal(7), reached: null };
      expect(correct(user, { board, score: next })).toMatchObject([{ oldScore: 10, score: 7 }]);
      expect(correct(user, { board, score: { runDay: DAY, whole: NO_SCORE, micros: 0, reached: null } })).toMatchObject(
        [{ oldScore: 7, score: NO_SCORE }],
      );
      expect(user.scores).toEqual([]);
    });

    test('are taken from the team of the time', () => {
      const stays = [
        { board: 8, runDay: DAY, sinceMs: NOON - 900, team: 'red', ...decimal(6) },
        { board: 8, runDay: DAY, sinceMs: NOON - 100, team: 'blue', ...decimal(4) },
      ];
      const user = freshUser({ scores: [scoreOf(10)], stays });
      expect(correct(user, { board: boardOf({ team: 1 }), earned: decimal(-4), atMs: NOON - 500 })).toMatchObject([
        { teams: [{ team: 'red', whole: -4, members: 0 }] },
      ]);
    });
  });
});

describe('recomputations', () => {
  const planned = (fields: Partial<PlannedUser> = {}): PlannedUser => ({
    created: NOON,
    complete: [],
    restore: [],
    revoke: [],
    awards: [],
    scores: [],
    keeps: false,
    ...fields,
  });
  const step = (fields: Partial<RecomputationStep> = {}): RecomputationStep => ({
    plan: planOf(),
    nowMs: NOON,
    step: 2,
    reverts: false,
    limits: {},
    scored: null,
    ...fields,
  });

  test('nothing is left to do: nothing is noted', () => {
    const user = freshUser({ completions: new Map([[ACHIEVEMENT, 1]]) });
    expect(recompute(user, planned({ complete: [ACHIEVEMENT] }), step())).toBeNull();
    expect(user.recomputed).toBeNull();
  });

  test('completes and revokes what is as planned, skips the rest, and pays only for what changed', () => {
    const user = freshUser({
      completions: new Map([
        [1, 111],
        [2, 222],
      ]),
      points: new Map([[SYSTEM, 50]]),
    });
    const awards = [1, 2, 3].map((achievement) => ({ award: award(`of ${achievement}`, achievement), achievement }));
    const revoke: PackedCompletion[] = [
      [1, 111],
      [2, 999],
    ];
    expect(recompute(user, planned({ complete: [3], revoke, awards }), step())).toMatchObject({
      completed: [3],
      revoked: [[1, 111]],
      skipped: [2],
      completions: [[1, -1]],
      awards: [award('of 1', 1), award('of 3', 3)],
      ledgers: [{ before: 50, total: 46 }],
    });
    expect([...user.completions]).toEqual([
      [2, 222],
      [3, NOON],
    ]);
    expect(user.recomputed).toBe(2);
  });

  test('gives up to the maximum; a revert gives back what exceeds it now', () => {
    const awards = [{ award: award('a', -30) }];
    const limits = { [SYSTEM]: 60 };
    const given = (reverts: boolean) => recompute(withPoints(50), planned({ awards }), step({ limits, reverts }));
    expect(given(false)).toMatchObject({ awards: [award('a', -10)], ledgers: [{ total: 60 }] });
    expect(given(true)).toMatchObject({ awards: [award('a', -30)], ledgers: [{ total: 80 }] });
  });

  test('lowers no total and no score if it may not', () => {
    const scored = [{ board: boardOf({ runs: [] }), runs: [{ first: DAY }], filled: false }];
    const fields = { awards: [{ award: award('a', 30) }], scores: [{ no: 8, run: DAY, ...decimal(-2) }] };
    const user = (): User => freshUser({ points: new Map([[SYSTEM, 50]]), scores: [scoreOf(10)] });
    expect(recompute(user(), planned({ ...fields, keeps: true }), step({ scored }))).toBeNull();
    expect(recompute(user(), planned(fields), step({ scored }))).toMatchObject({
      ledgers: [{ before: 50, total: 20 }],
      recomputed: [[8, DAY, -2, 0, '', '']],
      scores: [{ oldScore: 10, score: 8 }],
    });
  });

  test('awards count in the runs of their days; a leaderboard filled since then gets only these', () => {
    const board = boardOf({ by: 'points', system: SYSTEM, runs: [] });
    const runs = [{ first: DAY - 7, last: DAY - 1 }, { first: DAY }];
    const fields = {
      awards: [{ award: award('a', -3, DAY - 2) }, { award: award('b', -4, DAY) }],
      scores: [{ no: 8, run: DAY, ...decimal(20) }],
    };
    const scores = (filled: boolean): unknown =>
      recompute(freshUser(), planned(fields), step({ scored: [{ board, runs, filled }] }))?.scores.map(
        ({ runDay, score }) => [runDay, score],
      );
    expect(scores(false)).toEqual([
      [DAY - 7, 3],
      [DAY, 24],
    ]);
    expect(scores(true)).toEqual([
      [DAY - 7, 3],
      [DAY, 4],
    ]);
  });

  test('a revert takes from the team that received the points, whether scores are recomputed or not', () => {
    const board = boardOf({ by: 'points', system: SYSTEM, team: 1 });
    const stays = [
      { board: 8, runDay: DAY, sinceMs: NOON - 900, team: 'red', ...decimal(6) },
      { board: 8, runDay: DAY, sinceMs: NOON - 100, team: 'blue', ...decimal(4) },
    ];
    const changes = { awards: [{ award: award('a', 3) }], appliedMs: NOON - 500 };
    for (const scored of [null, [{ board, runs: [{ first: DAY }], filled: true }]]) {
      const user = freshUser({ points: new Map([[SYSTEM, 10]]), scores: [scoreOf(10)], stays: structuredClone(stays) });
      const around = step({ plan: planOf({ boards: scored === null ? [board] : [] }), reverts: true, scored });
      expect(recompute(user, planned(changes), around)?.scores).toMatchObject([
        { oldScore: 10, score: 7, teams: [{ team: 'red', whole: -3 }] },
      ]);
    }
  });

  test('a score that is no longer what the plan assumed stays; a revert returns to the group before', () => {
    const board = boardOf({ fold: 'max', floor: NO_SCORE, groups: [1], runs: [] });
    const scored = [{ board, runs: [{ first: DAY }], filled: false }];
    const attributes = new Map([[1, 'de']]);
    const move = { no: 8, run: DAY, ...decimal(0), was: [DAY, 5, 0, 0], becomes: [DAY, 9, 0, 0] } as const;
    const user = (value: number): User => freshUser({ attributes, scores: [scoreOf(value, { group: '2:de' })] });
    expect(recompute(user(6), planned({ scores: [move] }), step({ scored }))).toBeNull();
    expect(recompute(user(5), planned({ scores: [move] }), step({ scored }))?.scores).toMatchObject([
      { oldScore: 5, score: 9 },
    ]);
    const back = { ...move, group: '2:fr', instead: '2:de' };
    expect(recompute(user(5), planned({ scores: [back] }), step({ scored, reverts: true }))?.scores).toMatchObject([
      { oldGroup: '2:de', group: '2:fr', score: 9 },
    ]);
  });
});
