import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

/**
 * Runs `work` unless another process holds the same lock; then returns `null` and does nothing. The lock belongs to one connection. If that breaks,
 * `lost` is aborted, and another process may start while the work is still ending.
 */
export async function exclusively<T>(
  pool: Pool,
  lock: number,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect();
  const lost = new AbortController();
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken = error;
    lost.abort(error);
  };
  client.on('error', onError);
  try {
    const { rows } = await client
      .query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [lock])
      .catch((error: Error) => {
        // The lock may still have been granted if only the answer was late. Closing the connection releases it.
        broken = error;
        throw error;
      });
    if (rows[0]?.held !== true) return null;
    try {
      return await work(lost.signal);
    } finally {
      // Closing the connection also releases the lock.
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch((error: Error) => void (broken = error));
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** Interval of trying to get the lock. */
const ASK_MS = 200;

/** Like `exclusively`, but waits for other processes, however long that takes. Rejects if `ending` aborts first. */
export async function inTurn<T>(
  pool: Pool,
  lock: number,
  { work, ending }: { work: (lost: AbortSignal) => Promise<T>; ending?: AbortSignal | undefined },
): Promise<T> {
  for (;;) {
    const done = await exclusively(pool, lock, async (lost) => ({ answer: await work(lost) }));
    if (done !== null) return done.answer;
    await sleep(ASK_MS, undefined, { ...(ending && { signal: ending }) });
  }
}
