import { Temporal } from 'temporal-polyfill';
import { dateOf, DAY_MS, localDay } from './periods.ts';

/** A time zone's offset from UTC, valid until `untilMs` (epoch ms), the zone's next transition. */
export interface ZoneOffset {
  offsetSeconds: number;
  untilMs: number;
}

// Zones without a further transition are computed again after this time, in case the time zone database changes.
const NO_TRANSITION_MS = 366 * DAY_MS;
const known = new Map<string, (ZoneOffset & { fromMs: number })[]>();
/** More than the time zone database has (about 600). */
const MOST_KNOWN = 5_000;
/** Offsets cached per zone: the current one and a few earlier or later ones. */
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
  const found = spellings.get(lower);
  if (found !== undefined) return found;
  try {
    const name = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(text).timeZoneId;
    spellings.set(lower, name);
    return name;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
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
