import { addDays, periodBefore, periodOf, type LocalDate, type WeekStart } from './calendar.ts';
import type { ModelUser } from './user.ts';

/**
 * Weeks begin on another day from now on. A week stays the same week when it begins a day earlier or later: its events
 * count there, and a met week stays met. No streak ends by that, since streaks end at midnights: if today is in the week after the previous
 * one, a living streak continues as if the week that was cut off had been kept.
 */
export function beginWeeksOn(weekStart: WeekStart, user: ModelUser, today: LocalDate): void {
  const moved = (week: LocalDate): LocalDate => addDays(week, weekStart === 'monday' ? 1 : -1);
  for (const { counts } of user.events) if (counts !== null) counts.weekly = moved(counts.weekly);
  const { tracks, kept, resets } = user.streaks;
  kept.weekly = new Map([...kept.weekly].map(([week, how]) => [moved(week), how]));
  resets.weekly = new Map([...resets.weekly].map(([week, atMs]) => [moved(week), atMs]));
  const thisWeek = periodOf(today, 'weekly', weekStart);
  const weekBefore = periodBefore(thisWeek, 'weekly');
  const last = moved(tracks.weekly.kept);
  const isCutOff = tracks.weekly.length > 0 && last < weekBefore;
  const isAhead = user.events.some(({ counts }) => counts !== null && counts.weekly > thisWeek);
  if (isCutOff || isAhead) user.weeksShifted = true;
  tracks.weekly = { ...tracks.weekly, kept: isCutOff ? weekBefore : last };
}
