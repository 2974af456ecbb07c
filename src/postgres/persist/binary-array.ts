/** A type as an element of an array in Postgres's binary format: its number, and what stands before the text. */
interface ElementType {
  oid: number;
  prefix: number | null;
}

export const TEXT: ElementType = { oid: 25, prefix: null };
/** jsonb is sent as its text behind a version. */
export const JSONB: ElementType = { oid: 3802, prefix: 1 };

const HEADER_BYTES = 20;

/**
 * An array parameter in binary format, which the driver passes on untouched: no quoting here, no parsing of the
 * array's text there.
 */
export function binaryArray({ oid, prefix }: ElementType, values: readonly string[]): Buffer {
  let room = HEADER_BYTES;
  for (const value of values) room += 5 + value.length * 3;
  const buffer = Buffer.allocUnsafe(room);
  buffer.writeInt32BE(values.length === 0 ? 0 : 1, 0);
  buffer.writeInt32BE(0, 4);
  buffer.writeInt32BE(oid, 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16);
  let at = values.length === 0 ? 12 : HEADER_BYTES;
  for (const value of values) {
    const start = at + 4;
    let end = start;
    if (prefix !== null) end = buffer.writeUInt8(prefix, end);
    end += buffer.write(value, end, 'utf8');
    buffer.writeInt32BE(end - start, at);
    at = end;
  }
  return buffer.subarray(0, at);
}
