import { Packr } from 'msgpackr';
import type { Decimal } from '../domain/decimal.ts';
import type { HISTORY_SUM } from './call-fields.ts';
import { EVENT_RECORD, KIND, type RECORD } from './record-fields.ts';
import { firstAndOther, unpackr } from './unpack-state.ts';
import { type PAUSE, TIMED_MEMBER, TOTAL, USER } from './user-fields.ts';

/** Largest packed state in bytes. Changes that would exceed it are refused; see `lackOfRoom`. */
export const STATE_BYTES = 32_768;

/** Largest profile in bytes: name, email address, device tokens and attribute values together. */
export const PROFILE_BYTES = 24_576;

const packr = new Packr({ useRecords: false });

/** Encodes a value as msgpack. */
export const pack = (value: unknown): Buffer => packr.pack(value);

export const unpack = (packed: Buffer): unknown => recordOf(unpackr.unpack(packed));

/** Decodes a sequence of msgpack values. Records are converted by `recordOf`. */
export const unpackAll = (packed: Buffer): unknown[] =>
  packed.length === 0 ? [] : ((unpackr.unpackMultiple(packed) as unknown[] | undefined) ?? []).map(recordOf);

/** Decodes values and passes each with its bytes to `onValue`. Throws at the first invalid one. */
export function unpackEach(packed: Buffer, onValue: (value: unknown, bytes: Buffer) => void): void {
  if (packed.length === 0) return;
  unpackr.unpackMultiple(packed, (value: unknown, start = 0, end = packed.length) => {
    onValue(recordOf(value), packed.subarray(start, end));
  });
}

// Packed arrays are declared by position, so that code can access them only through the positions' names.

/** TOTAL. Thresholds of triggers are integers, so a peak has no micros. */
export interface PackedTotal {
  [TOTAL.whole]: number;
  [TOTAL.micros]: number;
  [TOTAL.peak]?: number;
}

export interface PackedPause {
  [PAUSE.firstDay]: number;
  [PAUSE.lastDay]: number;
  [PAUSE.id]: string;
}

/** HISTORY_SUM. */
export interface HistorySum {
  [HISTORY_SUM.runDay]: number;
  [HISTORY_SUM.whole]: number;
  [HISTORY_SUM.micros]: number;
  [HISTORY_SUM.reached]?: number;
  [HISTORY_SUM.secondary]?: number;
}

export const decimalOf = (packed: PackedTotal): Decimal => ({
  whole: packed[TOTAL.whole],
  micros: packed[TOTAL.micros],
});

const TIE_DIGITS = 16;

/** What decides between equal scores on a board with `ties`: first the secondary score, then the time. */
export interface Tie {
  /** Microseconds. */
  reached: number;
  /** The rank number of the secondary score; `null` on boards without one. */
  secondary: number | null;
}

/**
 * The beginning of members of the sorted sets of a board with `ties`. Sorted sets order equal scores by member, so that the best
 * secondary score is the greatest, and then the earliest time.
 */
export function tiePrefix({ reached, secondary }: Tie): string {
  const time = String(TIMED_MEMBER.latest - Math.abs(reached)).padStart(TIE_DIGITS, '0');
  return secondary === null ? time : String(secondary).padStart(TIE_DIGITS, '0') + time;
}

/** A user's member in the sorted sets of a board with `ties`. */
export const timedMember = (userId: string, reached: number, secondary: number | null = null): string =>
  tiePrefix({ reached, secondary }) + userId;

/** The user of a timed member, and what decides between equal scores. */
export function ofTimedMember(
  member: string,
  hasSecondary: boolean,
): { userId: string; reached: number; secondary?: number } {
  const at = hasSecondary ? TIE_DIGITS : 0;
  return {
    userId: member.slice(at + TIE_DIGITS),
    reached: TIMED_MEMBER.latest - Number(member.slice(at, at + TIE_DIGITS)),
    ...(hasSecondary && { secondary: Number(member.slice(0, TIE_DIGITS)) }),
  };
}

/** The name in a user's packed state, or null. Skips what comes before it. */
export const nameInState = (packed: Buffer): string | null =>
  (firstAndOther(packed, USER.name)[1] as string | null | undefined) ?? null;

/** Converts an event's packed list to a map by RECORD; returns other values unchanged. */
export function recordOf(value: unknown): unknown {
  if (!Array.isArray(value) || value[EVENT_RECORD.kind] !== KIND.event || value.length <= EVENT_RECORD.boards)
    return value;
  const list = value as unknown[];
  // Names are literals, checked by the type, and none is left out: V8 makes and reads objects of one known form several times faster.
  // Fields that an event lacks are `false` in the list.
  const record: Partial<Record<(typeof RECORD)[keyof typeof RECORD], unknown>> = {
    k: KIND.event,
    i: list[EVENT_RECORD.id],
    u: list[EVENT_RECORD.userId],
    at: list[EVENT_RECORD.atMs],
    d: list[EVENT_RECORD.day],
    m: list[EVENT_RECORD.metric],
    v: [list[EVENT_RECORD.whole], list[EVENT_RECORD.micros]],
    t: [list[EVENT_RECORD.totalWhole], list[EVENT_RECORD.totalMicros]],
    s: list[EVENT_RECORD.streak],
    b: list[EVENT_RECORD.boards],
    p: list[EVENT_RECORD.points] || undefined,
    cv: list[EVENT_RECORD.version] || undefined,
    x: list[EVENT_RECORD.attributes] || undefined,
    ik: list[EVENT_RECORD.idempotencyKey] || undefined,
  };
  return list[EVENT_RECORD.more] === undefined ? record : Object.assign(record, list[EVENT_RECORD.more]);
}
