import type { Pool } from 'pg';
import { beginAtCursor, moveCursor } from '../../postgres/persist/cursor.ts';
import { insertAwards } from '../../postgres/persist/insert-awards.ts';
import { insertCompletions } from '../../postgres/persist/insert-completions.ts';
import { insertEvents } from '../../postgres/persist/insert-events.ts';
import { upsertUsers } from '../../postgres/persist/upsert-users.ts';
import type { Batch } from './batch.ts';

export type Written =
  | { outcome: 'written' }
  /** Another persister moved the cursor since: begin again from there. */
  | { outcome: 'moved'; cursor: string }
  /** Another persister is writing at this moment. */
  | { outcome: 'busy' };

interface Write {
  shard: number;
  /** The position that the batch was read after. */
  after: string;
  batch: Batch;
  /** Called when everything is written and nothing is committed. */
  beforeCommit?: (() => void | Promise<void>) | undefined;
}

/**
 * Writes the rows and moves the cursor in one transaction: both or neither, and only if the cursor still stands
 * where the batch begins. After an error nothing is written, or, if the connection broke during COMMIT, everything
 * may be: read the cursor again.
 */
export async function writeBatch(pool: Pool, { shard, after, batch, beforeCommit }: Write): Promise<Written> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const cursor = await beginAtCursor(client, shard);
    if (cursor !== after) {
      await client.query('ROLLBACK');
      return cursor === null ? { outcome: 'busy' } : { outcome: 'moved', cursor };
    }
    await insertEvents(client, batch.events);
    await insertAwards(client, batch.awards);
    await insertCompletions(client, batch.completions);
    await upsertUsers(client, batch.users);
    await moveCursor(client, shard, batch.position);
    await beforeCommit?.();
    await client.query('COMMIT');
    return { outcome: 'written' };
  } catch (error) {
    await client.query('ROLLBACK').catch((rollback: Error) => {
      broken = rollback;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
