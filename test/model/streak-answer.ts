import type { Catalog } from '../../src/domain/catalog.ts';
import { addDays, lastDayOf, nextPeriod, periodBefore, periodOf, type LocalDate } from './calendar.ts';
import { isDayOff, type Streaks } from './streak.ts';
import type { ModelUser } from './user.ts';

/** The answer for a streak on a local date. */
export function streakAnswer(user: ModelUser, today: LocalDate, catalog: Catalog) {
  const { tracks, freezes: left } = user.streaks;
  const { streaks: settings } = catalog;
  const { frequency, weekStart, freezes } = settings;
  const { length, started, kept } = tracks[frequency];
  const current = periodOf(today, frequency, weekStart);
  const { autoEarnInterval, autoEarnAmount } = freezes;
  return {
    length,
    frequency,
    started,
    periodStart: length === 0 ? null : current,
    periodEnd: length === 0 ? null : lastDayOf(current, frequency),
    expires: length === 0 ? null : lastDayToAct(user, nextPeriod(kept, frequency), catalog),
    ...(freezes.enabled && { freezes: left, maxFreezes: freezes.max }),
    ...(freezes.enabled && autoEarnInterval !== null && { freezeAutoEarnInterval: autoEarnInterval }),
    ...(freezes.enabled && autoEarnAmount !== null && { freezeAutoEarnAmount: autoEarnAmount }),
  };
}

/** The last day of the next period to act in, without days off. */
function lastDayToAct(user: ModelUser, period: LocalDate, catalog: Catalog): LocalDate {
  const { frequency } = catalog.streaks;
  if (frequency !== 'daily') return lastDayOf(period, frequency);
  return isDayOff(user, period, catalog) ? lastDayToAct(user, addDays(period, 1), catalog) : period;
}

/** The last periods of the streak, oldest first, the current one last. */
export function historyOf(
  { tracks, kept, resets }: Streaks,
  today: LocalDate,
  { streaks: settings }: Catalog,
  count: number,
) {
  const { frequency, weekStart } = settings;
  const current = periodOf(today, frequency, weekStart);
  const history = [];
  for (let period = current; history.length < count; period = periodBefore(period, frequency)) {
    const { length = 0, by } = kept[frequency].get(period) ?? {};
    history.unshift({
      periodStart: period,
      periodEnd: lastDayOf(period, frequency),
      length: period === current ? tracks[frequency].length : length,
      usedFreeze: by === 'freeze',
      usedPause: by === 'pause',
      ...(resets[frequency].has(period) && { resetAt: new Date(resets[frequency].get(period)!).toISOString() }),
    });
  }
  return history;
}

/** The current and future pauses, by first day. */
export const pausesOf = ({ pauses }: Streaks, today: LocalDate) =>
  pauses.filter(({ end }) => end >= today).toSorted((a, b) => (a.start < b.start ? -1 : 1));
