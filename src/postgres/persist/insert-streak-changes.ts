import type { PoolClient } from 'pg';
import type { SettlementKind } from '../../domain/settle-streaks.ts';
import { BinaryRows } from './binary-rows.ts';
import { copyRows } from './copy-rows.ts';

/** By their numbers, from 1. */
export const SETTLEMENT_KINDS = [
  'freeze',
  'pause',
  'lost',
  'restored',
  'replaced',
  'off',
  'reset',
] as const satisfies SettlementKind[];

/** What became of a streak, as the outbox reports it. */
export interface StreakChangeRow {
  tenantNo: number;
  userId: string;
  frequency: number;
  kind: number;
  fromDay: number;
  toDay: number;
  length: number | null;
  atMs: number;
}

const COPY =
  'COPY streak_changes (tenant_no, user_id, frequency, kind, from_day, to_day, length, at) FROM STDIN (FORMAT binary)';
const COLUMNS = 8;
const BYTES_A_ROW = 100;

/** Adds what became of streaks. Each is to be given once. */
export async function insertStreakChanges(client: PoolClient, changes: readonly StreakChangeRow[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = new BinaryRows(changes.length * BYTES_A_ROW);
  for (const change of changes) {
    rows
      .row(COLUMNS)
      .int4(change.tenantNo)
      .text(change.userId)
      .int2(change.frequency)
      .int2(change.kind)
      .int4(change.fromDay)
      .int4(change.toDay);
    if (change.length === null) rows.null();
    else rows.int4(change.length);
    rows.timestamptz(change.atMs);
  }
  await copyRows(client, COPY, rows.finish());
}
