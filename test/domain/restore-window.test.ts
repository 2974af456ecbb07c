import { expect, test } from 'vitest';
import { dateOf, dayOf } from '../../src/domain/periods.ts';
import { restoreWindowStart } from '../../src/rules/streak-changes.ts';

test.each([
  ['daily', 'sunday', '2026-03-31', '2025-12-31'],
  ['daily', 'sunday', '2024-03-31', '2024-01-01'],
  ['weekly', 'sunday', '2026-11-21', '2025-12-28'],
  ['weekly', 'monday', '2026-11-21', '2025-12-29'],
  // 1 January 2023 was a Sunday.
  ['weekly', 'sunday', '2023-01-01', '2023-01-01'],
  ['weekly', 'monday', '2023-12-31', '2022-12-26'],
  ['monthly', 'sunday', '2026-01-01', '2025-01-01'],
  ['monthly', 'monday', '2026-12-31', '2025-01-01'],
] as const)('%s (%s) on %s: since %s', (frequency, weekStart, today, since) => {
  expect(dateOf(restoreWindowStart(dayOf(today), { frequency, weekStart }))).toBe(since);
});
