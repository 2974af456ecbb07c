import { describe, expect, test } from 'vitest';
import { payTime } from '../../src/rules/clock.ts';
import { applyEvent } from '../../src/rules/event.ts';
import type { PlanSystem, PlanTrigger } from '../../src/rules/plan.ts';
import { recomputeLevels, reverseLevels } from '../../src/rules/points.ts';
import { isRefusal } from '../../src/rules/refusal.ts';
import { applyRequest } from '../../src/rules/request.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, eventOf, freshUser, NOON, planOf, surroundings, systemOf } from './surroundings.ts';

// A user has system 5 with a point for each unit of the metric, and its levels 31, 32 and 33 from 10, 20 and 30 points on.

const LEVELS = [
  { no: 31, points: 10 },
  { no: 32, points: 20 },
  { no: 33, points: 30 },
];
const metric: PlanTrigger = { no: 20, points: 1, threshold: 1 };
const level = (points: number, fields: Partial<PlanTrigger> = {}): PlanTrigger => ({
  no: 21,
  points,
  watched: 5,
  levels: LEVELS,
  ...fields,
});
/** The watched system and another one, whose triggers are `others`. */
const systems = (own: PlanTrigger[], others: PlanTrigger[] = []): PlanSystem[] => [
  systemOf({ metric: [metric], level: own }),
  systemOf({ no: 6, level: others }),
];

const happen = (user: User, all: PlanSystem[], value: number, nowMs = NOON) =>
  applyEvent(user, eventOf(value), surroundings(planOf({ systems: all, blocks: true }), { nowMs }));

/** Applies an event; returns each award as `[system, trigger, points, total]`. */
function awarded(user: User, all: PlanSystem[], value: number, nowMs = NOON): number[][] {
  const outcome = happen(user, all, value, nowMs);
  if (isRefusal(outcome) || outcome.kind !== 'applied') throw new Error('not applied');
  return outcome.ledgers.flatMap(({ system, awards }) =>
    awards
      .filter(({ trigger }) => trigger !== 20)
      .map(({ trigger, points, after }) => [system.no, trigger, points, after]),
  );
}

describe('a level that is reached', () => {
  test('pays in the same change, in the system of the trigger, once per level', () => {
    const all = systems([], [level(5)]);
    const user = freshUser();
    expect(awarded(user, all, 9)).toEqual([]);
    expect(awarded(user, all, 1)).toEqual([[6, 21, 5, 5]]);
    expect(awarded(user, all, 9)).toEqual([]);
    expect(user.points).toEqual(
      new Map([
        [5, 19],
        [6, 5],
      ]),
    );
    expect([...user.paidMs]).toEqual([[31, NOON]]);
  });

  test('pays for all levels that one change reaches, in one award', () => {
    expect(awarded(freshUser(), systems([], [level(5)]), 25)).toEqual([[6, 21, 10, 10]]);
  });

  test('only the named level counts', () => {
    const all = systems([], [level(5, { levels: [LEVELS[1]!] })]);
    const user = freshUser();
    expect([awarded(user, all, 19), awarded(user, all, 1), awarded(user, all, 30)]).toEqual([[], [[6, 21, 5, 5]], []]);
  });

  test('may lead to the next levels of the same system: each pays once, so it ends', () => {
    const all = systems([level(10)]);
    expect(awarded(freshUser(), all, 10)).toEqual([
      [5, 21, 10, 20],
      [5, 21, 10, 30],
      [5, 21, 10, 40],
    ]);
  });

  test('two systems that pay for the levels of each other end, too', () => {
    const mutual = [level(10, { no: 22, watched: 6, levels: [{ no: 41, points: 5 }] })];
    const all = systems(mutual, [level(5)]);
    expect(awarded(freshUser(), all, 10)).toEqual([
      [5, 22, 10, 20],
      [6, 21, 5, 5],
      [6, 21, 5, 10],
    ]);
  });

  test('pays again neither after the total fell, nor if the user had it before the trigger', () => {
    const all = systems([], [level(5)]);
    const lowering = systemOf({ metric: [{ ...metric, points: -1 }], level: [] });
    const user = freshUser();
    expect(awarded(user, all, 12)).toHaveLength(1);
    awarded(user, [lowering], 8);
    expect(user.points.get(5)).toBe(4);
    expect(awarded(user, all, 12)).toEqual([]);
    expect(awarded(freshUser({ points: new Map([[5, 15]]) }), all, 1)).toEqual([]);
  });

  test('does not pay users who do not meet the conditions, then or later', () => {
    const all = systems([], [level(5, { users: [[1, 'gold']] })]);
    const user = freshUser();
    expect(awarded(user, all, 10)).toEqual([]);
    user.attributes.set(1, 'gold');
    expect(awarded(user, all, 1)).toEqual([]);
    expect(awarded(user, all, 9)).toEqual([[6, 21, 5, 5]]);
  });

  test('a trigger that deducts and blocks refuses the event if the balance is too low', () => {
    const all = systems([], [level(-5, { blocks: true })]);
    expect(happen(freshUser(), all, 10)).toEqual({ refusal: 'outOfPoints', trigger: 21 });
    const rich = freshUser({ points: new Map([[6, 5]]) });
    expect(awarded(rich, all, 10)).toEqual([[6, 21, -5, 0]]);
  });

  test('counts on leaderboards of the points', () => {
    const board = { no: 8, by: 'points' as const, system: 6, runs: [DAY, DAY, DAY] };
    const plan = planOf({ systems: systems([], [level(5)]), boards: [board] });
    const outcome = applyEvent(freshUser(), eventOf(10), surroundings(plan));
    expect(outcome).toMatchObject({ kind: 'applied', scores: [{ oldScore: 0, score: 5 }] });
  });
});

