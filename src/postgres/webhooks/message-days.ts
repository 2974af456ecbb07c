import type { Pool, PoolClient } from 'pg';
import { transaction } from '../transaction.ts';

/**
 * How long a change of the partitions waits for those who use the log. Whoever comes after it waits as long, the persister
 * among them, so it gives up soon, and is tried again.
 */
const LOCK_WAIT_MS = 1_000;

const NAME = /^webhook_messages_d(\d+)$/;

/** The days (epoch days) that have a partition of their own. */
export async function messageDays(client: Pool | PoolClient): Promise<number[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'webhook_messages'::regclass`,
  );
  return rows.flatMap(({ name }) => NAME.exec(name)?.[1] ?? []).map(Number);
}

/**
 * Makes the partition of a day. A day of which messages are in the default partition already has none: they stay there.
 * Attached, not created as a partition, so that only the default one is locked against all others. Rejects if it does not
 * get its lock in a second, and where another process makes it at the same time; then nothing is done.
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

/** Messages deleted from the default partition by one step. */
const STEP = 5_000;

/**
 * Whether the log holds anything of days before one, apart from their partitions: in the default partition or the queue.
 */
export async function hasMessagesBefore(pool: Pool, day: number): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>(
    `SELECT EXISTS (SELECT FROM webhook_messages_default WHERE day < $1)
         OR EXISTS (SELECT FROM webhook_queue WHERE day < $1) AS some`,
    [day],
  );
  return rows[0]!.some;
}

/**
 * Drops the partition of a day, at once and whatever its size. Rejects if it does not get its lock in a second; then
 * nothing is done. What waits of that day is left to `deleteMessagesBefore`.
 */
export function dropMessageDay(pool: Pool, day: number): Promise<void> {
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE IF EXISTS webhook_messages_d${whole(day)}`);
  });
}

/** Forgets how webhooks fare that are deleted and for which nothing waits. */
export async function forgetDeletedWebhooks(pool: Pool): Promise<void> {
  await pool.query(
    `DELETE FROM webhook_state AS state USING catalog_resources AS resource
      WHERE resource.id = state.webhook_id AND resource.deleted IS NOT NULL
        AND NOT EXISTS (SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = state.webhook_id)`,
  );
}

/** Deletes messages of days before one from the default partition and from the queue, some thousand at most. */
export async function deleteMessagesBefore(pool: Pool, day: number): Promise<void> {
  for (const table of ['webhook_messages_default', 'webhook_queue']) {
    await pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE day < $1 LIMIT ${STEP}))`,
      [day],
    );
  }
}

/** For the text of a statement. */
function whole(day: number): number {
  if (!Number.isInteger(day) || day < 0) throw new RangeError(`${day} is no epoch day`);
  return day;
}
