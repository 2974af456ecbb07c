/** Rows and arrays in Postgres's binary format, and COPY. */
import type { PoolClient } from 'pg';
import { from } from 'pg-copy-streams';
import type { Decimal } from '../../domain/decimal.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { storableText } from '../storable-json.ts';

/** A value that does not fit its column's type, so that retrying is useless. Its message is logged. */
export class UnstorableValue extends Error {}

/** A value for the message of an UnstorableValue. Shows only numbers, because other values may come from a user. */
const shown = (value: unknown): string => (typeof value === 'number' ? String(value) : `a ${typeof value}`);

function checkInt4(value: number): void {
  if ((value | 0) !== value) throw new UnstorableValue(`${shown(value)} is not a 32-bit integer`);
}

function checkInt8(value: number): void {
  if (!Number.isSafeInteger(value)) throw new UnstorableValue(`${shown(value)} is not an integer below 2^53`);
}

/** Signature, flags (none) and the length of further headers (0). */
const HEADER = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
const END_OF_ROWS = -1;
const NULL = -1;

const TWO_32 = 2 ** 32;
/** From 1970 to 2000, where Postgres's epoch is. */
const EPOCH_DAYS = 10_957;
const EPOCH_MS = EPOCH_DAYS * DAY_MS;
const JSONB_VERSION = 1;
const INT4_OID = 23;

/** Base of the digits of a numeric. */
const BASE = 10_000;
const NEGATIVE = 0x4000;
/** Far above any sum. */
const MOST_WHOLE = 1e20;

/** Texts up to this length are written here if they are ASCII: a call of the native encoder costs more than the texts. */
const SHORT = 64;

/** Writes a text, for which the buffer has room; returns where it ends. */
function writeUtf8(buffer: Buffer, text: string, start: number): number {
  if (text.length > SHORT) return start + buffer.write(text, start, 'utf8');
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return start + buffer.write(text, start, 'utf8');
    buffer[start + at] = code;
  }
  return start + text.length;
}

const UUID_BYTES = 16;
/** By character code; NaN for characters that are no hex digits. */
const HEX_DIGITS = Float64Array.from({ length: 256 }, (_, code) => Number(`0x${String.fromCharCode(code).trim()}`));

/** Writes the bytes of a UUID, for which the buffer has room; returns where they end. */
function writeUuid(buffer: Buffer, hex: string, start: number): number {
  let sum = hex.length === 2 * UUID_BYTES ? 0 : NaN;
  for (let at = 0; at < UUID_BYTES; at += 1) {
    const byte = HEX_DIGITS[hex.charCodeAt(2 * at)]! * 16 + HEX_DIGITS[hex.charCodeAt(2 * at + 1)]!;
    sum += byte;
    buffer[start + at] = byte;
  }
  if (Number.isNaN(sum)) throw new UnstorableValue('an ID must have 32 hex digits');
  return start + UUID_BYTES;
}

/** Builds rows for binary COPY: `row`, then each column's type in order. Spares the server parsing. */
export class BinaryRows {
  private buffer: Buffer;
  private at: number;

