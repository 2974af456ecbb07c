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
  const { rows } = await pool.query<StoredClock>({ name: 'read_clock', text: `SELECT ${COLUMNS} FROM test_clock` });
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

export async function releaseClock(client: PoolClient): Promise<StoredClock> {
  const { rows } = await client.query<StoredClock>(
    `UPDATE test_clock SET version = version + 1, now_ms = NULL, problem = NULL RETURNING ${COLUMNS}`,
  );
  return rows[0]!;
}

/** Records that the work due for a version of the clock is done, or what prevents it. */
export async function noteWork(pool: Pool, version: number, problem: string | null): Promise<void> {
  await pool.query(
    problem === null
      ? 'UPDATE test_clock SET done_version = greatest(done_version, $1), problem = NULL WHERE version >= $1'
      : 'UPDATE test_clock SET problem = $2 WHERE version = $1 AND done_version < $1',
    problem === null ? [version] : [version, problem],
  );
}

/** A process without a heartbeat for this long counts as gone. */
const LIVE = `seen > clock_timestamp() - interval '5 s'`;

/** Records a heartbeat of a process that follows the test clock, with its version of the clock. Returns the stored clock. */
export async function followClock(
  pool: Pool,
  { id, worker, version }: { id: string; worker: boolean; version: number },
): Promise<Pick<StoredClock, 'version' | 'nowMs'>> {
  const { rows } = await pool.query<Pick<StoredClock, 'version' | 'nowMs'>>({
    name: 'follow_clock',
    text: `WITH heartbeat AS (
             INSERT INTO test_clock_followers (id, worker, version, seen) VALUES ($1, $2, $3, clock_timestamp())
             ON CONFLICT (id) DO UPDATE SET version = $3, seen = clock_timestamp()
           )
           SELECT version, now_ms AS "nowMs" FROM test_clock`,
    values: [id, worker, version],
  });
  return rows[0]!;
}

export async function dropFollower(pool: Pool, id: string): Promise<void> {
  await pool.query(`DELETE FROM test_clock_followers WHERE id = $1 OR seen < clock_timestamp() - interval '1 h'`, [id]);
}

/** Number of live processes that do not have this version of the clock yet, and number of live workers. */
export async function countFollowers(pool: Pool, version: number): Promise<{ behind: number; workers: number }> {
  const { rows } = await pool.query<{ behind: number; workers: number }>({
    name: 'count_followers',
    text: `SELECT count(*) FILTER (WHERE version < $1) AS behind, count(*) FILTER (WHERE worker) AS workers
       FROM test_clock_followers WHERE ${LIVE}`,
    values: [version],
  });
  return rows[0]!;
}

/** The version for which all due work is done, what prevents the rest, and whether a worker lives. */
export async function readClockWork(
  pool: Pool,
): Promise<Pick<StoredClock, 'doneVersion' | 'problem'> & { isWorkerLive: boolean }> {
  const { rows } = await pool.query<Pick<StoredClock, 'doneVersion' | 'problem'> & { isWorkerLive: boolean }>({
    name: 'read_clock_work',
    text: `SELECT done_version AS "doneVersion", problem,
                  EXISTS (SELECT FROM test_clock_followers WHERE worker AND ${LIVE}) AS "isWorkerLive"
             FROM test_clock`,
  });
  return rows[0]!;
}

/** Whether an activated achievement still waits for backdating, or a leaderboard for being filled from history. */
export async function switchedOnWaits(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `SELECT EXISTS (SELECT FROM jobs WHERE kind IN ('backdating', 'leaderboard_filling') AND status IN ('waiting', 'running'))
         AS waits`,
  );
  return rows[0]!.waits;
}
