import type { PoolClient } from 'pg';
import { isAboutData, reasonFor } from './about-data.ts';

/** Does something with all items but those with which it cannot be done, in their order, in the client's transaction. */
export async function byHalves<T>(
  client: PoolClient,
  items: readonly T[],
  on: { store: (items: readonly T[]) => Promise<void>; onFailed: (item: T, reason: string) => void },
): Promise<void> {
  if (items.length === 0) return;
  const reason = await attempt(client, () => on.store(items));
  if (reason === null) return;
  if (items.length === 1) return on.onFailed(items[0]!, reason);
  const half = items.length >> 1;
  await byHalves(client, items.slice(0, half), on);
  await byHalves(client, items.slice(half), on);
}

/** Does some of a transaction's work; null, or why it could not be done and nothing of it was. Throws what is not about data. */
export async function attempt(client: PoolClient, work: () => Promise<unknown>): Promise<string | null> {
  await client.query('SAVEPOINT part');
  try {
    await work();
  } catch (error) {
    if (!isAboutData(error)) throw error;
    await client.query('ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part');
    return reasonFor(error);
  }
  await client.query('RELEASE SAVEPOINT part');
  return null;
}
