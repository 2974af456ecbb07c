import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

/**
 * Runs `work` while no other process runs anything under the same lock; null, and nothing is done, where one does.
 * The lock lives on one connection: when that breaks, `lost` is aborted, and another process may begin while the
 * work is still ending.
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
        // It may hold the lock all the same, if the answer only came too late: closed, it does not.
        broken = error;
        throw error;
      });
    if (rows[0]?.held !== true) return null;
    try {
      return await work(lost.signal);
    } finally {
      // A closed connection gives the lock back as well.
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch((error: Error) => void (broken = error));
    }
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** How often is asked whether the other one has ended. */
const ASK_MS = 200;

/** The same once no other process does, however long that takes. Rejects when `ending` is aborted before. */
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
