import type { StreakSettings } from '../domain/catalog.ts';

/** Days off after a change of streak settings, ascending: those in the request or else the current ones, cleared unless the frequency is `daily`. */
export function daysOffAfter(
  current: StreakSettings,
  frequency: StreakSettings['frequency'],
  sent: readonly number[] | undefined,
): number[] {
  if (sent !== undefined) return [...sent].sort((a, b) => a - b);
  return frequency === 'daily' ? current.daysOff : [];
}
