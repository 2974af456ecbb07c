import { expect, test } from 'vitest';
import { dateOf, dayOf } from '../../src/domain/periods.ts';
import { runOf, type RunRule } from '../../src/domain/runs.ts';

const rule = (
  start: string,
  runUnit: RunRule['runUnit'] = null,
  runInterval: number | null = null,
  end: string | null = null,
): RunRule => ({
  start,
  end,
  runUnit,
  runInterval,
});

test.each([
  ['perpetual', rule('2026-01-10'), '2030-05-05', '2026-01-10', null],
  ['before the start', rule('2026-01-10'), '2026-01-09', null, null],
  ['after the end', rule('2026-01-10', null, null, '2026-02-01'), '2026-02-02', null, null],
  ['weekly', rule('2026-01-01', 'day', 7), '2026-01-07', '2026-01-01', '2026-01-07'],
  ['weekly, next', rule('2026-01-01', 'day', 7), '2026-01-08', '2026-01-08', '2026-01-14'],
  ['months keep their day', rule('2026-01-15', 'month', 1), '2026-03-14', '2026-02-15', '2026-03-14'],
  ['clipped to a short month', rule('2026-01-31', 'month', 1), '2026-02-28', '2026-02-28', '2026-03-30'],
  ['and back', rule('2026-01-31', 'month', 1), '2026-03-31', '2026-03-31', '2026-04-29'],
  ['leap day', rule('2023-12-31', 'month', 2), '2024-02-29', '2024-02-29', '2024-04-29'],
  ['years from a leap day', rule('2024-02-29', 'year', 1), '2025-03-01', '2025-02-28', '2026-02-27'],
  ['every second year', rule('2020-01-01', 'year', 2), '2023-12-31', '2022-01-01', '2023-12-31'],
  [
    'the last run ends with the leaderboard',
    rule('2026-01-01', 'month', 1, '2026-02-10'),
    '2026-02-05',
    '2026-02-01',
    '2026-02-10',
  ],
])('%s', (_, board, day, start, end) => {
  const run = runOf(board, dayOf(day));
  expect(run === null ? null : dateOf(run.startDay)).toBe(start);
  expect(run === null || run.endDay === null ? null : dateOf(run.endDay)).toBe(end);
});

test('every day is in exactly one run, and runs are consecutive', () => {
  for (const board of [rule('2023-01-31', 'month', 1), rule('2024-02-29', 'year', 1), rule('2023-01-01', 'day', 3)]) {
    for (let day = dayOf(board.start) + 1; day < dayOf('2028-06-01'); day += 1) {
      const run = runOf(board, day)!;
      const before = runOf(board, day - 1)!;
      expect(run.startDay).toBe(day > before.endDay! ? day : before.startDay);
      expect(run.endDay).toBeGreaterThanOrEqual(day);
    }
  }
});
