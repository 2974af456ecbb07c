import type { Pool, PoolClient } from 'pg';

/** A stored part of a snapshot. */
export interface StoredPart {
  boardNo: number;
  runDay: number;
  parts: number;
  part: number;
  day: number;
  packed: Buffer;
}

/** Parts of a tenant's snapshots that cover a hash and contain certain bytes. */
export async function snapshotPartsWith(
  client: Pool | PoolClient,
  tenantNo: number,
  { hash, bytes }: { hash: number; bytes: Buffer },
): Promise<StoredPart[]> {
  const { rows } = await client.query<StoredPart>(
    `SELECT part.board_no AS "boardNo", part.run_day AS "runDay", part.parts, part.part, part.day, part.packed
       FROM (SELECT DISTINCT board_no, run_day, parts FROM board_snapshots WHERE tenant_no = $1) AS run
       JOIN board_snapshot_parts AS part
         ON part.tenant_no = $1 AND part.board_no = run.board_no AND part.run_day = run.run_day
        AND part.parts = run.parts AND part.part = $2 & (run.parts - 1)
      WHERE position($3::bytea IN part.packed) > 0
      ORDER BY part.board_no, part.run_day, part.day`,
    [tenantNo, hash, bytes],
  );
  return rows;
}

/** Replaces stored parts. */
export async function replaceSnapshotParts(
  client: PoolClient,
  tenantNo: number,
  parts: readonly StoredPart[],
): Promise<void> {
  for (const { boardNo, runDay, parts: of, part, day, packed } of parts) {
    await client.query(
      `UPDATE board_snapshot_parts SET packed = $7
        WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND parts = $4 AND part = $5 AND day = $6`,
      [tenantNo, boardNo, runDay, of, part, day, packed],
    );
  }
}
