import { periodStart } from './periods.ts';
import { FREQUENCIES } from './settle-streaks.ts';

/**
 * The first local day (epoch day) whose beginning may end one of a user's streaks or use a freeze or pause for it: that
 * of the period after the one in which to act; null: no streak has a length. Weeks are taken to start on Sunday, as the
 * earlier start, so a week's may be a day early.
 * @param streaks daily, weekly, monthly
 */
export function streakDueDay(streaks: readonly { length: number; lastPeriod: number }[]): number | null {
  const days = FREQUENCIES.flatMap((frequency, index) => {
    const { length = 0, lastPeriod = 0 } = streaks[index] ?? {};
    return length === 0 ? [] : [periodStart(lastPeriod + 2, frequency, 'sunday')];
  });
  return days.length === 0 ? null : Math.min(...days);
}
