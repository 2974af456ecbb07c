import type { PoolClient } from 'pg';
import type { SettlementKind } from '../../domain/settle-streaks.ts';
import { copyRows } from './copy-rows.ts';
import { COPY_NULL, copyText, copyTimestamp } from './copy-text.ts';

/** By their numbers, from 1. */
export const SETTLEMENT_KINDS = ['freeze', 'pause', 'lost', 'restored'] as const satisfies SettlementKind[];

/** What became of a streak, as the outbox tells it. */
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

const COPY = 'COPY streak_changes (tenant_no, user_id, frequency, kind, from_day, to_day, length, at) FROM STDIN';

/** Adds what became of streaks. Each is to be given once. */
export async function insertStreakChanges(client: PoolClient, changes: readonly StreakChangeRow[]): Promise<void> {
  if (changes.length === 0) return;
  let rows = '';
  for (const row of changes) {
    rows += `${row.tenantNo}\t${copyText(row.userId)}\t${row.frequency}\t${row.kind}\t${row.fromDay}\t${row.toDay}\t${row.length ?? COPY_NULL}\t${copyTimestamp(row.atMs)}\n`;
  }
  await copyRows(client, COPY, rows);
}
