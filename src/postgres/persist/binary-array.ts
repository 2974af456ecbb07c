import { checkInt4, checkInt8 } from './unstorable-value.ts';

/** An element type of an array in Postgres's binary format: its OID, and the byte before the value, if any. */
interface ElementType {
  oid: number;
  prefix: number | null;
}

export const BYTEA: ElementType = { oid: 17, prefix: null };
export const TEXT: ElementType = { oid: 25, prefix: null };
/** jsonb is its text after a version number. */
export const JSONB: ElementType = { oid: 3802, prefix: 1 };

const HEADER_BYTES = 20;

/**
 * A one-dimensional array as a binary parameter, which the driver passes on unchanged, without quoting here or parsing in the server. `values` must not
 * be empty.
 */
export function binaryArray({ oid, prefix }: ElementType, values: readonly (string | Buffer)[]): Buffer {
  let room = HEADER_BYTES;
  for (const value of values) room += 5 + (typeof value === 'string' ? value.length * 3 : value.length);
  const buffer = Buffer.allocUnsafe(room);
  const hasNulls = 0;
  [1, hasNulls, oid, values.length, 1].forEach((number, index) => buffer.writeInt32BE(number, index * 4));
  let at = HEADER_BYTES;
  for (const value of values) {
    let end = at + 4;
    if (prefix !== null) end = buffer.writeUInt8(prefix, end);
    end += typeof value === 'string' ? buffer.write(value, end, 'utf8') : value.copy(buffer, end);
    buffer.writeInt32BE(end - at - 4, at);
    at = end;
  }
  return buffer.subarray(0, at);
}

const INT4_OID = 23;
const INT8_OID = 20;
const TWO_32 = 2 ** 32;

/** The same for 32-bit integers and nulls; not empty. Throws UnstorableValue. */
export function binaryIntegers(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 8);
  const hasNulls = values.includes(null) ? 1 : 0;
  [1, hasNulls, INT4_OID, values.length, 1].forEach((number, index) => buffer.writeInt32BE(number, index * 4));
  let at = HEADER_BYTES;
  for (const value of values) {
    at = buffer.writeInt32BE(value === null ? -1 : 4, at);
    if (value === null) continue;
    checkInt4(value);
    at = buffer.writeInt32BE(value, at);
  }
  return buffer.subarray(0, at);
}

/** The same for 64-bit integers below 2^53. */
export function binaryBigIntegers(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 12);
  const hasNulls = values.includes(null) ? 1 : 0;
  [1, hasNulls, INT8_OID, values.length, 1].forEach((number, index) => buffer.writeInt32BE(number, index * 4));
  let at = HEADER_BYTES;
  for (const value of values) {
    at = buffer.writeInt32BE(value === null ? -1 : 8, at);
    if (value === null) continue;
    checkInt8(value);
    const high = Math.floor(value / TWO_32);
    at = buffer.writeInt32BE(high, at);
    at = buffer.writeUInt32BE(value - high * TWO_32, at);
  }
  return buffer.subarray(0, at);
}