describe('changes other than events', () => {
  const points = ({ ledgers }: { ledgers: readonly { system: { no: number }; total: number }[] }) =>
    Object.fromEntries(ledgers.map(({ system, total }) => [system.no, total]));

  test('an achievement that a request completes, and the creation of the user', () => {
    const all = [
      systemOf({ creation: [{ no: 19, points: 4 }], achievement: [{ no: 20, points: 6, achievement: 3 }] }),
      systemOf({ no: 6, level: [level(5)] }),
    ];
    const request = { sent: null, ownBoosts: null, achievement: { no: 3 } };
    const outcome = applyRequest(freshUser(), request, { plan: planOf({ systems: all }), nowMs: NOON, isNew: true });
    expect(isRefusal(outcome) ? outcome : points(outcome)).toEqual({ 5: 10, 6: 5 });
  });

  test('elapsed time', () => {
    const all = [systemOf({ time: [{ no: 20, points: 10 }] }), systemOf({ no: 6, level: [level(5)] })];
    const user = freshUser();
    const due = { triggers: [20], dueMs: NOON, ownBoosts: null };
    expect(points(payTime(user, planOf({ systems: all }), due)!)).toEqual({ 5: 10, 6: 5 });
    expect(payTime(user, planOf({ systems: all }), due), 'a repetition').toBeNull();
  });
});

describe('corrections', () => {
  const all = systems([], [level(5)]);
  const SECOND = NOON + 1_000;
  /** A user who reached level 31 at noon and level 32 a second later. */
  function risen(): User {
    const user = freshUser();
    awarded(user, all, 10, NOON);
    awarded(user, all, 10, SECOND);
    return user;
  }
  const taken = (atMs: number) => [{ trigger: 21, atMs }];

  test('a level whose award was reversed can be reached again, others cannot; in any order of reversals', () => {
    const results = [
      [NOON, SECOND],
      [SECOND, NOON],
    ].map((times) => {
      const user = risen();
      for (const atMs of times) reverseLevels(user, all, { awards: taken(atMs), voids: true });
      reverseLevels(user, all, { awards: taken(SECOND), voids: false });
      user.points.set(5, 0);
      return [[...user.paidMs], awarded(user, all, 25)];
    });
    expect(results[0]).toEqual(results[1]);
    expect(results[0]).toEqual([
      [
        [31, -NOON],
        [32, SECOND],
      ],
      [[6, 21, 5, 15]],
    ]);
  });

  test('after a recomputation, levels are reached as its totals say', () => {
    const user = risen();
    user.points.set(5, 15);
    recomputeLevels(user, all, new Set([99]), SECOND);
    expect([...user.paidMs.keys()], 'no award of the trigger changed').toEqual([31, 32]);
    recomputeLevels(user, all, new Set([21]), SECOND);
    expect([...user.paidMs.keys()]).toEqual([31]);
    user.points.set(5, 40);
    recomputeLevels(user, all, new Set([21]), SECOND);
    expect([...user.paidMs.keys()]).toEqual([31, 32, 33]);
  });
});
