import { fromOldForm } from './old-state.ts';
import { unpackr } from './unpackr.ts';
import { STREAK, USER } from './user-fields.ts';

/**
 * The values of a user's packed state by the positions of USER, its streaks a list of STREAK, whichever version of Laurel
 * wrote it. Throws where it is none. 2 µs of CPU for an ordinary state of 200 bytes, 20 µs for one of 6 KB.
 */
export function stateValues(packed: Buffer): Record<number, unknown> {
  if (isOldForm(packed)) return fromOldForm(unpackr.unpack(packed) as Record<string, unknown>);
  const values = isPackedState(packed) ? (unpackr.unpackMultiple(packed) as unknown[]) : [];
  if (values.length <= lastOfStreaks) throw new TypeError("a user's state is none");
  for (const [at, value] of values.entries()) if (value === null) values[at] = undefined;
  const streaks = Array.from({ length: STREAKS }, (_, nth) => {
    const from = USER.streaks + nth * STREAK.size;
    return values.slice(from, from + STREAK.size);
  });
  values[USER.streaks] = values[USER.streaks] === undefined ? undefined : streaks;
  return values as unknown as Record<number, unknown>;
}

/** The same by the names of the fields, for people. Throws where it is none. */
export function namedState(packed: Buffer): Record<string, unknown> {
  const state = stateValues(packed);
  const fields = Object.entries(USER).map(([name, position]) => [name, state[position]] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Whether bytes may be a packed state, of whichever version: a look at the first byte, which costs nothing. */
export function isPackedState(packed: Buffer): boolean {
  const first = packed[0] ?? 0;
  return isOldForm(packed) || (packed.length > lastOfStreaks && (first < 0x80 || (first >= 0xca && first <= 0xd3)));
}

/** Whether bytes begin as a msgpack map with something in it. */
function isOldForm(packed: Buffer): boolean {
  const first = packed[0] ?? 0;
  return packed.length > 1 && ((first >= 0x80 && first <= 0x8f) || first === 0xde || first === 0xdf);
}

const STREAKS = 3;
/** A state has at least the positions up to this one, each of at least a byte. */
const lastOfStreaks = USER.streaks + STREAKS * STREAK.size - STREAK.size + STREAK.currentPeriod;
