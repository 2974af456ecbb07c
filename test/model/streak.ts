import type { Catalog } from '../../src/domain/catalog.ts';
import {
  addDays,
  daysBetween,
  lastDayOf,
  latest,
  nextPeriod,
  periodBefore,
  periodOf,
  type Frequency,
  type LocalDate,
  type WeekStart,
} from './calendar.ts';
import { micros, sum } from './decimals.ts';
import type { ModelUser } from './user.ts';

/** A streak in one frequency. A period is named by its first day. */
export interface StreakTrack {
  length: number;
  /** First day of the first period. */
  started: LocalDate | null;
  /** The last period that was met. */
  met: LocalDate | null;
  extendedMs: number | null;
}

export const NO_STREAK: StreakTrack = { length: 0, started: null, met: null, extendedMs: null };
export const FREQUENCIES = ['daily', 'weekly', 'monthly'] as const;

interface Here {
  today: LocalDate;
  frequency: Frequency;
  weekStart: WeekStart;
}

/** The streak as it is today: one whose last period is neither this one nor the one before is over. */
export function asOf(track: StreakTrack, { today, frequency, weekStart }: Here): StreakTrack {
  const current = periodOf(today, frequency, weekStart);
  if (track.met === null || track.met >= periodBefore(current, frequency)) return track;
  return { ...NO_STREAK, extendedMs: track.extendedMs };
}

/** The streak after today's period was met (again). */
export function afterMet(track: StreakTrack, here: Here, atMs: number): StreakTrack {
  const current = periodOf(here.today, here.frequency, here.weekStart);
  const alive = asOf(track, here);
  if (alive.met !== null && alive.met >= current) return alive;
  return { length: alive.length + 1, started: alive.started ?? current, met: current, extendedMs: atMs };
}

/**
 * The streak after its user's date jumped from `here.today` to `to`. Never lost by that alone: a living streak lives
 * on. Never two days from one: the day that was met last moves along with today.
 */
export function afterJump(track: StreakTrack, here: Here, to: LocalDate): StreakTrack {
  const { frequency, weekStart, today } = here;
  const living = asOf(track, here);
  if (living.met === null || to <= today) return living;
  if (frequency === 'daily') {
    const moved = addDays(living.met, daysBetween(today, to));
    return { ...living, met: latest(living.met, moved > to ? to : moved) };
  }
  return { ...living, met: latest(living.met, periodBefore(periodOf(to, frequency, weekStart), frequency)) };
}

/** Whether what the user did in the period of `here.today` suffices. */
export function isMet(user: ModelUser, { streaks }: Catalog, { today, frequency, weekStart }: Here): boolean {
  const current = periodOf(today, frequency, weekStart);
  const done = user.events.filter((event) => periodOf(event.date, frequency, weekStart) === current);
  if (streaks.metrics.length === 0) return done.some(({ amount }) => amount > 0n);
  const reached = streaks.metrics.map(
    ({ metricId, threshold }) =>
      sum(done.filter((event) => event.metricId === metricId).map(({ amount }) => amount)) >= micros(threshold),
  );
  return streaks.evaluationMode === 'AND' ? reached.every(Boolean) : reached.some(Boolean);
}

/** The streak as the wire tells it. */
export function told(track: StreakTrack, here: Here): Record<string, unknown> {
  const { today, frequency, weekStart } = here;
  const { length, started, met } = asOf(track, here);
  if (met === null) {
    return { length: 0, frequency, started: null, periodStart: null, periodEnd: null, expires: null };
  }
  const current = periodOf(today, frequency, weekStart);
  return {
    length,
    frequency,
    started,
    periodStart: current,
    periodEnd: lastDayOf(current, frequency),
    expires: lastDayOf(nextPeriod(met, frequency), frequency),
  };
}
