import { Packr } from 'msgpackr';
import type { RawEntry } from './outbox.ts';
import { unpack, unpackEach } from '../packed/state.ts';
import { OUTBOX } from '../packed/call-fields.ts';

const packr = new Packr({ useRecords: false });

/** Packs an entry's fields into one byte string, even if they are malformed. */
export const packFields = (fields: readonly Buffer[]): Buffer => packr.pack(fields);

export const unpackFields = (packed: Buffer): Buffer[] => unpack(packed) as Buffer[];

/** A decoded record of an entry, and its bytes. */
export interface ReadRecord {
  value: unknown;
  bytes: Buffer;
}

/** The readable parts of an entry that may be damaged. */
export interface ReadEntry {
  /** `null` if missing or invalid. */
  tenantNo: number | null;
  /** The records before the first one that is not valid msgpack. */
  records: ReadRecord[];
  /** In order. A state without bytes means that the entry ends early. */
  states: { userId: string; packed: Buffer }[];
  /** Whether unreadable data remains. */
  hasRest: boolean;
}

/** Reads what it can, by the names of the fields. Never throws. */
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

/** Tenant numbers are 32-bit integers. */
const MOST_TENANTS = 2 ** 31 - 1;

function tenantNoOf(value: Buffer): number | null {
  const text = value.toString('latin1');
  const number = Number(text);
  return /^\d+$/.test(text) && number <= MOST_TENANTS ? number : null;
}

/** Returns whether all records could be read. */
function readRecords(packed: Buffer, records: ReadRecord[]): boolean {
  try {
    unpackEach(packed, (value, bytes) => void records.push({ value, bytes }));
    return true;
  } catch {
    return false;
  }
}
