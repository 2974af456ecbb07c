import { expect, test } from 'vitest';
import { GUARD, GUARD_ACTION } from '../../src/packed/guard-fields.ts';
import {
  applyEvent,
  type EventOutcome,
  type EventSurroundings,
  type LateReplay,
  type RuleEvent,
} from '../../src/rules/event.ts';
import type { Plan } from '../../src/rules/plan.ts';
import type { User } from '../../src/rules/user.ts';
import {
  boardOf,
  DAY,
  DAY_MS,
  dailyStreak,
  decimal,
  EVENT_ID,
  eventOf,
  freshUser,
  METRIC,
  NOON,
  planOf,
  streakOf,
  surroundings,
  systemOf,
  totalsOf,
} from './surroundings.ts';

const apply = (user: User, event: RuleEvent, plan: Partial<Plan> = {}, around: Partial<EventSurroundings> = {}) =>
  applyEvent(user, event, surroundings(planOf(plan), around));

/** Applies an event that must be neither refused nor stopped. */
function applied(...call: Parameters<typeof apply>): EventOutcome {
  const outcome = apply(...call);
  if (!('kind' in outcome) || outcome.kind !== 'applied') throw new Error(`not applied: ${JSON.stringify(outcome)}`);
  return outcome;
}

const paidOf = ({ ledgers }: EventOutcome) => ledgers.flatMap(({ awards }) => awards.map(({ trigger }) => trigger));

/** The event reaches the achievement, which completes the composite, which pays points, which score. */
const CHAIN: Partial<Plan> = {
  achievements: [
    { no: 3, of: [1, 2] },
    { no: 1, metric: METRIC, ...decimal(10) },
    { no: 2, length: 1, frequency: 1 },
  ],
  systems: [
    systemOf({
      creation: [{ no: 20, points: 1 }],
      metric: [{ no: 21, points: 2, threshold: 5 }],
      streak: [{ no: 22, points: 3, length: 1 }],
      achievement: [{ no: 23, points: 4, achievement: 3 }],
    }),
  ],
  boards: [boardOf({ by: 'points', system: 5 })],
};

test('one event takes effect on all that follows from it, in order', () => {
  const user = freshUser();
  const outcome = applied(user, eventOf(10), CHAIN, { isNew: true });
  expect(outcome).toMatchObject({
    total: decimal(10),
    extended: true,
    completed: [1, 2, 3],
    day: DAY,
    activeBefore: -1,
  });
  expect(paidOf(outcome)).toEqual([20, 21, 22, 23]);
  expect(user.points).toEqual(new Map([[5, 1 + 2 * 2 + 3 + 4]]));
  expect(outcome.scores).toMatchObject([{ score: 12 }]);
  expect(user).toMatchObject({ updatedMs: NOON, activeDay: Math.floor(NOON / DAY_MS) });
});

test('the second event of a day completes, welcomes and extends nothing again', () => {
  const user = freshUser();
  applied(user, eventOf(10), CHAIN, { isNew: true });
  const outcome = applied(user, eventOf(1), CHAIN);
  expect(outcome).toMatchObject({ completed: [], extended: false, activeBefore: null, total: decimal(11) });
  expect(paidOf(outcome)).toEqual([]);
});

test('conditions see the attributes that are sent with the event', () => {
  const user = freshUser();
  const achievements = [{ no: 1, metric: METRIC, ...decimal(1), users: [[2, 'gold']] as [number, string][] }];
  const event = eventOf(1, { sent: { attributes: new Map([[2, 'gold']]) } });
  expect(applied(user, event, { achievements })).toMatchObject({ completed: [1], isProfileChanged: true });
});

test('only matching events count for what counts them itself', () => {
  const user = freshUser();
  const achievements = [{ no: 1, metric: METRIC, ...decimal(10), counted: true as const }];
  expect(applied(user, eventOf(50), { achievements }).completed).toEqual([]);
  expect(applied(user, eventOf(10, { counted: [1] }), { achievements }).completed).toEqual([1]);
  expect(user.counts.get(1)).toMatchObject(decimal(10));
});

test('the event belongs to the local day of the zone that it sets', () => {
  const outcome = applied(freshUser(), eventOf(1, { sent: { zone: 'Pacific/Kiritimati' } }), {}, { isNew: true });
  expect(outcome).toMatchObject({ day: DAY + 1, isDueMoved: true });
});

test('a missed day ends the streak before the event begins another', () => {
  const user = freshUser({
    createdMs: NOON - 9 * DAY_MS,
    updatedMs: NOON - 3 * DAY_MS,
    streaks: { daily: dailyStreak(5, DAY - 3), weekly: streakOf({}), monthly: streakOf({}) },
  });
  expect(applied(user, eventOf(1)).settlements).toMatchObject({ streaks: [{ kind: 'lost', length: 5 }] });
  expect(user.streaks.daily).toMatchObject({ length: 1, startDay: DAY });
});

const blocking = systemOf({ metric: [{ no: 21, points: -10, threshold: 1, blocks: true }] });

