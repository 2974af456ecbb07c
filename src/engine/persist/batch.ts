import { decimalText } from '../../domain/decimal.ts';
import type { AwardRow } from '../../postgres/persist/insert-awards.ts';
import type { CompletionRow } from '../../postgres/persist/insert-completions.ts';
import type { EventRow } from '../../postgres/persist/insert-events.ts';
import type { UserRow } from '../../postgres/persist/upsert-users.ts';
import { parseEntry, type RawEntry } from '../../redis/outbox.ts';
import type { HappenedRecord } from '../../redis/record.ts';
import { numbered, unpack, unpackAll, type Numbered, type PackedState } from '../../redis/state.ts';
import { UnreadableEntry } from './stuck-shard.ts';

/** The rows of some outbox entries that follow one another. */
export interface Batch {
  events: EventRow[];
  awards: AwardRow[];
  completions: CompletionRow[];
  /** The last state of each user. */
  users: UserRow[];
  /** Position of the last entry. */
  position: string;
}

/** Turns raw outbox entries (at least one) into rows. Throws UnreadableEntry when one of them makes no sense. */
export function toBatch(raw: readonly RawEntry[]): Batch {
  try {
    return rowsOf(raw);
  } catch (error) {
    throw new UnreadableEntry(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function rowsOf(raw: readonly RawEntry[]): Batch {
  const batch: Batch = { events: [], awards: [], completions: [], users: [], position: '' };
  // Only the last state of a user is decoded: a user who is busy costs no more than others.
  const states = new Map<string, { tenantNo: number; id: string; packed: Buffer }>();
  for (const rawEntry of raw) {
    const entry = parseEntry(rawEntry);
    for (const record of unpackAll(entry.records)) addRecord(batch, entry.tenantNo, record as HappenedRecord);
    for (let i = 0; i < entry.states.length; i += 2) {
      const id = (entry.states[i] as Buffer).toString('utf8');
      states.set(`${entry.tenantNo}:${id}`, { tenantNo: entry.tenantNo, id, packed: entry.states[i + 1] as Buffer });
    }
    batch.position = entry.id;
  }
  for (const { tenantNo, id, packed } of states.values()) {
    const { c, a, p } = unpack(packed) as PackedState;
    batch.users.push({ tenantNo, id, createdMs: c, packed, attributes: byNumber(a), points: byNumber(p) });
  }
  return batch;
}

function addRecord(batch: Batch, tenantNo: number, record: HappenedRecord): void {
  const { k: kind, u: userId, at: atMs, d: localDay } = record;
  if (kind !== 'e' && kind !== 'u' && kind !== 'c') throw new Error('a record of no known kind');
  if (kind === 'e') {
    const { m, v, t } = record;
    if (m === undefined || v === undefined || t === undefined) throw new Error(`event ${record.i} lacks a field`);
    batch.events.push({
      id: record.i,
      tenantNo,
      userId,
      metricNo: m,
      value: decimalText({ whole: v[0], micros: v[1] }),
      total: decimalText({ whole: t[0], micros: t[1] }),
      atMs,
      localDay,
      attributes: record.x ?? null,
      idempotencyKey: record.ik ?? null,
    });
  }
  for (const achievementNo of record.c ?? []) batch.completions.push({ tenantNo, userId, achievementNo, atMs });
  let ordinal = 0;
  for (const [systemNo, , , awards] of record.p ?? []) {
    for (const [triggerNo, awarded, total, boostNos] of awards) {
      ordinal += 1;
      const id = awardId(record.i, ordinal);
      batch.awards.push({ id, tenantNo, userId, systemNo, triggerNo, awarded, total, boostNos, atMs, localDay });
    }
  }
}

const byNumber = <T>(table: Numbered<T> | undefined): Record<number, T> =>
  Array.isArray(table) ? Object.fromEntries(numbered(table)) : (table ?? {});

/** ID of the nth award (from 1) of what happened: its ID ends with 4 zeros that make room for n. */
export const awardId = (happenedId: string, ordinal: number): string =>
  happenedId.slice(0, -4) + ordinal.toString(16).padStart(4, '0');
