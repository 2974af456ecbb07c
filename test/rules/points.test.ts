import { expect, test } from 'vitest';
import type { PlanBoost, PlanSystem, PlanTrigger } from '../../src/rules/plan.ts';
import {
  award,
  balanceOf,
  blockedBy,
  closeLedgers,
  fireTriggers,
  multiplesCrossed,
  openLedgers,
  type Occasion,
  welcome,
} from '../../src/rules/points.ts';
import { addToTotal } from '../../src/rules/sums.ts';
import type { User } from '../../src/rules/user.ts';
import { DAY, decimal, freshUser, METRIC, NOON, systemOf } from './surroundings.ts';

const open = (system: PlanSystem, user: User = freshUser(), ownBoosts: PlanBoost[] = []) =>
  openLedgers([system], user, { 5: ownBoosts }, NOON)[0]!;

const boost = (multiplier: number, fields: Partial<PlanBoost> = {}): PlanBoost => ({
  no: 2,
  from: DAY,
  multiplier,
  rounding: 2,
  ...fields,
});
const trigger = (points: number, fields: Partial<PlanTrigger> = {}): PlanTrigger => ({ no: 7, points, ...fields });

/** Awards of a trigger that fires a number of times. */
function pay(
  points: number,
  given: { boosts?: PlanBoost[]; max?: number; had?: number; times?: number; own?: PlanBoost[] } = {},
) {
  const { boosts = [], max, had = 0, times = 1, own = [] } = given;
  const user = freshUser({ points: new Map(had === 0 ? [] : [[5, had]]), attributes: new Map([[1, 'gold']]) });
  const ledger = open(systemOf({ boosts, ...(max !== undefined && { max }) }), user, own);
  award(ledger, trigger(points), { times, user, day: DAY });
  return ledger.awards.map((each) => each.points);
}

const [DOWN, NEAREST, UP] = [1, 2, 3] as const;

test.each<[string, number, PlanBoost[], number]>([
  ['no boost', 5, [], 5],
  ['multipliers are multiplied', 5, [boost(2), boost(3)], 30],
  ['and rounded once', 5, [boost(1.1), boost(1.1)], 6],
  ['nearest', 5, [boost(1.5, { rounding: NEAREST })], 8],
  ['down', 5, [boost(1.5, { rounding: DOWN })], 7],
  ['up', 5, [boost(1.1, { rounding: UP })], 6],
  ['down beats nearest', 5, [boost(1.5, { rounding: NEAREST }), boost(1, { rounding: DOWN })], 7],
  ['nearest beats up', 4, [boost(1.1, { rounding: UP }), boost(1, { rounding: NEAREST })], 4],
  ['a product that is whole is not rounded up', 10, [boost(1.1, { rounding: UP })], 11],
  ['nor down', 12_345_678_900, [boost(1.1, { rounding: DOWN })], 13_580_246_790],
  ['a deduction is not boosted', -5, [boost(2)], -5],
  ['the last day is inside', 5, [boost(2, { to: DAY })], 10],
  ['a boost of yesterday', 5, [boost(2, { from: DAY - 2, to: DAY - 1 })], 5],
  ['a boost of tomorrow', 5, [boost(2, { from: DAY + 1 })], 5],
  ['the user has the attribute', 5, [boost(2, { users: [[1, 'gold']] })], 10],
  ['the user has another attribute', 5, [boost(2, { users: [[1, 'silver']] })], 5],
])('boosts: %s', (_name, points, boosts, expected) => {
  expect(pay(points, { boosts, had: 20 })).toEqual([expected]);
});

test("a user's own boosts count like global ones", () => {
  expect(pay(5, { boosts: [boost(2)], own: [boost(3, { no: 3 })] })).toEqual([30]);
});

test('one award for all multiples: boosts multiply and round their sum', () => {
  expect(pay(1, { times: 3, boosts: [boost(1.5, { rounding: DOWN })] })).toEqual([4]);
});

test.each<[string, number, number, number | undefined, number[]]>([
  ['up to the maximum', 30, 80, 100, [20]],
  ['at the maximum', 30, 100, 100, []],
  ['above a maximum that was lowered', 30, 120, 100, []],
  ['down to 0', -30, 20, undefined, [-20]],
  ['at 0', -30, 0, undefined, []],
])('an award is what was really added: %s', (_name, points, had, max, expected) => {
  expect(pay(points, { had, ...(max !== undefined && { max }) })).toEqual(expected);
});

test('the crossed multiples are those above the highest total ever', () => {
  const totals: User['totals'] = new Map();
  const crossed = [95, 200, -250, 200, 100, 1050, -2000, 2000].map((value) => {
    const total = addToTotal(totals, METRIC, decimal(value));
    return multiplesCrossed(trigger(1, { threshold: 100 }), freshUser(), { total, counts: new Map() });
  });
  // Totals: 95, 295, 45, 245, 345, 1395, -605, 1395.
  expect(crossed).toEqual([0, 2, 0, 0, 1, 10, 0, 0]);
});

