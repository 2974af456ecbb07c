import {
  type GuardedRow,
  QUARANTINE_STATUS,
  type QuarantinedRow,
  type SettledRow,
} from '../../postgres/corrections/quarantine.ts';
import { GUARD_ACTION, GUARDED } from '../../packed/guard-fields.ts';
import type { GuardedRecord, HappenedRecord } from '../../packed/record.ts';
import { RECORD } from '../../packed/record-fields.ts';
import { decimalOf } from '../../packed/state.ts';
import { UnreadableEntry } from './about-data.ts';

export interface GuardedRows {
  quarantined: QuarantinedRow[];
  settled: SettledRow[];
  guarded: GuardedRow[];
}

const OUTCOMES: ReadonlyMap<number, GuardedRow['outcome']> = new Map([
  [GUARD_ACTION.refused, 'refused'],
  [GUARD_ACTION.full, 'refused'],
  [GUARD_ACTION.clamped, 'clamped'],
  [GUARD_ACTION.quarantined, 'quarantined'],
]);

/** Adds the rows of an event that was not applied, or was dropped. Throws UnreadableEntry if a field is missing. */
export function addGuarded(rows: GuardedRows, tenantNo: number, record: GuardedRecord): void {
  const { [RECORD.id]: id, [RECORD.userId]: userId, [RECORD.atMs]: atMs, [RECORD.guard]: by } = record;
  if (by[GUARDED.action] === GUARD_ACTION.dropped) {
    rows.settled.push({ id, status: QUARANTINE_STATUS.dropped, atMs });
    return;
  }
  const { [RECORD.metric]: metricNo, [RECORD.value]: value } = record;
  const outcome = OUTCOMES.get(by[GUARDED.action]);
  if (metricNo === undefined || value === undefined || outcome === undefined)
    throw new UnreadableEntry('a guarded event lacks a field');
  const guard = by[GUARDED.guard];
  rows.guarded.push({ tenantNo, userId, metricNo, guard, outcome, atMs });
  if (outcome !== 'quarantined') return;
  rows.quarantined.push({
    id,
    tenantNo,
    userId,
    metricNo,
    guard,
    value: decimalOf(value),
    atMs,
    attributes: record[RECORD.attributes] ?? null,
    idempotencyKey: record[RECORD.idempotencyKey] ?? null,
  });
}

/** Adds the guard rows of an applied event; usually none. */
export function addGuardsOf(rows: GuardedRows, tenantNo: number, record: HappenedRecord): void {
  const { [RECORD.id]: id, [RECORD.userId]: userId, [RECORD.atMs]: atMs, [RECORD.guard]: by } = record;
  if (record[RECORD.released] !== undefined) rows.settled.push({ id, status: QUARANTINE_STATUS.released, atMs });
  const metricNo = record[RECORD.metric];
  if (by === undefined || metricNo === undefined) return;
  rows.guarded.push({ tenantNo, userId, metricNo, guard: by[GUARDED.guard], outcome: 'clamped', atMs });
}
