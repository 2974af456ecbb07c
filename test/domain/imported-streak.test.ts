import { expect, test } from 'vitest';
import { earnedDayOf, settlementsOfHistory } from '../../src/domain/streaks/imported-streak.ts';
import { dateOf, DAY_MS, dayOf, periodOf } from '../../src/domain/periods.ts';

const calendar = { frequency: 'weekly', weekStart: 'monday' } as const;
const weekOf = (date: string): number => periodOf(dayOf(date), calendar.frequency, calendar.weekStart);
const resetAt = '2032-04-15T12:23:00.000Z';
const upTo = [
  { periodStart: '2032-03-29', periodEnd: '2032-04-04', length: 1 },
  { periodStart: '2032-04-05', periodEnd: '2032-04-11', length: 2 },
];
/** A streak of two weeks that was reset on the Thursday of the third week, by the days on which weeks were met. */
const resetIn = (length: number, metOn: readonly string[]): unknown => {
  const history = [...upTo, { periodStart: '2032-04-12', periodEnd: '2032-04-18', length, resetAt }];
  const met = new Map(metOn.map((date) => [weekOf(date), dayOf(date)]));
  const dayAt = (ms: number): number => Math.floor(ms / DAY_MS);
  return settlementsOfHistory({ history, calendar, current: weekOf('2032-04-19'), liveStartDay: null, met, dayAt })[0];
};
const reset = { frequency: 'weekly', kind: 'reset', from: dayOf('2032-03-29'), atMs: Date.parse(resetAt) };

test.each([
  ['no streak began again in the week', 0, '2032-04-15'],
  ['the week was met on an earlier day and again later', 1, '2032-04-14'],
])('a streak was extended in the week of its reset: %s', (_, length, metOn) => {
  expect(resetIn(length, ['2032-03-29', '2032-04-05', metOn])).toEqual({
    ...reset,
    to: dayOf('2032-04-18'),
    length: 3,
  });
});

test.each([
  ['the week was not met', 0, []],
  ['the streak that began after the reset met the week on the same day', 1, ['2032-04-15']],
])('a streak was not extended in the week of its reset: %s', (_, length, metOn) => {
  expect(resetIn(length, ['2032-03-29', '2032-04-05', ...metOn])).toEqual({
    ...reset,
    to: dayOf('2032-04-11'),
    length: 2,
  });
});

const CREATED = dayOf('2032-01-01');
/** A freeze every 5 days, at most 3. The streak is alive every day; freezes were used or missing on the given days. */
const earned = (day: number, freezes: number, used: readonly number[], lost: readonly number[] = []): number => {
  const history = Array.from({ length: day - CREATED + 1 }, (_, nth) => {
    const date = dateOf(CREATED + nth);
    const usedFreeze = used.includes(nth);
    return { periodStart: date, periodEnd: date, length: lost.includes(nth) ? 0 : 1, usedFreeze };
  });
  const settings = { initial: 0, interval: 5, amount: 1, max: 3 };
  return earnedDayOf({ history, freezes, day, createdDay: CREATED, ...settings }) - CREATED;
};

test.each([
  ['without a history that says otherwise', 23, 3, [], 20],
  ['on the day itself', 20, 3, [], 20],
  ['one use that it does not explain: an administrator gave a freeze', 23, 2, [2, 22], 20],
])('freezes are earned from the day on which the user was first seen: %s', (_, day, freezes, used, expected) => {
  expect(earned(CREATED + day, freezes, used)).toBe(expected);
});

test('freezes are earned from another day if the history says so', () => {
  // Earned and used at once on days 13 and 18; lost at the end of days 12 and 17, when the user had none.
  expect(earned(CREATED + 24, 1, [3, 8, 13, 18], [2, 7, 12, 17])).toBe(23);
});

test('no history: from the day on which the user was first seen', () => {
  const none = { history: [], freezes: 2, initial: 0, interval: 7, amount: 1, max: 3 };
  expect(earnedDayOf({ ...none, day: CREATED + 16, createdDay: CREATED })).toBe(CREATED + 14);
});
