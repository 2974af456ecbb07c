import type { PoolClient } from 'pg';
import { storableText } from '../storable-json.ts';

/** An event that a guard stopped. */
export interface GuardedRow {
  tenantNo: number;
  userId: string;
  metricNo: number;
  /** GUARD. */
  guard: number;
  outcome: 'refused' | 'clamped' | 'quarantined';
  atMs: number;
}

const UPSERT = `
  INSERT INTO guard_counts AS counted (tenant_no, user_id, metric_no, guard, refused, clamped, quarantined, last)
  SELECT tenant_no, user_id, metric_no, guard, count(*) FILTER (WHERE outcome = 'refused'),
         count(*) FILTER (WHERE outcome = 'clamped'), count(*) FILTER (WHERE outcome = 'quarantined'),
         to_timestamp(max(at_ms) / 1000.0)
    FROM unnest($1::int[], $2::text[], $3::int[], $4::int[], $5::text[], $6::bigint[])
      AS stopped (tenant_no, user_id, metric_no, guard, outcome, at_ms)
   GROUP BY tenant_no, user_id, metric_no, guard
  ON CONFLICT (tenant_no, user_id, metric_no, guard) DO UPDATE
     SET refused = counted.refused + excluded.refused, clamped = counted.clamped + excluded.clamped,
         quarantined = counted.quarantined + excluded.quarantined, last = greatest(counted.last, excluded.last)`;

/** Counts events that guards stopped, per user and guard. */
export async function countGuarded(client: PoolClient, guarded: readonly GuardedRow[]): Promise<void> {
  if (guarded.length === 0) return;
  await client.query(UPSERT, [
    guarded.map((row) => row.tenantNo),
    guarded.map((row) => storableText(row.userId)),
    guarded.map((row) => row.metricNo),
    guarded.map((row) => row.guard),
    guarded.map((row) => row.outcome),
    guarded.map((row) => row.atMs),
  ]);
}
