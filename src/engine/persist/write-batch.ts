import type { Pool } from 'pg';
import { lockCursor, moveCursor } from '../../postgres/persist/cursor.ts';
import { insertAwards } from '../../postgres/persist/insert-awards.ts';
import { insertCompletions } from '../../postgres/persist/insert-completions.ts';
import { insertEvents } from '../../postgres/persist/insert-events.ts';
import { updateStates } from '../../postgres/persist/update-states.ts';
import { upsertUsers } from '../../postgres/persist/upsert-users.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { Batch } from './batch.ts';

interface Write {
  shard: number;
  /** The position that the batch was read after. */
  after: string;
  batch: Batch;
  /** Called when everything is written and nothing is committed. */
  beforeCommit?: (() => void | Promise<void>) | undefined;
}

/**
 * Writes the rows and moves the cursor in one transaction: both or neither. False, and nothing is written, if
 * another persister holds the cursor or has moved it since. After an error nothing is written, or, if the
 * connection broke during COMMIT, everything may be: read the cursor again.
 */
export function writeBatch(pool: Pool, { shard, after, batch, beforeCommit }: Write): Promise<boolean> {
  return transaction(pool, async (client) => {
    if ((await lockCursor(client, shard)) !== after) return false;
    await insertEvents(client, batch.events);
    await insertAwards(client, batch.awards);
    await insertCompletions(client, batch.completions);
    await upsertUsers(client, batch.users);
    await updateStates(client, batch.unchangedUsers);
    await moveCursor(client, shard, batch.position);
    await beforeCommit?.();
    return true;
  });
}
