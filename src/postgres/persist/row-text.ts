/** Rows and arrays for Postgres in text format, and COPY. Values that do not fit their column's type are errors of Postgres. */
import type { PoolClient } from 'pg';
import { from } from 'pg-copy-streams';
import { type Decimal, decimalText } from '../../domain/decimal.ts';
import { storableText } from '../storable-json.ts';

/** A value that cannot be stored, so that retrying is useless. Its message is logged, so it has no data of users. */
export class UnstorableValue extends Error {}

/** A value of a row to copy; `null` is NULL. */
type CopiedValue = string | number | null;

const SPECIAL = /[\\\t\n\r\0]/;
const EACH_SPECIAL = /[\\\t\n\r\0]/g;
const ESCAPED: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\uFFFD' };

/** A line for COPY. Replaces NUL, which Postgres cannot store, with U+FFFD. */
function copyLine(values: readonly CopiedValue[]): string {
  let line = '';
  for (const value of values) {
    const text = value === null ? '\\N' : typeof value === 'string' ? escaped(value) : value;
    line += `${text}\t`;
  }
  return `${line.slice(0, -1)}\n`;
}

const escaped = (value: string): string =>
  SPECIAL.test(value) ? value.replace(EACH_SPECIAL, (character) => ESCAPED[character] as string) : value;

/** Runs a `COPY … FROM STDIN` in the client's transaction, if there are rows. `valuesOf`: the values of a row, in the order of the columns. */
export async function copyRows<T>(
  client: PoolClient,
  statement: string,
  rows: readonly T[],
  valuesOf: (row: T, index: number) => readonly CopiedValue[],
): Promise<void> {
  if (rows.length === 0) return;
  let lines = '';
  for (const [index, row] of rows.entries()) lines += copyLine(valuesOf(row, index));
  await new Promise<void>((resolve, reject) => {
    const stream = client.query(from(statement));
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(lines);
  });
}

/** A numeric. Throws UnstorableValue unless it is finite: Postgres would store NaN. */
export function numericText(decimal: Decimal): string {
  const text = decimalText(decimal);
  if (!Number.isFinite(decimal.whole + decimal.micros)) throw new UnstorableValue(`${text} is not a decimal`);
  return text;
}

/** An array of numbers, numerics or IDs. */
export const listOf = (values: readonly (number | string | null)[]): string =>
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