test('a total that begins below 0 crosses multiples above 0 only', () => {
  const totals: User['totals'] = new Map();
  const crossed = [-250, 300, 49.5, 0.5].map((value) => {
    const total = addToTotal(totals, METRIC, decimal(value));
    return multiplesCrossed(trigger(1, { threshold: 50 }), freshUser(), { total, counts: new Map() });
  });
  expect(crossed).toEqual([0, 1, 0, 1]);
});

test('a trigger that counts matching events compares its own count', () => {
  const counted = trigger(1, { threshold: 10, counted: true });
  const total = { before: 0, after: 1000 };
  expect(multiplesCrossed(counted, freshUser(), { total, counts: new Map([[7, { before: 5, after: 25 }]]) })).toBe(2);
  expect(multiplesCrossed(counted, freshUser(), { total, counts: new Map() })).toBe(0);
});

const occasion = (fields: Partial<Occasion> = {}): Occasion => ({
  day: DAY,
  total: null,
  counts: new Map(),
  reached: { is: [], was: [] },
  completed: [],
  ...fields,
});

test('triggers fire in the order user_creation, metric, streak, achievement, and the cap applies at each', () => {
  const system = systemOf({
    max: 100,
    creation: [trigger(60, { no: 1 })],
    metric: [trigger(60, { no: 2, threshold: 10 })],
    streak: [trigger(-30, { no: 3, length: 5 })],
    achievement: [trigger(50, { no: 4, achievement: 6 })],
  });
  const user = freshUser();
  const ledger = open(system, user);
  welcome([ledger], user, DAY);
  const unpaid = fireTriggers(
    [ledger],
    user,
    occasion({ total: { before: 0, after: 10 }, reached: { is: [10], was: [] }, completed: [6] }),
  );
  closeLedgers([ledger], user);
  expect(unpaid).toBe(null);
  expect(ledger.awards.map((each) => [each.trigger, each.points, each.after])).toEqual([
    [1, 60, 60],
    [2, 40, 100],
    [3, -30, 70],
    [4, 30, 100],
  ]);
  expect(user.points).toEqual(new Map([[5, 100]]));
});

test.each([
  [[5], [], 1],
  [[10], [], 1],
  [[7], [], 0],
  // A late event: the streak had reached 5 without it.
  [[5], [5], 0],
  [[5, 10], [5], 1],
])('a streak trigger of length 5: reached %j, before %j', (is, was, awards) => {
  const ledger = open(systemOf({ streak: [trigger(1, { length: 5 })] }));
  fireTriggers([ledger], freshUser(), occasion({ reached: { is, was } }));
  expect(ledger.awards).toHaveLength(awards);
});

test('conditions on user attributes decide whether a trigger fires', () => {
  const users: [number, string][] = [[1, 'gold']];
  const system = systemOf({ achievement: [trigger(5, { achievement: 6, users })] });
  const paid = ['gold', 'silver'].map((value) => {
    const ledger = open(system);
    fireTriggers([ledger], freshUser({ attributes: new Map([[1, value]]) }), occasion({ completed: [6] }));
    return ledger.total;
  });
  expect(paid).toEqual([5, 0]);
});

test('the balance is the total without what was spent and what is held', () => {
  const held = { system: 5, id: 'a', amount: 30, expiresMs: NOON + 1 };
  const user = freshUser({
    points: new Map([[5, 100]]),
    spent: new Map([[5, 20]]),
    holds: [held, { ...held, expiresMs: NOON }, { ...held, system: 6 }],
  });
  expect(balanceOf(user, 5, NOON)).toBe(50);
});

test.each<[string, number, number, number | null]>([
  ['the balance suffices exactly', 20, 2, null],
  ['one point is missing', 19, 2, 7],
  ['no multiple is crossed', 0, 0, null],
])('a blocking trigger: %s', (_name, had, times, expected) => {
  const user = freshUser({ points: new Map([[5, had]]) });
  const blocking = trigger(-10, { threshold: 1, blocks: true });
  const ledgers = [open(systemOf({ metric: [blocking] }), user)];
  expect(blockedBy(ledgers, user, { total: { before: 0, after: times }, counts: new Map() })).toBe(expected);
});

test('the deductions of one system add up, and what the event itself pays does not count', () => {
  const user = freshUser({ points: new Map([[5, 15]]) });
  const metric = [
    trigger(100, { no: 1, threshold: 1 }),
    trigger(-10, { no: 2, threshold: 1, blocks: true }),
    trigger(-10, { no: 3, threshold: 1, blocks: true }),
  ];
  const peaks = { total: { before: 0, after: 1 }, counts: new Map() };
  expect(blockedBy([open(systemOf({ metric }), user)], user, peaks)).toBe(3);
});

test('a blocking achievement trigger that cannot be paid is named', () => {
  const system = systemOf({ achievement: [trigger(-10, { achievement: 6, blocks: true })] });
  expect(fireTriggers([open(system)], freshUser(), occasion({ completed: [6] }))).toBe(7);
});
