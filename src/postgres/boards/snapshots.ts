import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { BoardRun } from '../../domain/runs.ts';

/** Snapshots of a run for days without changes, in `packed.length` parts (a power of 2). */
export interface TakenSnapshots {
  runDay: number;
  fromDay: number;
  toDay: number;
  packed: readonly Buffer[];
}

const TAKEN = columns<Omit<TakenSnapshots, 'packed'> & { parts: number }>({
  runDay: 'int',
  fromDay: 'int',
  toDay: 'int',
  parts: 'int',
});

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
       FROM ${TAKEN.unnest('taken', 3)}
      CROSS JOIN LATERAL generate_series(from_day, to_day) AS day`,
    [tenantNo, boardNo, ...TAKEN.arrays(taken.map((each) => ({ ...each, parts: each.packed.length })))],
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
  { tenantNo, boardNo, runDay }: BoardRun,
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
  { tenantNo, boardNo, runDay }: BoardRun,
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

/** A tenant with more snapshots than this has them searched for a deleted or merged user by a job. */
const MOST_SEARCHED = 1_000;
/** Runs, each with snapshots of a number of parts, that are searched at once, and parts that a search returns: some 10 MB. */
const RUNS = 50;
const PARTS = 500;

/** The last day with a snapshot of each leaderboard, by its number; `null` for a tenant with few snapshots. */
export async function manySnapshots(client: PoolClient, tenantNo: number): Promise<Record<number, number> | null> {
  const { rowCount } = await client.query('SELECT FROM board_snapshots WHERE tenant_no = $1 OFFSET $2 LIMIT 1', [
    tenantNo,
    MOST_SEARCHED,
  ]);
  if (rowCount === 0) return null;
  const last = (where: string): string => `
    SELECT board_no, day FROM board_snapshots WHERE tenant_no = $1 ${where} ORDER BY board_no DESC, run_day DESC, day DESC LIMIT 1`;
  const { rows } = await client.query<{ board_no: number; day: number }>(
    `WITH RECURSIVE board AS ((${last('')}) UNION ALL
       SELECT next.* FROM board CROSS JOIN LATERAL (${last('AND board_snapshots.board_no < board.board_no')}) AS next)
     SELECT * FROM board`,
    [tenantNo],
  );
  return Object.fromEntries(rows.map(({ board_no: boardNo, day }) => [boardNo, day]));
}

/** SQL: the first run after a place. */
const nextRun = (after: string): string => `
  SELECT board_no, run_day, parts FROM board_snapshot_parts
   WHERE tenant_no = $1 AND (board_no, run_day, parts) > (${after}) ORDER BY board_no, run_day, parts LIMIT 1`;

/** `$9`: the last day that was searched of the run of the cursor; `null`: all were. */
const SEARCH_RUNS = `
  WITH RECURSIVE run AS (
    (SELECT *, 1 AS nth FROM (
       SELECT $4::int AS board_no, $5::int AS run_day, $6::int AS parts WHERE $9::int IS NOT NULL
       UNION ALL SELECT * FROM (${nextRun('$4::int, $5::int, $6::int')}) AS next WHERE $9::int IS NULL) AS first)
    UNION ALL
    SELECT next.*, nth + 1 FROM run CROSS JOIN LATERAL (${nextRun('run.board_no, run.run_day, run.parts')}) AS next
     WHERE nth < ${RUNS}
  )
  SELECT run.board_no AS "boardNo", run.run_day AS "runDay", run.parts, part.part, part.day, part.packed
    FROM run LEFT JOIN unnest($7::int[], $8::int[]) AS last (board_no, day) ON last.board_no = run.board_no
    LEFT JOIN LATERAL (
      SELECT part, day, packed FROM board_snapshot_parts AS stored
       WHERE stored.tenant_no = $1 AND stored.board_no = run.board_no AND stored.run_day = run.run_day
         AND stored.parts = run.parts AND stored.part = $2 & (run.parts - 1) AND ($10 OR stored.day <= last.day)
         AND (nth > 1 OR $9::int IS NULL OR stored.day > $9) AND position($3::bytea IN stored.packed) > 0) AS part ON true
   ORDER BY nth, part.day
   LIMIT ${PARTS}`;

/**
 * The parts as `snapshotPartsWith` finds them, of the next runs after a cursor and up to the last day of each leaderboard (`lastDays`; `null`:
 * all days). `cursor`: where the next search begins ('' for the first); `null` if all are searched.
 */
export async function searchRuns(
  client: Pool | PoolClient,
  {
    tenantNo,
    lastDays,
    cursor,
  }: { tenantNo: number; lastDays: Readonly<Record<number, number>> | null; cursor: string },
  { hash, bytes }: { hash: number; bytes: Buffer },
): Promise<{ parts: StoredPart[]; cursor: string | null }> {
  const [boardNo = -1, runDay = 0, parts = 0, day = null] = cursor === '' ? [] : cursor.split(' ').map(Number);
  const last = [Object.keys(lastDays ?? {}).map(Number), Object.values(lastDays ?? {})];
  const { rows } = await client.query<StoredPart & { packed: Buffer | null }>(SEARCH_RUNS, [
    tenantNo,
    hash,
    bytes,
    boardNo,
    runDay,
    parts,
    ...last,
    day,
    lastDays === null,
  ]);
  const end = rows.at(-1);
  const run = end && `${end.boardNo} ${end.runDay} ${end.parts}`;
  // Other parts of the run may follow.
  const isCut = rows.length === PARTS && end!.packed !== null;
  return {
    parts: rows.filter(({ packed }) => packed !== null),
    cursor: run === undefined ? null : isCut ? `${run} ${end!.day}` : run,
  };
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
