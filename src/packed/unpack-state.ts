import { Unpackr } from 'msgpackr';
import { STREAK, USER } from './user-fields.ts';

/** Decodes what scripts pack. */
export const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

/** Unpacks a state into values by USER; streaks are a list of STREAK. Throws a `TypeError`. */
export function stateValues(packed: Buffer): Record<number, unknown> {
  const values = isPackedState(packed) ? (unpackr.unpackMultiple(packed) as unknown[]) : [];
  if (values.length <= lastOfStreaks) throw new TypeError('not a packed user state');
  for (const [at, value] of values.entries()) if (value === null) values[at] = undefined;
  const streaks = Array.from({ length: STREAKS }, (_, nth) => {
    const from = USER.streaks + nth * STREAK.size;
    return values.slice(from, from + STREAK.size);
  });
  values[USER.streaks] = values[USER.streaks] === undefined ? undefined : streaks;
  return values as unknown as Record<number, unknown>;
}

/** Like `stateValues`, with field names, for people to read. Throws a `TypeError` if the bytes are not a state. */
export function namedState(packed: Buffer): Record<string, unknown> {
  const state = stateValues(packed);
  const fields = Object.entries(USER).map(([name, position]) => [name, state[position]] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

/** Whether bytes may be a packed state: checks the length and the first byte only. */
export function isPackedState(packed: Buffer): boolean {
  const first = packed[0] ?? 0;
  return packed.length > lastOfStreaks && (first < 0x80 || (first >= 0xca && first <= 0xd3));
}

const STREAKS = 3;
/** A state has at least the positions up to this one, each of at least one byte. */
const lastOfStreaks = USER.streaks + STREAKS * STREAK.size - STREAK.size + STREAK.currentPeriod;

/** A Lua table with integer keys. It is packed as a map, or as an array if the keys happen to be 1..n. */
export type Numbered<T> = T[] | Record<number, T>;

export function* numbered<T>(table: Numbered<T> | undefined): Generator<[number, T]> {
  if (table === undefined) return;
  if (Array.isArray(table)) {
    for (const [index, value] of table.entries()) yield [index + 1, value];
    return;
  }
  for (const key of Object.keys(table)) yield [Number(key), table[Number(key)] as T];
}
