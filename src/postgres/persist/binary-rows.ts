import type { Decimal } from '../../domain/decimal.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { storableText } from '../storable-json.ts';
import { checkInt4, checkInt8, shown, UnstorableValue } from './unstorable-value.ts';

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

/**
 * Builds rows for `COPY … FROM STDIN (FORMAT binary)`. `row` starts a row, then the method of each column's type adds its value, in order.
 * Unlike the text format, it spares the server the parsing of timestamps, dates and numerics.
 */
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
    if ((value << 16) >> 16 !== value) throw new UnstorableValue(`${shown(value)} is no 16-bit integer`);
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

  /** Epoch ms. */
  timestamptz(ms: number): this {
    const micros = (ms - EPOCH_MS) * 1000;
    if (Number.isSafeInteger(micros)) return this.int8(micros);
    // Outside the supported range (the year 2285).
    if (!Number.isSafeInteger(ms)) throw new UnstorableValue(`${shown(ms)} is no time`);
    this.begin(8);
    this.at = this.buffer.writeBigInt64BE(BigInt(ms - EPOCH_MS) * 1000n, this.at);
    return this;
  }

  /** Epoch day. */
  date(day: number): this {
    return this.int4(day - EPOCH_DAYS);
  }

  /** 32 hex digits. */
  uuid(hex: string): this {
    this.begin(16);
    if (this.buffer.write(hex, this.at, 16, 'hex') !== 16) throw new UnstorableValue('an ID must have 32 hex digits');
    this.at += 16;
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
      throw new UnstorableValue(`${shown(whole)} and ${shown(micros)} millionths are no decimal`);
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

  /** Returns the finished bytes. Nothing may be added afterwards. */
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
    end += this.buffer.write(text, end, 'utf8');
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

/**
 * The base-10,000 digits (`weight` + 1 of them) of a whole number too large for exact arithmetic in doubles. Totals are bounded below
 * that (`SUM_BOUND`); older ones are stored as they are.
 */
function largeDigits(whole: number, weight: number): number[] {
  const text = BigInt(whole)
    .toString()
    .padStart((weight + 1) * 4, '0');
  return Array.from({ length: weight + 1 }, (_, index) => Number(text.slice(index * 4, index * 4 + 4)));
}

/** Number of decimal places that these millionths need. */
function placesOf(micros: number): number {
  if (micros === 0) return 0;
  let places = 6;
  for (let rest = micros; rest % 10 === 0; rest /= 10) places -= 1;
  return places;
}
