import type { PoolClient } from 'pg';
import type { SettlementKind } from '../../domain/settle-streaks.ts';
import { BinaryRows } from './binary-rows.ts';
import { copyRows } from './copy-rows.ts';
import { storableText } from '../storable-json.ts';

/** Their stored numbers start at 1. */
export const SETTLEMENT_KINDS = [
  'freeze',
  'pause',
  'lost',
  'restored',
  'replaced',
  'off',
  'reset',
] as const satisfies SettlementKind[];

/** A change of a streak, from the outbox. */
export interface StreakChangeRow {
  tenantNo: number;
  userId: string;
  frequency: number;
  kind: number;
  fromDay: number;
  toDay: number;
  length: number | null;
  atMs: number;
  /** The correction that caused it (32 hex digits), or `null`. */
  correction: string | null;
}

const COPY =
  'COPY streak_changes (tenant_no, user_id, frequency, kind, from_day, to_day, length, at, correction) FROM STDIN (FORMAT binary)';
const COLUMNS = 9;
const BYTES_A_ROW = 100;

/** Adds changes of streaks. Call it exactly once for each. */
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
    if (change.correction === null) rows.null();
    else rows.uuid(change.correction);
  }
  await copyRows(client, COPY, rows.finish());
}

export interface SupersededChanges {
  tenantNo: number;
  userId: string;
  nos: readonly string[];
  /** The correction that replaced them, 32 hex digits. */
  correction: string;
}

const SUPERSEDE = `
  UPDATE streak_changes SET superseded_by = $4::uuid
   WHERE tenant_no = $1 AND user_id = $2 AND no = ANY ($3::bigint[]) AND superseded_by IS NULL`;

/** Marks streak changes as superseded: they are kept but no longer count. Idempotent. */
export async function supersedeStreakChanges(client: PoolClient, changes: readonly SupersededChanges[]): Promise<void> {
  for (const { tenantNo, userId, nos, correction } of changes)
    await client.query(SUPERSEDE, [tenantNo, storableText(userId), nos, correction]);
}
