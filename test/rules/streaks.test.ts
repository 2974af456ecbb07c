import { expect, test } from 'vitest';
import type { PlanStreak } from '../../src/rules/plan.ts';
import { daysOffAhead, extendStreaks, localDayOf, moveStreaks, settleUser } from '../../src/rules/streaks.ts';
import type { OwnStreakRule, User } from '../../src/rules/user.ts';
import {
  DAY,
  dailyStreak,
  DAY_MS,
  decimal,
  freshUser,
  METRIC,
  NOON,
  planOf,
  streakOf,
  streakRule,
} from './surroundings.ts';

const OTHER = 10;
const WEEK = 2856;
const MONDAY = 19_996;
const MONTH = 54 * 12 + 9;
const FIRST_OF_MONTH = 19_997;

const row = (day: number) => localDayOf(planOf({}, day), day);

/** Adds a value on a day and returns the frequencies that grew. */
const act = (user: User, rule: PlanStreak, value: number, { day = DAY, metric = METRIC } = {}) =>
  extendStreaks(user, rule, row(day), {
    metric,
    value: decimal(value),
    nowMs: NOON + (day - DAY) * DAY_MS,
    occurredMs: null,
  });

test('the first event begins all three streaks, on the first day of their periods', () => {
  const user = freshUser();
  expect(act(user, streakRule(), 1)).toEqual(['daily', 'weekly', 'monthly']);
  expect(user.streaks).toMatchObject({
    daily: { length: 1, startDay: DAY, lastPeriod: DAY, extendedMs: NOON },
    weekly: { length: 1, startDay: MONDAY, lastPeriod: WEEK },
    monthly: { length: 1, startDay: FIRST_OF_MONTH, lastPeriod: MONTH },
  });
});

test('a period counts once, and the next one extends the streak', () => {
  const user = freshUser();
  act(user, streakRule(), 1);
  expect(act(user, streakRule(), 1)).toEqual([]);
  expect(act(user, streakRule(), 1, { day: DAY + 1 })).toEqual(['daily']);
  expect(act(user, streakRule(), 1, { day: DAY + 3 })).toContain('weekly');
  expect(user.streaks.daily.startDay).toBe(DAY);
});

test.each([
  [0, 0],
  [-1, 0],
  [0.000001, 1],
])('without metrics, the value %d gives a streak of length %d', (value, length) => {
  const user = freshUser();
  act(user, streakRule(), value);
  expect(user.streaks.daily.length).toBe(length);
});

const THRESHOLDS: PlanStreak['metrics'] = [
  [METRIC, 10, 0],
  [OTHER, 0, 500_000],
];

test.each<[string, boolean, [metric: number, value: number][], number]>([
  ['OR: one threshold is enough', false, [[OTHER, 0.5]], 1],
  [
    'OR: below both',
    false,
    [
      [METRIC, 9],
      [OTHER, 0.4],
    ],
    0,
  ],
  ['AND: both are needed', true, [[METRIC, 10]], 0],
  [
    'AND: both are reached',
    true,
    [
      [METRIC, 10],
      [OTHER, 1],
    ],
    1,
  ],
  [
    'values of a period add up',
    false,
    [
      [METRIC, 4],
      [METRIC, 6],
    ],
    1,
  ],
  ['another metric does not count', false, [[7, 100]], 0],
  [
    'a period that was met stays met',
    false,
    [
      [METRIC, 10],
      [METRIC, -5],
    ],
    1,
  ],
])('%s', (_name, all, values, length) => {
  const user = freshUser();
  for (const [metric, value] of values) act(user, streakRule({ all, metrics: THRESHOLDS }), value, { metric });
  expect(user.streaks.daily.length).toBe(length);
});

test('the sums of a day do not count for the next day, but for the week', () => {
  const user = freshUser();
  const rule = streakRule({ metrics: THRESHOLDS });
  act(user, rule, 5);
  expect(act(user, rule, 5, { day: DAY + 1 })).toEqual(['weekly', 'monthly']);
});

const own = (fields: Partial<OwnStreakRule>): OwnStreakRule => ({ enabled: null, all: null, metrics: [], ...fields });

test.each<[string, Partial<PlanStreak>, OwnStreakRule | null, number]>([
  ['streaks are off', { on: false }, null, 0],
  ['the user switched them off', {}, own({ enabled: false }), 0],
  ['own threshold', { personal: [METRIC] }, own({ metrics: [{ metric: METRIC, ...decimal(3) }] }), 1],
  ['own threshold without personalisation', {}, own({ metrics: [{ metric: METRIC, ...decimal(3) }] }), 0],
  [
    'own threshold of a deleted metric',
    { personal: [OTHER] },
    own({ metrics: [{ metric: METRIC, ...decimal(3) }] }),
    0,
  ],
  [
    'own mode',
    {
      personal: [METRIC],
      all: true,
      metrics: [
        [METRIC, 3, 0],
        [OTHER, 1, 0],
      ],
    },
    own({ all: false }),
    1,
  ],
])('preferences: %s', (_name, rule, rulesOfUser, length) => {
  const user = freshUser({ streakRule: rulesOfUser });
  act(user, streakRule({ metrics: [[METRIC, 5, 0]], ...rule }), 3);
  expect(user.streaks.daily.length).toBe(length);
});

const withStreak = (length: number, lastDay: number, fields: Partial<User> = {}): User =>
  freshUser({
    createdMs: NOON - 100 * DAY_MS,
    updatedMs: NOON - 100 * DAY_MS,
    streaks: { daily: dailyStreak(length, lastDay), weekly: streakOf({}), monthly: streakOf({}) },
    ...fields,
  });