test.each<[string, RuleEvent, Partial<Plan>, object]>([
  [
    'out of points',
    eventOf(1),
    { metric: 10, systems: [blocking], blocks: true },
    { refusal: 'outOfPoints', trigger: 21 },
  ],
  [
    'an achievement that cannot be paid',
    eventOf(10),
    {
      metric: 10,
      achievements: [{ no: 1, metric: 10, ...decimal(10) }],
      systems: [systemOf({ achievement: [{ no: 22, points: -5, achievement: 1, blocks: true }] })],
    },
    { refusal: 'outOfPoints', trigger: 22 },
  ],
  ['the total leaves its range', eventOf(1e12), {}, { refusal: 'outOfRange', metric: METRIC, sum: 'total' }],
  [
    'a count leaves its range',
    eventOf(-1e12, { counted: [6] }),
    {},
    { refusal: 'outOfRange', metric: METRIC, sum: 'count', no: 6 },
  ],
  [
    'a score leaves its range',
    eventOf(-1e12),
    { boards: [boardOf()] },
    { refusal: 'outOfRange', metric: METRIC, sum: 'score', no: 8 },
  ],
  ['no address', eventOf(1, { sent: { subscribe: true } }), {}, { refusal: 'noAddress' }],
  ['not in quarantine', eventOf(1), { guards: { asked: [], release: true } }, { refusal: 'notQuarantined' }],
])('refusals: %s', (_name, event, plan, refusal) => {
  const user = freshUser({
    totals: totalsOf({ [METRIC]: 1e15 - 1 }),
    counts: totalsOf({ 6: -1e15 + 1 }),
    scores: [{ board: 8, runDay: DAY, group: '', whole: -1e15 + 1, micros: 0 }],
  });
  // No part of an outcome that could be recorded.
  expect(apply(user, event, plan)).toEqual(refusal);
});

test('the welcome points of a new user may be spent by the same event', () => {
  const systems = [systemOf({ creation: [{ no: 20, points: 10 }], metric: blocking.metric })];
  const user = freshUser();
  expect(paidOf(applied(user, eventOf(1), { systems, blocks: true }, { isNew: true }))).toEqual([20, 21]);
  expect(user.points.size).toBe(0);
});

const most = (action: number): Plan['guards'] => ({ asked: [{ kind: GUARD.maxValue, action, ...decimal(5) }] });

test('a clamped event counts with the value that is left', () => {
  const user = freshUser();
  const outcome = applied(user, eventOf(8), { guards: most(GUARD_ACTION.clamped)!, boards: [boardOf()] });
  expect(outcome).toMatchObject({
    value: decimal(5),
    clampedBy: GUARD.maxValue,
    total: decimal(5),
    scores: [{ score: 5 }],
  });
});

test.each([
  ['refused', GUARD_ACTION.refused],
  ['quarantined', GUARD_ACTION.quarantined],
] as const)('a guard stops an event before anything is counted: %s', (action, no) => {
  const user = freshUser();
  expect(apply(user, eventOf(8), { guards: most(no)! })).toEqual({ kind: 'stopped', guard: GUARD.maxValue, action });
  expect(user.totals.size).toBe(0);
  expect(user.streaks.daily.length).toBe(0);
});

test('an event that is released leaves the quarantine, and guards neither check nor count it', () => {
  const quarantine = { events: `${EVENT_ID}${GUARD.maxValue}`, total: 1 };
  const user = freshUser();
  const guards = { ...most(GUARD_ACTION.refused)!, release: true as const };
  expect(applied(user, eventOf(8), { guards }, { quarantine }).total).toMatchObject(decimal(8));
  expect(quarantine).toEqual({ events: '', total: 0 });
  expect(user.guarded.size).toBe(0);
});

/** A late event of yesterday, whose replay found a daily streak of 2. */
const lateOf = (value: number): LateReplay => {
  const streak = { ...dailyStreak(2, DAY - 1), sums: new Map<number, bigint>() };
  const none = { ...streakOf({}), sums: new Map<number, bigint>() };
  return {
    replayed: {
      streaks: { daily: streak, weekly: none, monthly: none } as never,
      freezes: 1,
      earnedDay: null,
      settlements: { streaks: [], beside: [] },
      value: decimal(value),
    },
    reached: { is: [2], was: [1] },
    most: { daily: 7, weekly: 0, monthly: 0 },
    extended: true,
    runs: { 8: DAY - 7 },
    quests: {},
  };
};
const lateEvent = (value: number): RuleEvent =>
  eventOf(value, { occurred: { atMs: NOON - DAY_MS, second: 43_200, late: lateOf(value) } });

test('a late event takes the replayed streak, its greatest length and its own run', () => {
  const user = freshUser({ createdMs: NOON - 9 * DAY_MS });
  const outcome = applied(user, lateEvent(5), {
    achievements: [{ no: 1, length: 7, frequency: 1 }],
    systems: [systemOf({ streak: [{ no: 22, points: 3, length: 2 }] })],
    boards: [boardOf({ runs: [DAY - 7, DAY, DAY] })],
  });
  expect(user).toMatchObject({ freezes: 1, streaks: { daily: { length: 2, lastPeriod: DAY - 1 } } });
  expect(outcome).toMatchObject({ extended: true, completed: [1], scores: [{ runDay: DAY - 7, score: 5 }] });
  expect(paidOf(outcome)).toEqual([22]);
});

test('a replay with another value than the guards leave is outdated, and says which value it needs', () => {
  const user = freshUser({ createdMs: NOON - 9 * DAY_MS });
  expect(apply(user, lateEvent(8), { guards: most(GUARD_ACTION.clamped)! })).toEqual({
    refusal: 'outdated',
    ...decimal(5),
  });
});

test('events of a batch may be applied after later changes', () => {
  const user = freshUser({ updatedMs: NOON + 1000, activeDay: DAY + 1 });
  expect(applied(user, eventOf(1)).activeBefore).toBe(null);
  expect(user.activeDay).toBe(DAY + 1);
});
