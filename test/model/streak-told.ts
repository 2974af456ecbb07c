import type { Catalog } from '../../src/domain/catalog.ts';
import { lastDayOf, nextPeriod, periodBefore, periodOf, type LocalDate } from './calendar.ts';
import type { Streaks } from './streak.ts';

/** The streak as the wire tells it on a local date. */
export function told({ tracks, freezes: left }: Streaks, today: LocalDate, { streaks: settings }: Catalog) {
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
    expires: length === 0 ? null : lastDayOf(nextPeriod(kept, frequency), frequency),
    ...(freezes.enabled && { freezes: left, maxFreezes: freezes.max }),
    ...(freezes.enabled && autoEarnInterval !== null && { freezeAutoEarnInterval: autoEarnInterval }),
    ...(freezes.enabled && autoEarnAmount !== null && { freezeAutoEarnAmount: autoEarnAmount }),
  };
}

/** The last periods of the streak, oldest first, the current one last. */
export function historyOf({ tracks, kept }: Streaks, today: LocalDate, { streaks: settings }: Catalog, count: number) {
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
    });
  }
  return history;
}

/** The pauses that go on or are to come, by first day. */
export const pausesOf = ({ pauses }: Streaks, today: LocalDate) =>
  pauses.filter(({ end }) => end >= today).toSorted((a, b) => (a.start < b.start ? -1 : 1));
