import type { Pool, PoolClient } from 'pg';

export interface StoredClock {
  /** Incremented whenever the clock is set or released. */
  version: number;
  /** Its time (epoch ms); `null` for real time. */
  nowMs: number | null;
  /** The version for which all due work is done. */
  doneVersion: number;
  /** What prevents the remaining work, for a person; `null` if nothing does. */
  problem: string | null;
}

const COLUMNS = 'version, now_ms AS "nowMs", done_version AS "doneVersion", problem';

export async function readClock(pool: Pool | PoolClient): Promise<StoredClock> {
  const { rows } = await pool.query<StoredClock>(`SELECT ${COLUMNS} FROM test_clock`);
  return rows[0]!;
}

/** Sets the clock. Returns `null`, without a change, if that would move it back (from `realMs` if it shows real time). */
export async function setClock(
  client: PoolClient,
  { nowMs, realMs }: { nowMs: number; realMs: number },
): Promise<StoredClock | null> {
  const { rows } = await client.query<StoredClock>(
    `UPDATE test_clock SET version = version + 1, now_ms = $1, problem = NULL
      WHERE coalesce(now_ms, $2) <= $1 RETURNING ${COLUMNS}`,
    [nowMs, realMs],
  );
  return rows[0] ?? null;
}

/** Returns the clock to real time. */
export async function releaseClock(client: PoolClient): Promise<StoredClock> {
  const { rows } = await client.query<StoredClock>(
    `UPDATE test_clock SET version = version + 1, now_ms = NULL, problem = NULL RETURNING ${COLUMNS}`,
  );
  return rows[0]!;
}

/** Records that the work due for a version of the clock is done, or what prevents it. */
export async function noteWork(
  pool: Pool,
  { version, problem }: { version: number; problem: string | null },
): Promise<void> {
  await pool.query(
    problem === null
      ? 'UPDATE test_clock SET done_version = greatest(done_version, $1), problem = NULL WHERE version >= $1'
      : 'UPDATE test_clock SET problem = $2 WHERE version = $1 AND done_version < $1',
    problem === null ? [version] : [version, problem],
  );
}
