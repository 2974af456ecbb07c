import type { Pool, PoolClient } from 'pg';

interface RunNamed {
  tenantNo: number;
  boardNo: number;
  runDay: number;
}

/** Snapshots of a run for days without changes, in `packed.length` parts (a power of 2). */
export interface TakenSnapshots {
  runDay: number;
  fromDay: number;
  toDay: number;
  packed: readonly Buffer[];
}

/** Adds daily snapshots of a leaderboard. Unchanged parts are not stored again. */
export async function addSnapshots(
  client: PoolClient,
  tenantNo: number,
  boardNo: number,
  taken: readonly TakenSnapshots[],
): Promise<void> {
  await client.query(
    `INSERT INTO board_snapshots (tenant_no, board_no, run_day, day, at, parts)
     SELECT $1, $2, run_day, day, to_timestamp((day + 1) * 86400.0), parts
       FROM unnest($3::integer[], $4::integer[], $5::integer[], $6::integer[]) AS taken (run_day, from_day, to_day, parts)
      CROSS JOIN LATERAL generate_series(from_day, to_day) AS day`,
    [
      tenantNo,
      boardNo,
      taken.map(({ runDay }) => runDay),
      taken.map(({ fromDay }) => fromDay),
      taken.map(({ toDay }) => toDay),
      taken.map(({ packed }) => packed.length),
    ],
  );
  for (const { runDay, fromDay, packed } of taken) {
    // An empty run needs no snapshot.
    if (fromDay === runDay && packed.every((part) => part.length === 0)) continue;
    await client.query(
      `INSERT INTO board_snapshot_parts (tenant_no, board_no, run_day, parts, part, day, packed)
       SELECT $1, $2, $3, $4, new.part - 1, $5, new.packed
         FROM unnest($6::bytea[]) WITH ORDINALITY AS new (packed, part)
        WHERE new.packed IS DISTINCT FROM (
          SELECT packed FROM board_snapshot_parts AS last
           WHERE last.tenant_no = $1 AND last.board_no = $2 AND last.run_day = $3 AND last.parts = $4
             AND last.part = new.part - 1
           ORDER BY day DESC LIMIT 1)`,
      [tenantNo, boardNo, runDay, packed.length, fromDay, packed],
    );
  }
}

/** The parts of the last snapshot of a run before a day; none if there is no such snapshot. */
export async function snapshotBefore(
  client: PoolClient,
  { tenantNo, boardNo, runDay }: RunNamed,
  day: number,
): Promise<Buffer[]> {
  const { rows } = await client.query<{ packed: Buffer | null }>(
    `SELECT packed
       FROM (SELECT parts FROM board_snapshots
              WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND day < $4 ORDER BY day DESC LIMIT 1) AS last
      CROSS JOIN generate_series(0, last.parts - 1) AS wanted (part)
       LEFT JOIN LATERAL (
            SELECT packed FROM board_snapshot_parts AS stored
             WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 AND stored.parts = last.parts
               AND stored.part = wanted.part AND day < $4
             ORDER BY day DESC LIMIT 1) AS newest ON true
      ORDER BY wanted.part`,
    [tenantNo, boardNo, runDay, day],
  );
  return rows.map(({ packed }) => packed ?? Buffer.alloc(0));
}

/** The last snapshots of a run, oldest first, each with only the part that contains a user's hash. */
export async function lastSnapshots(
  pool: Pool,
  { tenantNo, boardNo, runDay }: RunNamed,
  { hash, count }: { hash: number; count: number },
): Promise<{ day: number; atMs: number; packed: Buffer | null }[]> {
  const { rows } = await pool.query<{ day: number; atMs: number; packed: Buffer | null }>(
    `SELECT snapshot.day, (extract(epoch FROM snapshot.at) * 1000)::float8 AS "atMs",
            (SELECT packed FROM board_snapshot_parts AS part
              WHERE part.tenant_no = $1 AND part.board_no = $2 AND part.run_day = $3 AND part.parts = snapshot.parts
                AND part.part = $4 & (snapshot.parts - 1) AND part.day <= snapshot.day
              ORDER BY part.day DESC LIMIT 1) AS packed
       FROM (SELECT * FROM board_snapshots
              WHERE tenant_no = $1 AND board_no = $2 AND run_day = $3 ORDER BY day DESC LIMIT $5) AS snapshot
      ORDER BY snapshot.day`,
    [tenantNo, boardNo, runDay, hash, count],
  );
  return rows;
}

interface StoredPart {
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