test.each<[string, number, Partial<User>, Partial<PlanStreak>, { length: number; freezes: number }]>([
  ['yesterday was met: nothing happens', DAY - 1, {}, {}, { length: 5, freezes: 0 }],
  ['yesterday was missed: it ends', DAY - 2, {}, {}, { length: 0, freezes: 0 }],
  ['a freeze is used', DAY - 2, { freezes: 2 }, {}, { length: 5, freezes: 1 }],
  ['too few freezes: each midnight uses one, then it ends', DAY - 4, { freezes: 2 }, {}, { length: 0, freezes: 0 }],
  [
    'a pause comes before a freeze',
    DAY - 2,
    { freezes: 1, pauses: [{ from: DAY - 1, to: DAY - 1, id: 'p' }] },
    {},
    { length: 5, freezes: 1 },
  ],
  ['a day off comes before a freeze', DAY - 2, { freezes: 1 }, { off: 1 << 4 }, { length: 5, freezes: 1 }],
  ['another weekday is off', DAY - 2, {}, { off: 1 << 3 }, { length: 0, freezes: 0 }],
  [
    'the user has own days off',
    DAY - 2,
    { daysOff: { set: 1 << 4, fromDay: DAY - 9, before: null } },
    { own: true },
    { length: 5, freezes: 0 },
  ],
  [
    'own days off that begin later',
    DAY - 2,
    { daysOff: { set: 1 << 4, fromDay: DAY, before: null } },
    { own: true },
    { length: 0, freezes: 0 },
  ],
  [
    'own days off replace those of all',
    DAY - 2,
    { daysOff: { set: 0, fromDay: DAY - 9, before: null } },
    { own: true, off: 1 << 4 },
    { length: 0, freezes: 0 },
  ],
])('midnight: %s', (_name, lastDay, fields, rule, expected) => {
  const user = withStreak(5, lastDay, fields);
  settleUser(user, streakRule({ frozen: true, ...rule }), row(DAY));
  expect({ length: user.streaks.daily.length, freezes: user.freezes }).toEqual(expected);
});

test('a lost streak has no dates, and its days and length are reported', () => {
  const user = withStreak(5, DAY - 3);
  expect(settleUser(user, streakRule(), row(DAY))?.streaks).toMatchObject([
    { frequency: 'daily', kind: 'lost', length: 5 },
  ]);
  expect(user.streaks.daily).toMatchObject({ length: 0, startDay: null });
});

test('freezes protect only the configured frequency', () => {
  const user = withStreak(5, DAY - 2, { freezes: 3 });
  settleUser(user, streakRule({ frozen: true, frequency: 2 }), row(DAY));
  expect([user.streaks.daily.length, user.freezes]).toEqual([0, 3]);
});

test.each([
  [9, 0],
  [10, 1],
  [25, 2],
  [60, 3],
])('after %d days, 1 freeze per 10 days and at most 3 makes %d', (days, freezes) => {
  const createdMs = NOON - days * DAY_MS;
  const user = freshUser({ createdMs, updatedMs: createdMs });
  settleUser(user, streakRule({ frozen: true, earn: [10, 1, 3, createdMs - DAY_MS] }), row(DAY));
  expect(user.freezes).toBe(freezes);
});

test('settling twice changes nothing more', () => {
  const user = withStreak(5, DAY - 2, { freezes: 2 });
  settleUser(user, streakRule({ frozen: true }), row(DAY));
  expect(user.freezes).toBe(1);
  const once = structuredClone(user);
  expect(settleUser(user, streakRule({ frozen: true }), row(DAY))).toBe(null);
  expect(user).toEqual(once);
});

test('pauses are dropped once the month and the week of their end have passed', () => {
  const old = { from: DAY - 60, to: DAY - 50, id: 'a' };
  const recent = { from: DAY - 3, to: DAY - 2, id: 'b' };
  const user = freshUser({ pauses: [old, recent] });
  settleUser(user, streakRule(), row(DAY));
  expect(user.pauses).toEqual([recent]);
});

test.each([
  ['met today', DAY, DAY + 1],
  ['open today', DAY - 1, DAY],
])('a journey east neither loses a streak nor counts a day twice: %s', (_name, lastDay, expected) => {
  const user = withStreak(5, lastDay);
  user.streaks.daily.currentPeriod = DAY;
  moveStreaks(user, row(DAY), row(DAY + 1));
  expect(user.streaks.daily).toMatchObject({ length: 5, lastPeriod: expected, currentPeriod: DAY + 1 });
  expect(settleUser(user, streakRule(), row(DAY + 1))).toBe(null);
  expect(act(user, streakRule(), 1, { day: DAY + 1 }).includes('daily')).toBe(lastDay < DAY);
});

test('a day before the current one starts nothing new', () => {
  const user = withStreak(5, DAY);
  expect(act(user, streakRule(), 1, { day: DAY - 1 })).not.toContain('daily');
  expect(user.streaks.daily).toEqual(dailyStreak(5, DAY));
});

test.each([
  ['Saturday and Sunday', (1 << 6) | 1, 2],
  ['Sunday only', 1, 0],
  ['none', 0, 0],
])('days off that follow a met Friday: %s', (_name, off, count) => {
  expect(daysOffAhead(withStreak(5, DAY), streakRule({ off }), DAY, () => DAY)).toBe(count);
});
