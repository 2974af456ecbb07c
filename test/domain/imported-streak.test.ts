import { expect, test } from 'vitest';
import { settlementsOfHistory } from '../../src/domain/imported-streak.ts';
import { DAY_MS, dayOf, periodOf } from '../../src/domain/periods.ts';

const calendar = { frequency: 'weekly', weekStart: 'monday' } as const;
const weekOf = (date: string): number => periodOf(dayOf(date), calendar.frequency, calendar.weekStart);
const resetAt = '2032-04-15T12:23:00.000Z';
const upTo = [
  { periodStart: '2032-03-29', periodEnd: '2032-04-04', length: 1 },
  { periodStart: '2032-04-05', periodEnd: '2032-04-11', length: 2 },
];
/** A streak of two weeks that was reset on the Thursday of the third, by the days on which weeks were met. */
const resetIn = (length: number, metOn: readonly string[]): unknown => {
  const history = [...upTo, { periodStart: '2032-04-12', periodEnd: '2032-04-18', length, resetAt }];
  const met = new Map(metOn.map((date) => [weekOf(date), dayOf(date)]));
  const dayAt = (ms: number): number => Math.floor(ms / DAY_MS);
  return settlementsOfHistory({ history, calendar, current: weekOf('2032-04-19'), liveStartDay: null, met, dayAt })[0];
};
const reset = { frequency: 'weekly', kind: 'reset', from: dayOf('2032-03-29'), atMs: Date.parse(resetAt) };

test.each([
  ['nothing began in the week anew', 0, '2032-04-15'],
  ['the week was met on an earlier day, and once more', 1, '2032-04-14'],
])('a streak was extended in the week of its reset: %s', (_, length, metOn) => {
  expect(resetIn(length, ['2032-03-29', '2032-04-05', metOn])).toEqual({
    ...reset,
    to: dayOf('2032-04-18'),
    length: 3,
  });
});

test.each([
  ['the week was not met', 0, []],
  ['the week was met on the day of the reset, by the streak that began anew', 1, ['2032-04-15']],
])('a streak was not extended in the week of its reset: %s', (_, length, metOn) => {
  expect(resetIn(length, ['2032-03-29', '2032-04-05', ...metOn])).toEqual({
    ...reset,
    to: dayOf('2032-04-11'),
    length: 2,
  });
});
