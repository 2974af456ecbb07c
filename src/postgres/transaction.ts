import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { codeOf, isNetworkError } from '../network-errors.ts';
import { inOwnTurn } from '../pacing/turns.ts';

/** Runs `work` in a transaction. Closes a connection whose rollback fails. */
export async function transaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // Without a listener, an error on a connection in use would end the process.
  const onError = (error: Error): void => void (broken = error);
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // A statement that timed out is still running, and later statements on this connection would wait for it.
    if (isUnanswered(error)) broken = error;
    else await client.query('ROLLBACK').catch((failure: Error) => void (broken = failure));
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

export const inSnapshot = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  transaction(pool, async (client) => {
    await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    return work(client);
  });

/** Runs `work` unless another process holds the lock (`null`). `lost` aborts if the lock's connection breaks. */
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
  work: (lost: AbortSignal) => Promise<T>,
  ending?: AbortSignal,
): Promise<T> {
  for (;;) {
    const outcome = await exclusively(pool, lock, async (lost) => ({ answer: await work(lost) }));
    if (outcome !== null) return outcome.answer;
    await inOwnTurn(sleep(ASK_MS, undefined, { ...(ending && { signal: ending }) }));
  }
}

/**
 * SQLSTATEs: connection exceptions (class 08); shutdown, crash or startup of the server (57P); read-only transaction, as on
 * a standby after a failover; disk full; out of memory; too many connections; statement timeout.
 */
const SQLSTATE = /^(08...|57P0[1-5]|25006|53100|53200|53300|57014)$/;

const UNANSWERED = 'Query read timeout';

/** The client's messages about connections. These errors have no code. */
const CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Connection ended|Client was closed)/;

/** Whether an error means that Postgres is unreachable or cannot serve now. Does not check the error's causes. */
export const isPostgresOutage = (error: Error): boolean =>
  isNetworkError(error) || SQLSTATE.test(codeOf(error) ?? '') || CONNECTION.test(error.message) || isUnanswered(error);

/** Whether Postgres has no disk space left (SQLSTATE 53100). */
export const isPostgresFull = (error: Error): boolean => codeOf(error) === '53100';

/** Whether a statement timed out. It may still be running, and later statements on its connection wait for it. */
export const isUnanswered = (error: unknown): error is Error => error instanceof Error && error.message === UNANSWERED;

/** Whether a statement failed because it violates a unique index. */
export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '23505';