  /** `bytes`: approximate size of the result. */
  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafe(Math.max(bytes, 256));
    this.at = HEADER.copy(this.buffer);
  }

  row(columns: number): this {
    this.room(2);
    this.at = this.buffer.writeInt16BE(columns, this.at);
    return this;
  }

  int2(value: number): this {
    if ((value << 16) >> 16 !== value) throw new UnstorableValue(`${shown(value)} is not a 16-bit integer`);
    this.begin(2);
    this.at = this.buffer.writeInt16BE(value, this.at);
    return this;
  }

  int4(value: number): this {
    checkInt4(value);
    this.begin(4);
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  /** An integer below 2^53. */
  int8(value: number): this {
    checkInt8(value);
    this.begin(8);
    const high = Math.floor(value / TWO_32);
    this.buffer.writeInt32BE(high, this.at);
    this.at = this.buffer.writeUInt32BE(value - high * TWO_32, this.at + 4);
    return this;
  }

  timestamptz(ms: number): this {
    const micros = (ms - EPOCH_MS) * 1000;
    if (Number.isSafeInteger(micros)) return this.int8(micros);
    // Outside the supported range (the year 2285).
    if (!Number.isSafeInteger(ms)) throw new UnstorableValue(`${shown(ms)} is not a time`);
    this.begin(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(ms - EPOCH_MS) * 1000n, this.at);
    return this;
  }

  date(day: number): this {
    return this.int4(day - EPOCH_DAYS);
  }

  uuid(hex: string): this {
    this.begin(16);
    this.at = writeUuid(this.buffer, hex, this.at);
    return this;
  }

  /** Replaces characters that Postgres cannot store with U+FFFD. */
  text(value: string | null): this {
    return value === null ? this.null() : this.utf8(storableText(value), 0);
  }

  /** JSON text that jsonb accepts (see `storableJson`). `null` is SQL's. */
  jsonb(json: string | null): this {
    return json === null ? this.null() : this.utf8(json, 1);
  }

  numeric({ whole, micros }: Decimal): this {
    const left = Math.abs(whole);
    if (!Number.isInteger(whole) || left >= MOST_WHOLE || !Number.isSafeInteger(micros)) {
      throw new UnstorableValue(`${shown(whole)} and ${shown(micros)} millionths are not a decimal`);
    }
    this.room(32);
    const { buffer } = this;
    const start = this.at + 12;
    let end = start;
    let weight = 0;
    for (let unit = BASE; unit <= left; unit *= BASE) weight += 1;
    if (left > Number.MAX_SAFE_INTEGER) {
      for (const digit of largeDigits(left, weight)) end = buffer.writeInt16BE(digit, end);
    } else {
      for (let unit = BASE ** weight, rest = left; unit >= 1; unit /= BASE) {
        const digit = Math.floor(rest / unit);
        rest -= digit * unit;
        end = buffer.writeInt16BE(digit, end);
      }
    }
    const places = Math.abs(micros);
    if (places > 0) {
      end = buffer.writeInt16BE(Math.floor(places / 100), end);
      end = buffer.writeInt16BE((places % 100) * 100, end);
    }
    buffer.writeInt32BE(end - start + 8, this.at);
    buffer.writeInt16BE((end - start) / 2, this.at + 4);
    buffer.writeInt16BE(weight, this.at + 6);
    buffer.writeInt16BE(whole < 0 || micros < 0 ? NEGATIVE : 0, this.at + 8);
    buffer.writeInt16BE(placesOf(places), this.at + 10);
    this.at = end;
    return this;
  }

  int4Array(values: readonly number[]): this {
    this.begin(20 + values.length * 8);
    for (const part of [1, 0, INT4_OID, values.length, 1]) this.at = this.buffer.writeInt32BE(part, this.at);
    for (const value of values) {
      this.at = this.buffer.writeInt32BE(4, this.at);
      this.at = this.buffer.writeInt32BE(value, this.at);
    }
    return this;
  }

  null(): this {
    this.room(4);
    this.at = this.buffer.writeInt32BE(NULL, this.at);
    return this;
  }

  /** The values so far, without what only COPY needs. */
  values(): Buffer {
    return this.buffer.subarray(HEADER.length, this.at);
  }

  finish(): Buffer {
    this.room(2);
    this.at = this.buffer.writeInt16BE(END_OF_ROWS, this.at);
    return this.buffer.subarray(0, this.at);
  }

  private utf8(text: string, version: 0 | 1): this {
    this.room(5 + text.length * 3);
    const start = this.at + 4;
    let end = start;
    if (version === 1) end = this.buffer.writeUInt8(JSONB_VERSION, end);
    end = writeUtf8(this.buffer, text, end);
    this.buffer.writeInt32BE(end - start, this.at);
    this.at = end;
    return this;
  }

  /** Reserves space for a value and writes its length. */
  private begin(bytes: number): void {
    this.room(4 + bytes);
    this.at = this.buffer.writeInt32BE(bytes, this.at);
  }

  private room(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe((this.buffer.length + bytes) * 2);
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}

/** The base-10,000 digits of a whole number too large for exact doubles; newer totals are below that (`SUM_BOUND`). */
function largeDigits(whole: number, weight: number): number[] {
  const text = BigInt(whole)
    .toString()
    .padStart((weight + 1) * 4, '0');
  return Array.from({ length: weight + 1 }, (_, index) => Number(text.slice(index * 4, index * 4 + 4)));
}

function placesOf(micros: number): number {
  if (micros === 0) return 0;
  let places = 6;
  for (let rest = micros; rest % 10 === 0; rest /= 10) places -= 1;
  return places;
}

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

function writeHeader(buffer: Buffer, oid: number, { length, hasNulls }: { length: number; hasNulls: boolean }): number {
  let at = buffer.writeInt32BE(1, 0);
  at = buffer.writeInt32BE(hasNulls ? 1 : 0, at);
  at = buffer.writeInt32BE(oid, at);
  at = buffer.writeInt32BE(length, at);
  return buffer.writeInt32BE(1, at);
}

/** An array as a binary parameter, without quoting or parsing. `values` must not be empty. */
export function binaryArray({ oid, prefix }: ElementType, values: readonly (string | Buffer | null)[]): Buffer {
  let room = HEADER_BYTES;
  let hasNulls = false;
  for (const value of values) {
    room += 5 + (typeof value === 'string' ? value.length * 3 : (value?.length ?? 0));
    hasNulls ||= value === null;
  }
  const buffer = Buffer.allocUnsafe(room);
  let at = writeHeader(buffer, oid, { length: values.length, hasNulls });
  for (const value of values) {
    if (value === null) {
      at = buffer.writeInt32BE(NULL, at);
      continue;
    }
    let end = at + 4;
    if (prefix !== null) end = buffer.writeUInt8(prefix, end);
    end = typeof value === 'string' ? writeUtf8(buffer, value, end) : end + value.copy(buffer, end);
    buffer.writeInt32BE(end - at - 4, at);
    at = end;
  }
  return buffer.subarray(0, at);
}

const UUID_OID = 2950;

/** The same for IDs of 32 hex digits. Throws UnstorableValue. */
export function binaryUuids(values: readonly string[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * (4 + UUID_BYTES));
  let at = writeHeader(buffer, UUID_OID, { length: values.length, hasNulls: false });
  for (const value of values) at = writeUuid(buffer, value, buffer.writeInt32BE(UUID_BYTES, at));
  return buffer;
}

const NUMERIC_OID = 1700;

/** The same for decimals. Throws UnstorableValue. */
export function binaryDecimals(values: readonly Decimal[]): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  writeHeader(header, NUMERIC_OID, { length: values.length, hasNulls: false });
  const rows = new BinaryRows(values.length * 20);
  for (const value of values) rows.numeric(value);
  return Buffer.concat([header, rows.values()]);
}

const INT8_OID = 20;

/** The same for 32-bit integers and nulls; not empty. Throws UnstorableValue. */
export function binaryIntegers(values: readonly (number | null)[]): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * 8);
  let at = writeHeader(buffer, INT4_OID, { length: values.length, hasNulls: values.includes(null) });
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
  let at = writeHeader(buffer, INT8_OID, { length: values.length, hasNulls: values.includes(null) });
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

/** Runs a `COPY … FROM STDIN` with rows in text (`copyText`) or binary format, in the client's transaction. */
export function copyRows(client: PoolClient, statement: string, rows: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(from(statement));
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(rows);
  });
}

const SPECIAL = /[\\\t\n\r\0]/;
const EACH_SPECIAL = /[\\\t\n\r\0]/g;
const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

/** A text value. Replaces NUL, which Postgres cannot store, with U+FFFD. */
export const copyText = (value: string): string =>
  SPECIAL.test(value) ? value.replace(EACH_SPECIAL, (character) => ESCAPED[character] as string) : value;
