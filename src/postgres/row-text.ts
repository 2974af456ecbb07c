/** Values and arrays for Postgres in text format. Values that do not fit their column's type are errors of Postgres. */
import { type Decimal, decimalText } from '../domain/decimal.ts';
import { storableText } from './storable-json.ts';

/** A value that cannot be stored, so that retrying is useless. Its message is logged, so it has no data of users. */
export class UnstorableValue extends Error {}

const SPECIAL = /[\\\t\n\r\0]/;
const EACH_SPECIAL = /[\\\t\n\r\0]/g;
const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

/** A value for COPY. Replaces NUL, which Postgres cannot store, with U+FFFD. */
export function copiedText(value: string | number | boolean | null): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return String(value);
  return SPECIAL.test(value) ? value.replace(EACH_SPECIAL, (character) => ESCAPED[character] as string) : value;
}

/** A numeric. Throws UnstorableValue unless it is finite: Postgres would store NaN. */
export function numericText(decimal: Decimal): string {
  const text = decimalText(decimal);
  if (!Number.isFinite(decimal.whole + decimal.micros)) throw new UnstorableValue(`${text} is not a decimal`);
  return text;
}

/** An array of numbers, numerics or IDs. */
export const listOf = (values: readonly (number | string | boolean | null)[]): string =>
  `{${values.map((value) => value ?? 'NULL').join()}}`;

const QUOTED = /[\\"]/g;

/** An array of texts or JSON. Replaces NUL with U+FFFD. */
export const textsOf = (values: readonly (string | null)[]): string =>
  listOf(values.map((value) => (value === null ? null : `"${storableText(value).replace(QUOTED, '\\$&')}"`)));

const BYTEA_OID = 17;

/** An array of bytes, in binary format: as text, they cost several times as much. */
export function bytesOf(values: readonly Buffer[]): Buffer {
  const header = [1, 0, BYTEA_OID, values.length, 1].map(int4);
  return Buffer.concat([...header, ...values.flatMap((value) => [int4(value.length), value])]);
}

function int4(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}
