import type { StreakSettings } from '../domain/catalog.ts';

/**
 * The days off of changed streak settings, in ascending order: those that are sent, else those so far, which are
 * cleared where the frequency is `daily` no longer.
 */
export function daysOffAfter(
  current: StreakSettings,
  frequency: StreakSettings['frequency'],
  sent: readonly number[] | undefined,
): number[] {
  if (sent !== undefined) return [...sent].sort((a, b) => a - b);
  return frequency === 'daily' ? current.daysOff : [];
}
