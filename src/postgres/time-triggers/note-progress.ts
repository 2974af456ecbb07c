import type { Pool } from 'pg';

/** Records that all periods of some triggers that ended before `nextMs` are paid. */
export async function noteProgress(
  pool: Pool,
  triggers: readonly { tenantNo: number; no: number; nextMs: number }[],
): Promise<void> {
  if (triggers.length === 0) return;
  await pool.query(
    `INSERT INTO time_trigger_progress (tenant_no, trigger_no, next_ms)
     SELECT * FROM unnest($1::int[], $2::int[], $3::bigint[])
     ON CONFLICT (tenant_no, trigger_no) DO UPDATE SET next_ms = EXCLUDED.next_ms`,
    [triggers.map(({ tenantNo }) => tenantNo), triggers.map(({ no }) => no), triggers.map(({ nextMs }) => nextMs)],
  );
}
