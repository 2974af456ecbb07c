import { expect, test } from 'vitest';
import { anniversaryDay, fullYears, latestSignUp, nextCountMs, signUpDay } from '../../src/domain/anniversary.ts';
import { dateOf, dayOf } from '../../src/domain/periods.ts';

test.each([
  ['2024-02-29', 1, '2025-03-01'],
  ['2024-02-29', 4, '2028-02-29'],
  ['2096-02-29', 4, '2100-03-01'],
  ['2024-03-01', 1, '2025-03-01'],
  ['2023-12-31', 1, '2024-12-31'],
])('%s, %i years later: %s', (from, years, day) => {
  expect(dateOf(anniversaryDay(dayOf(from), years))).toBe(day);
  expect(fullYears(dayOf(from), dayOf(day))).toBe(years);
  expect(fullYears(dayOf(from), dayOf(day) - 1)).toBe(years - 1);
});

test.each([
  ['2024-05-06', '2024-05-06'],
  ['2024-05-06T23:30:00-02:00', '2024-05-07'],
  ['2024-05-06T00:30:00+02:00', '2024-05-05'],
  ['2024-05-06T23:59:59.999', '2024-05-06'],
  ['2024-05-06T23:59Z', '2024-05-06'],
  ['2023-02-29', null],
  ['2023-02-29T10:00:00Z', null],
  ['2024-13-01', null],
  ['2024-05-06T25:00:00Z', null],
])('%s is the day %s', (text, date) => {
  const day = signUpDay(text);
  expect(day === null ? null : dateOf(day)).toBe(date);
});

test('years are counted at the local midnight, but not before the day was known', () => {
  const signUp = { day: dayOf('2020-02-29'), years: 2, sinceMs: Date.parse('2022-06-01T00:00:00Z') };
  expect(new Date(nextCountMs(signUp, 'Pacific/Kiritimati')).toISOString()).toBe('2023-02-28T10:00:00.000Z');
  expect(new Date(nextCountMs(signUp, null)).toISOString()).toBe('2023-03-01T00:00:00.000Z');
  expect(nextCountMs({ ...signUp, years: 0 }, null)).toBe(signUp.sinceMs);
});

test('the latest sign-up with a number of full years is the last day that has them, leap days included', () => {
  for (let day = dayOf('2043-12-01'); day < dayOf('2045-04-01'); day += 1) {
    for (const years of [1, 2, 3, 4, 8, 100]) {
      const latest = latestSignUp(day, years);
      expect([day, years, fullYears(latest, day) >= years]).toEqual([day, years, true]);
      expect([day, years, fullYears(latest + 1, day) >= years]).toEqual([day, years, false]);
    }
  }
});
