import type { Pool, PoolClient } from 'pg';
import { transaction } from '../transaction.ts';

/**
 * How long a change of partitions waits for its locks. All later users of the log, including the persister, wait behind it, so it gives up
 * early and is retried.
 */
const LOCK_WAIT_MS = 1_000;

const NAME = /^webhook_messages_d(\d+)$/;

/** Days (epoch days) that have a partition. */
export async function messageDays(client: Pool | PoolClient): Promise<number[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'webhook_messages'::regclass`,
  );
  return rows.flatMap(({ name }) => NAME.exec(name)?.[1] ?? []).map(Number);
}

/**
 * Creates the partition of a day, unless the default partition already holds messages of that day, which stay there. Creates a table and
 * attaches it, which locks only the default partition exclusively. Rejects without a change if it does not get its lock within a second,
 * or if another process creates the partition at the same time.
 */
export function makeMessageDay(pool: Pool, day: number): Promise<void> {
  const name = `webhook_messages_d${whole(day)}`;
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    const { rows } = await client.query('SELECT FROM webhook_messages_default WHERE day = $1 LIMIT 1', [day]);
    if (rows.length > 0) return;
    await client.query(
      `CREATE TABLE ${name} (LIKE webhook_messages INCLUDING ALL) WITH (fillfactor = 70);
       ALTER TABLE webhook_messages ATTACH PARTITION ${name} FOR VALUES FROM (${whole(day)}) TO (${whole(day) + 1})`,
    );
  });
}

/** Messages deleted from the default partition per step. */
const STEP = 5_000;

/** Whether the default partition or the queue holds messages from before a day. */
export async function hasMessagesBefore(pool: Pool, day: number): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>(
    `SELECT EXISTS (SELECT FROM webhook_messages_default WHERE day < $1)
         OR EXISTS (SELECT FROM webhook_queue WHERE day < $1) AS some`,
    [day],
  );
  return rows[0]!.some;
}

/**
 * Drops the partition of a day, immediately and regardless of its size. Rejects without a change if it does not get its lock within a second.
 * `deleteMessagesBefore` deletes the day's messages that are still queued.
 */
export function dropMessageDay(pool: Pool, day: number): Promise<void> {
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE IF EXISTS webhook_messages_d${whole(day)}`);
  });
}

/** Deletes the health records of deleted webhooks without queued messages. */
export async function forgetDeletedWebhooks(pool: Pool): Promise<void> {
  await pool.query(
    `DELETE FROM webhook_state AS state USING catalog_resources AS resource
      WHERE resource.id = state.webhook_id AND resource.deleted IS NOT NULL
        AND NOT EXISTS (SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = state.webhook_id)`,
  );
}

/** Deletes messages from before a day from the default partition and the queue, a few thousand at most. */
export async function deleteMessagesBefore(pool: Pool, day: number): Promise<void> {
  for (const table of ['webhook_messages_default', 'webhook_queue']) {
    await pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE day < $1 LIMIT ${STEP}))`,
      [day],
    );
  }
}

/** Checks a day before it becomes part of a statement's text. */
function whole(day: number): number {
  if (!Number.isInteger(day) || day < 0) throw new RangeError(`${day} is no epoch day`);
  return day;
}
