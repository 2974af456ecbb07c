/**
 * Where something is in a user's timeline: a UUID's text that begins with the time (ms), so that positions sort as text and in
 * Postgres alike. What happened by an event or call has the ID that its awards begin with (UUIDv7: a 7 follows the
 * time); other entries have a digit of their kind there, and a number by which those of one kind and time differ.
 */

/** The digit behind the time: what is below 7 comes before the events of that millisecond, what is above after them. */
export const POSITION_KIND = { userCreation: 0, streak: 1, leaderboard: 2, completion: 8, administration: 9 } as const;

const TIME_DIGITS = 12;
const NUMBER_DIGITS = 19;

const asUuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

const timeHex = (ms: number): string => Math.max(0, Math.floor(ms)).toString(16).padStart(TIME_DIGITS, '0');

/** Position of what is no event: a number that grows in the order of those of one time. */
export const positionOf = ({ atMs, kind, number }: { atMs: number; kind: number; number: number }): string =>
  asUuid(timeHex(atMs) + kind.toString(16) + number.toString(16).padStart(NUMBER_DIGITS, '0'));

/** A position before all of a time (epoch ms), which nothing has. */
export const firstIdAt = (ms: number): string => asUuid(timeHex(ms).padEnd(32, '0'));

/** The time in a position, epoch ms. */
export const msOf = (position: string): number => parseInt(position.slice(0, 8) + position.slice(9, 13), 16);

/** The last ID that an award given by it may have. */
export const lastAwardOf = (position: string): string => `${position.slice(0, -4)}ffff`;

/** Before everything, and after everything. */
export const FIRST_POSITION = firstIdAt(0);
export const LAST_POSITION = asUuid('f'.repeat(32));

/** Bounds (both excluded) of the times and numbers that entries of a kind have between two positions. */
export const boundsOf = (kind: number, { above, below }: { above: string; below: string }): TimelineBounds => ({
  above: boundOf(kind, above),
  below: boundOf(kind, below),
});

/** Times (epoch ms) with numbers. */
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

/** The time in an event's ID is that of its first check, which is before it was applied: by less than this. */
export const BEFORE_APPLIED_MS = 60_000;

/** The position of the first sight of a user: before the event that was it. */
export const creationPosition = (createdMs: number): string =>
  positionOf({ atMs: createdMs - BEFORE_APPLIED_MS, kind: POSITION_KIND.userCreation, number: 1 });
