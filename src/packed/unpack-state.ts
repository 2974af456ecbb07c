import { Unpackr } from 'msgpackr';
import { STREAK, USER } from './user-fields.ts';

/** Decodes what scripts pack. */
export const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

/**
 * Unpacks the first value of a user's state and the one at another position of USER, without the values between them.
 * Throws a `TypeError` if the bytes up to there are not a state.
 */
export function firstAndOther(packed: Buffer, position: number): [first: unknown, other: unknown] {
  if (!isPackedState(packed)) throw new TypeError('not a packed user state');
  const from = afterValues(packed, 0, position);
  return [valueAt(packed, 0), from < packed.length ? valueAt(packed, from) : undefined];
}

/** The value at an offset. Reads the most frequent kinds itself: a call of the decoder costs more than everything else here. */
function valueAt(packed: Buffer, start: number): unknown {
  const type = packed[start]!;
  if (type < 0x80) return type;
  if (type === 0xc0) return null;
  const end = afterValues(packed, start, 1);
  if (end > packed.length) throw new TypeError('not a packed user state');
  if (type === 0xcb) return packed.readDoubleBE(start + 1);
  return unpackr.unpack(packed, { start, end });
}

/** Bytes of MessagePack's numbers from 0xca to 0xd3. */
const NUMBER_BYTES = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8] as const;

/** Where some values end that begin at an offset. Knows the types that Lua packs in a state, none of which exceeds 64 KB. */
function afterValues(packed: Buffer, offset: number, count: number): number {
  let at = offset;
  for (let left = count; left > 0 && at < packed.length; left -= 1) {
    const type = packed[at]!;
    at += 1;
    if (type < 0x80 || type >= 0xe0 || (type >= 0xc0 && type <= 0xc3)) continue;
    if (type < 0x90) left += (type & 0x0f) * 2;
    else if (type < 0xa0) left += type & 0x0f;
    else if (type < 0xc0) at += type & 0x1f;
    else if (type >= 0xca && type <= 0xd3) at += NUMBER_BYTES[type - 0xca]!;
    else if (type === 0xd9) at += 1 + packed.readUInt8(at);
    else if (type === 0xda) at += 2 + packed.readUInt16BE(at);
    else if (type === 0xdc || type === 0xde) {
      left += packed.readUInt16BE(at) * (type === 0xde ? 2 : 1);
      at += 2;
    } else throw new TypeError('not a packed user state');
  }
  return at;
}

/**
 * A state by field names, for people to read; streaks are a list of STREAK. Throws a `TypeError` if the bytes are not a state.
 */
export function namedState(packed: Buffer): Record<string, unknown> {
  const values = isPackedState(packed) ? (unpackr.unpackMultiple(packed) as unknown[]) : [];
  if (values.length <= lastOfStreaks) throw new TypeError('not a packed user state');
  const present = values.map((value) => value ?? undefined);
  const fields = Object.entries(USER).map(([name, position]) => [name, present[position]] as const);
  const streaks = Array.from({ length: STREAKS }, (_, nth) => {
    const from = USER.streaks + nth * STREAK.size;
    return present.slice(from, from + STREAK.size);
  });
  return { ...Object.fromEntries(fields.filter(([, value]) => value !== undefined)), streaks };
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
