import { Temporal } from 'temporal-polyfill';
import { isOnWeekday, weekdaySet } from './days-off.ts';
import { dateOf, DAY_MS } from './periods.ts';
import { dayIn, zoneOffset } from './zone.ts';

/** A time of day on some local days. */
export interface LocalTime {
  /** Minutes after midnight on the clock on the wall. */
  minute: number;
  /** Which local days (epoch days); all, where neither is set. */
  weekday?: number;
  dayOfMonth?: number;
}

/** A moment that a clock on the wall shows, and its local day (epoch day). */
export interface LocalMoment {
  atMs: number;
  day: number;
}

/**
 * When it is so many minutes after midnight on a local day in an IANA zone (null, or a name that is none: UTC), epoch ms. A
 * time that the change to summer time leaves out is as much later as the clocks went forward; of one that comes twice it is
 * the first.
 */
export function wallTimeMs(zone: string | null, day: number, minute: number): number {
  if (zone === null || zoneOffset(zone, day * DAY_MS) === null) return day * DAY_MS + minute * 60_000;
  const time = Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });
  const local = Temporal.PlainDate.from(dateOf(day)).toPlainDateTime(time);
  return local.toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}

const isOn = (time: LocalTime, day: number): boolean =>
  (time.weekday === undefined || isOnWeekday(weekdaySet([time.weekday]), day)) &&
  (time.dayOfMonth === undefined || new Date(day * DAY_MS).getUTCDate() === time.dayOfMonth);

/** The first moment after another (epoch ms) at which it is that time in a zone. */
export function momentAfter(time: LocalTime, zone: string | null, afterMs: number): LocalMoment {
  for (let day = dayIn(zone, afterMs); ; day += 1) {
    if (!isOn(time, day)) continue;
    const atMs = wallTimeMs(zone, day, time.minute);
    if (atMs > afterMs) return { atMs, day };
  }
}

/** The moment on the local day that another (epoch ms) is in, if it is over by then; null: it is to come, or not of that day. */
export function momentToday(time: LocalTime, zone: string | null, nowMs: number): LocalMoment | null {
  const day = dayIn(zone, nowMs);
  const atMs = wallTimeMs(zone, day, time.minute);
  return isOn(time, day) && atMs <= nowMs ? { atMs, day } : null;
}
