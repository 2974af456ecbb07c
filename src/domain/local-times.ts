import { Temporal } from 'temporal-polyfill';
import { isOnWeekday, weekdaySet } from './days-off.ts';
import { dateOf, DAY_MS } from './periods.ts';
import { dayIn, zoneOffset } from './zone.ts';

/** A time of day on certain local days. */
export interface LocalTime {
  /** Minutes after midnight, as clocks show them. */
  minute: number;
  /** Which local days; all if neither is set. */
  weekday?: number;
  dayOfMonth?: number;
}

/** A moment and its local day (epoch day). */
export interface LocalMoment {
  atMs: number;
  day: number;
}

/**
 * When clocks in an IANA zone (`null` or unknown: UTC) show `minute` minutes after midnight on a local day (epoch ms). A time
 * that the change to summer time skips is shifted by the length of the gap. A time that occurs twice means the first one.
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

/** The first occurrence of a time in a zone after `afterMs` (epoch ms). */
export function momentAfter(time: LocalTime, zone: string | null, afterMs: number): LocalMoment {
  for (let day = dayIn(zone, afterMs); ; day += 1) {
    if (!isOn(time, day)) continue;
    const atMs = wallTimeMs(zone, day, time.minute);
    if (atMs > afterMs) return { atMs, day };
  }
}

/** The occurrence on the current local day if it has passed; `null` otherwise. */
export function momentToday(time: LocalTime, zone: string | null, nowMs: number): LocalMoment | null {
  const day = dayIn(zone, nowMs);
  const atMs = wallTimeMs(zone, day, time.minute);
  return isOn(time, day) && atMs <= nowMs ? { atMs, day } : null;
}
