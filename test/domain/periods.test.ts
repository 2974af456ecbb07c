import { expect, test } from 'vitest';
import { dateOf, dayOf, isDate, localDay, periodEnd, periodOf, periodStart } from '../../src/domain/periods.ts';

test.each([
  ['1970-01-01', 0],
  ['1969-12-31', -1],
  ['2024-02-29', 19782],
  ['2026-11-21', 20778],
])('%s is day %i', (date, day) => {
  expect(dayOf(date)).toBe(day);
  expect(dateOf(day)).toBe(date);
});

test.each([
  ['2026-11-21', 'daily', 'sunday', '2026-11-21', '2026-11-21'],
  ['2026-11-21', 'weekly', 'sunday', '2026-11-15', '2026-11-21'],
  ['2026-11-22', 'weekly', 'sunday', '2026-11-22', '2026-11-28'],
  ['2026-11-22', 'weekly', 'monday', '2026-11-16', '2026-11-22'],
  ['2026-01-01', 'weekly', 'sunday', '2025-12-28', '2026-01-03'],
  ['1969-12-31', 'weekly', 'monday', '1969-12-29', '1970-01-04'],
  ['2024-02-29', 'monthly', 'sunday', '2024-02-01', '2024-02-29'],
  ['2026-12-31', 'monthly', 'sunday', '2026-12-01', '2026-12-31'],
] as const)('%s %s (%s): %s to %s', (date, frequency, weekStart, start, end) => {
  const period = periodOf(dayOf(date), frequency, weekStart);
  expect(dateOf(periodStart(period, frequency, weekStart))).toBe(start);
  expect(dateOf(periodEnd(period, frequency, weekStart))).toBe(end);
});

test.each(['daily', 'weekly', 'monthly'] as const)(
  '%s periods are consecutive without gaps, over leap years',
  (frequency) => {
    let last = periodOf(dayOf('2023-12-01'), frequency, 'monday');
    for (let day = dayOf('2023-12-02'); day < dayOf('2028-03-05'); day += 1) {
      const period = periodOf(day, frequency, 'monday');
      expect(period - last).toBe(day === periodStart(period, frequency, 'monday') ? 1 : 0);
      last = period;
    }
  },
);

test('the local day of an instant', () => {
  const now = Date.parse('2026-11-18T10:30:00Z');
  expect(dateOf(localDay(now, -11 * 3600))).toBe('2026-11-17');
  expect(dateOf(localDay(now, 14 * 3600))).toBe('2026-11-19');
});

test.each([
  ['2026-02-30', false],
  ['2026-2-3', false],
  ['nope', false],
  ['2024-02-29', true],
  ['2026-02-29', false],
])('isDate(%s) is %s', (date, expected) => expect(isDate(date)).toBe(expected));
