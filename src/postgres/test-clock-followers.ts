import type { Pool } from 'pg';

/** A process without a heartbeat for this long counts as gone. */
const LIVE = `seen > clock_timestamp() - interval '5 s'`;

/** Records a heartbeat of a process that follows the test clock, and its version of the clock. */
export async function noteFollower(
  pool: Pool,
  { id, worker, version }: { id: string; worker: boolean; version: number },
): Promise<void> {
  await pool.query(
    `INSERT INTO test_clock_followers (id, worker, version, seen) VALUES ($1, $2, $3, clock_timestamp())
     ON CONFLICT (id) DO UPDATE SET version = $3, seen = clock_timestamp()`,
    [id, worker, version],
  );
}

export async function dropFollower(pool: Pool, id: string): Promise<void> {
  await pool.query(`DELETE FROM test_clock_followers WHERE id = $1 OR seen < clock_timestamp() - interval '1 h'`, [id]);
}

/** Number of live processes that do not have this version of the clock yet, and number of live workers. */
export async function countFollowers(pool: Pool, version: number): Promise<{ behind: number; workers: number }> {
  const { rows } = await pool.query<{ behind: number; workers: number }>(
    `SELECT count(*) FILTER (WHERE version < $1) AS behind, count(*) FILTER (WHERE worker) AS workers
       FROM test_clock_followers WHERE ${LIVE}`,
    [version],
  );
  return rows[0]!;
}
