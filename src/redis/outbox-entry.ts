import { Packr } from 'msgpackr';
import type { RawEntry } from './outbox.ts';
import { unpack, unpackEach } from '../packed/state.ts';
import { OUTBOX } from '../packed/call-fields.ts';

const packr = new Packr({ useRecords: false });

/** The fields of an entry as one run of bytes, whatever is wrong with them. */
export const packFields = (fields: readonly Buffer[]): Buffer => packr.pack(fields);

/** The fields of `packFields`. */
export const unpackFields = (packed: Buffer): Buffer[] => unpack(packed) as Buffer[];

/** A record of an entry, decoded, and its bytes. */
export interface ReadRecord {
  value: unknown;
  bytes: Buffer;
}

/** An entry that may be damaged, as far as it can be read. */
export interface ReadEntry {
  /** Null: there is none, or it is none. */
  tenantNo: number | null;
  /** Those before the first that is no msgpack. */
  records: ReadRecord[];
  /** In their order; without bytes: the entry breaks off. */
  states: { userId: string; packed: Buffer }[];
  /** Whether there is more that cannot be read. */
  hasRest: boolean;
}

/** Reads what can be read of an entry by the names of its fields. Never throws. */
export function readEntry(fields: RawEntry[1]): ReadEntry {
  const entry: ReadEntry = { tenantNo: null, records: [], states: [], hasRest: fields.length % 2 !== 0 };
  let userId: string | null = null;
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]!.toString('latin1');
    const value = fields[at + 1]!;
    if (name === OUTBOX.tenant) entry.tenantNo = tenantNoOf(value);
    else if (name === OUTBOX.records) entry.hasRest = !readRecords(value, entry.records) || entry.hasRest;
    else if (name === OUTBOX.user) userId = value.toString('utf8');
    else if (name === OUTBOX.state && userId !== null) {
      entry.states.push({ userId, packed: value });
      userId = null;
    } else entry.hasRest = true;
  }
  if (userId !== null) entry.states.push({ userId, packed: Buffer.alloc(0) });
  return entry;
}

/** Numbers of tenants are 32-bit integers. */
const MOST_TENANTS = 2 ** 31 - 1;

function tenantNoOf(value: Buffer): number | null {
  const text = value.toString('latin1');
  const number = Number(text);
  return /^\d+$/.test(text) && number <= MOST_TENANTS ? number : null;
}

/** Whether all of them could be read. */
function readRecords(packed: Buffer, records: ReadRecord[]): boolean {
  try {
    unpackEach(packed, (value, bytes) => void records.push({ value, bytes }));
    return true;
  } catch {
    return false;
  }
}
