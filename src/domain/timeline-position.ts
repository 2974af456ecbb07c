import { uuidText } from './uuid.ts';

/**
 * Positions in a user's timeline. A position is UUID text that begins with the time (ms), so positions sort the same as
 * text and in Postgres. An event or call uses the ID that its awards begin with (UUIDv7, where a 7 follows the time). Other
 * entries have the digit of their kind there, then a number that distinguishes entries of the same kind and time.
 */

/** The digit after the time. Digits below 7 sort before the events of that millisecond, digits above after them. */
export const POSITION_KIND = { userCreation: 0, streak: 1, leaderboard: 2, completion: 8, administration: 9 } as const;

const TIME_DIGITS = 12;
const NUMBER_DIGITS = 19;

const timeHex = (ms: number): string => Math.max(0, Math.floor(ms)).toString(16).padStart(TIME_DIGITS, '0');

/** Position of an entry that is not an event. `number` orders the entries of the same time and kind. */
export const positionOf = ({ atMs, kind, number }: { atMs: number; kind: number; number: number }): string =>
  uuidText(timeHex(atMs) + kind.toString(16) + number.toString(16).padStart(NUMBER_DIGITS, '0'));

/** A position before all entries of a time (epoch ms); no entry has it. */
export const firstIdAt = (ms: number): string => uuidText(timeHex(ms).padEnd(32, '0'));

/** The time in a position, epoch ms. */
export const msOf = (position: string): number => parseInt(position.slice(0, 8) + position.slice(9, 13), 16);

/** The last ID that an award of this event may have. */
export const lastAwardOf = (position: string): string => `${position.slice(0, -4)}ffff`;

/** Before and after every entry. */
export const FIRST_POSITION = firstIdAt(0);
export const LAST_POSITION = uuidText('f'.repeat(32));

/** Bounds (both exclusive) of the times and numbers of one kind's entries between two positions. */
export const boundsOf = (kind: number, { above, below }: { above: string; below: string }): TimelineBounds => ({
  above: boundOf(kind, above),
  below: boundOf(kind, below),
});

/** Pairs of time (epoch ms) and number. */
export interface TimelineBounds {
  above: readonly [number, number];
  below: readonly [number, number];
}

function boundOf(kind: number, position: string): [number, number] {
  const hex = position.replaceAll('-', '');
  const digit = parseInt(hex[TIME_DIGITS]!, 16);
  const ms = msOf(position);
  if (digit !== kind) return [ms, kind < digit ? Number.MAX_SAFE_INTEGER : -1];
  return [ms, Math.min(parseInt(hex.slice(TIME_DIGITS + 1), 16), Number.MAX_SAFE_INTEGER)];
}

/** How long before its application an event of a batch may have received its ID; ms. */
export const QUEUED_BEFORE_MS = 86_400_000;

/** An event's ID carries the time of its first check, less than this before the event was applied. */
export const BEFORE_APPLIED_MS = 60_000;

/** Position of the user's creation: before the event that created the user. */
export const creationPosition = (createdMs: number): string =>
  positionOf({ atMs: createdMs - BEFORE_APPLIED_MS, kind: POSITION_KIND.userCreation, number: 1 });
