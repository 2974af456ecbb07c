import { Temporal } from 'temporal-polyfill';
import { nearest } from './nearest.ts';
import { dateOf, DAY_MS, isOnWeekday, localDay, weekdaySet } from './periods.ts';

/** A time zone's offset from UTC, valid until `untilMs` (epoch ms), the zone's next transition. */
interface ZoneOffset {
  offsetSeconds: number;
  untilMs: number;
}

// Zones without a further transition are computed again after this time, in case the time zone database changes.
const NO_TRANSITION_MS = 366 * DAY_MS;
const known = new Map<string, (ZoneOffset & { fromMs: number })[]>();
/** More than the time zone database has (about 600). */
const MOST_KNOWN = 5_000;
/** Maximum number of cached offsets of a zone: the current one and a few earlier or later ones. */
const MOST_OF_ZONE = 4;

/** Spellings in the time zone database, keyed by lower-case name. Bounded by the number of zones. */
const spellings = new Map<string, string>();
/** Excludes fixed offsets such as `+05:30`, which are unbounded. `Etc/GMT+5` is a name. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/**
 * Returns a zone's name as the time zone database spells it, for input in any case (`europe/berlin`), or `null` if the zone
 * does not exist. A link keeps its own name (`Asia/Calcutta` does not become `Asia/Kolkata`) on every release of Node.
 */
export function zoneName(text: string): string | null {
  if (!NAME.test(text)) return null;
  const lower = text.toLowerCase();
  const spelling = spellings.get(lower);
  if (spelling !== undefined) return spelling;
  try {
    const name = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text).timeZoneId;
    spellings.set(lower, name);
    return name;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

let allZones: string[] | undefined;
/** Tolerated share of different characters in a city; smaller than in a key, because there are many short ones. */
const CITY_SHARE = 0.25;

/** A city's name as it stands in a zone's, in lower case: `new_york`. */
const cityOf = (zone: string): string =>
  zone
    .slice(zone.lastIndexOf('/') + 1)
    .toLowerCase()
    .replaceAll(' ', '_');

/**
 * The hint of an error about an unknown zone: that of the city (`Berlin`, `new york`, `Europe/Berln`); `undefined` if none is like
 * it. Only cities with the same first letter are compared, because users' apps send zones.
 */
export function similarZone(text: string): string | undefined {
  const city = cityOf(text);
  allZones ??= Intl.supportedValuesOf('timeZone');
  const zones = allZones.filter((zone) => cityOf(zone)[0] === city[0]);
  const byCity = new Map(zones.map((zone) => [cityOf(zone), zone]));
  const zone = byCity.get(nearest(city, byCity.keys(), CITY_SHARE) ?? '');
  return zone === undefined ? undefined : `Did you mean '${zone}'?`;
}

/** The offset of an IANA zone at a time; `null` if the zone does not exist. Cached until the next transition. */
export function zoneOffset(name: string, nowMs: number): ZoneOffset | null {
  const ofZone = known.get(name) ?? [];
  for (const each of ofZone) if (each.fromMs <= nowMs && nowMs < each.untilMs) return each;
  if (!/^[A-Za-z]/.test(name)) return null;
  try {
    const zoned = Temporal.Instant.fromEpochMilliseconds(nowMs).toZonedDateTimeISO(name);
    const next = zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
    const untilMs = Math.min(next, nowMs + NO_TRANSITION_MS);
    const offset = { offsetSeconds: zoned.offsetNanoseconds / 1e9, untilMs, fromMs: nowMs };
    if (known.size >= MOST_KNOWN) known.clear();
    // Replaces a cached entry with the same transition, which did not reach back to `nowMs`.
    const others = ofZone.filter((each) => each.untilMs !== untilMs).slice(0, MOST_OF_ZONE - 1);
    known.set(name, [offset, ...others]);
    return offset;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The local day (epoch day) in a zone; `null` means UTC. */
export const dayIn = (tz: string | null, nowMs: number): number =>
  localDay(nowMs, tz === null ? 0 : (zoneOffset(tz, nowMs)?.offsetSeconds ?? 0));

const starts = new Map<string, number>();
const MOST_STARTS = 5_000;

/** When a local day (epoch day) begins in an IANA zone (epoch ms); unknown zones count as UTC. Cached. */
export function dayStartMs(name: string, day: number): number {
  const key = `${day} ${name}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  if (starts.size >= MOST_STARTS) starts.clear();
  const startMs = zoneOffset(name, day * DAY_MS) === null ? day * DAY_MS : startIn(name, day);
  starts.set(key, startMs);
  return startMs;
}

const startIn = (name: string, day: number): number =>
  Temporal.PlainDate.from(dateOf(day)).toZonedDateTime({ timeZone: name }).epochMilliseconds;

export interface LocalTime {
  /** Minutes after midnight, as clocks show them. */
  minute: number;
  /** Which local days; all if neither is set. */
  weekday?: number;
  dayOfMonth?: number;
}

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
