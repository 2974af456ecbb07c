import { Temporal } from 'temporal-polyfill';
import { dateOf, DAY_MS, localDay } from './periods.ts';

/** The offset of a time zone from UTC, and until when (epoch ms) it holds: the zone's next transition. */
export interface ZoneOffset {
  offsetSeconds: number;
  untilMs: number;
}

// Zones without a further transition are looked at again after a while, in case the zone's rules are renewed.
const NO_TRANSITION_MS = 366 * DAY_MS;
const known = new Map<string, (ZoneOffset & { fromMs: number })[]>();
/** More than the time zone database has (about 600). */
const MOST_KNOWN = 5_000;
/** Of a zone: what holds now, and what held at a few times that are asked for again and again. */
const MOST_OF_ZONE = 4;

/** By the name in lower case: its spelling in the time zone database. No more than there are zones. */
const spellings = new Map<string, string>();
/** So begin no fixed offsets, which are as many as one likes: `+05:30` is none, `Etc/GMT+5` is one of the names. */
const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/**
 * The name of a zone as the time zone database spells it, whatever the case it is sent in (`europe/berlin`); null for one
 * that is none. A link is a name of its own (`Asia/Calcutta` and `Asia/Kolkata`): it stays what was sent, on every
 * release of Node alike.
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

/** The offset of an IANA zone at a time; null for a name that is not one. Computed once between transitions. */
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
    // The same again is one that was asked for later times so far.
    const others = ofZone.filter((each) => each.untilMs !== untilMs).slice(0, MOST_OF_ZONE - 1);
    known.set(name, [offset, ...others]);
    return offset;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The local day (epoch day) in a zone; UTC's without a zone. */
export const dayIn = (tz: string | null, nowMs: number): number =>
  localDay(nowMs, tz === null ? 0 : (zoneOffset(tz, nowMs)?.offsetSeconds ?? 0));

const starts = new Map<string, number>();
const MOST_STARTS = 5_000;

/** When a local day (epoch day) begins in an IANA zone, epoch ms; UTC's for a name that is none. Remembered. */
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
