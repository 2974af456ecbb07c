import { expect, test } from 'vitest';
import { emptyCatalog } from '../../src/domain/catalog.ts';
import type { StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import { replaceStreaks, streaksAt } from '../../src/domain/streaks/streak-settings.ts';

const at = (time: string): number => Date.parse(`2026-11-02T${time}Z`);
const first = emptyCatalog(0, 1);
const weekly: StreakSettings = { ...first.streaks, frequency: 'weekly' };
const monthly: StreakSettings = { ...first.streaks, frequency: 'monthly' };

test('a midnight uses the settings of its time, including those replaced at that very moment', () => {
  const catalog = replaceStreaks(replaceStreaks(first, weekly, at('10:00:00')), monthly, at('12:00:00'));
  const frequencies = ['09:00:00', '10:00:00', '10:15:00', '12:00:00', '12:15:00'].map(
    (time) => streaksAt(catalog, at(time)).streaks.frequency,
  );
  expect(frequencies).toEqual(['daily', 'daily', 'weekly', 'weekly', 'monthly']);
});

test('drops settings that no midnight used, and settings that settle nothing differently', () => {
  const weeklyAtTen = replaceStreaks(first, weekly, at('10:00:00'));
  expect(replaceStreaks(weeklyAtTen, monthly, at('10:14:59')).streaksBefore).toEqual(weeklyAtTen.streaksBefore);
  expect(replaceStreaks(weeklyAtTen, monthly, at('10:15:00')).streaksBefore).toHaveLength(2);
  // Weeks that begin on another day apply at once.
  const fromMonday = { ...weekly, weekStart: 'monday' } as const;
  expect(replaceStreaks(weeklyAtTen, fromMonday, at('10:00:00')).streaksBefore).toHaveLength(2);
  expect(replaceStreaks(first, { ...first.streaks, evaluationMode: 'AND' }, at('10:00:00')).streaksBefore).toBe(
    undefined,
  );
  expect(replaceStreaks(emptyCatalog(0), weekly, at('10:00:00')).streaksBefore).toBe(undefined);
});

test('earning counts again from a change of its settings', () => {
  const freezes = { enabled: true, initial: 0, max: 3, autoEarnInterval: 3, autoEarnAmount: 1 };
  const earning = replaceStreaks(first, { ...weekly, freezes }, at('10:00:00'));
  expect(earning.earnSince).toBe(at('10:00:00'));
  const more = replaceStreaks(earning, { ...monthly, freezes: { ...freezes, max: 5 } }, at('12:00:00'));
  expect(more.earnSince).toBe(at('10:00:00'));
  expect(more.streaksBefore).toMatchObject([{ streaks: first.streaks }, { earnSince: at('10:00:00') }]);
});
