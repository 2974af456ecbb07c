import type { Pool } from 'pg';

/** Time of the oldest entry (epoch ms), or `null`. */
export async function oldestAuditMs(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ ms: number | null }>(
    'SELECT (extract(epoch FROM min(at)) * 1000)::float8 AS ms FROM audit_log',
  );
  return rows[0]?.ms ?? null;
}

/** Deletes up to `most` entries from before a time, oldest first. Returns their number. */
export async function deleteAuditBefore(
  pool: Pool,
  { beforeMs, most }: { beforeMs: number; most: number },
): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM audit_log
      WHERE no IN (SELECT no FROM audit_log WHERE at < to_timestamp($1 / 1000.0) ORDER BY at LIMIT $2)`,
    [beforeMs, most],
  );
  return rowCount ?? 0;
}
