import type { PoolClient } from 'pg';
import type { SettlementKind } from '../../domain/settle-streaks.ts';
import { storableText } from './storable-json.ts';

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

const INSERT = `
  INSERT INTO streak_changes (tenant_no, user_id, frequency, kind, from_day, to_day, length, at)
  SELECT tenant_no, user_id, frequency, kind, from_day, to_day, length, to_timestamp(at_ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::smallint[], $4::smallint[], $5::int[], $6::int[], $7::int[], $8::bigint[])
    AS changed (tenant_no, user_id, frequency, kind, from_day, to_day, length, at_ms)`;

/** Adds what became of streaks. Each is to be given once. */
export async function insertStreakChanges(client: PoolClient, changes: readonly StreakChangeRow[]): Promise<void> {
  if (changes.length === 0) return;
  await client.query(INSERT, [
    changes.map((row) => row.tenantNo),
    changes.map((row) => storableText(row.userId)),
    changes.map((row) => row.frequency),
    changes.map((row) => row.kind),
    changes.map((row) => row.fromDay),
    changes.map((row) => row.toDay),
    changes.map((row) => row.length),
    changes.map((row) => row.atMs),
  ]);
}
