import type { Pool } from 'pg';
import { whole } from './event-partitions.ts';

/**
 * Makes the index by which used keys of a partition are found, when hardly anything is added to it any more: sorted at once it
 * costs a tenth of what keys cost that come one by one. Nobody waits for it. A crash leaves a part of it, which the next try
 * removes. To be called for partitions in the order of their days: where keys are looked for, all earlier ones have theirs.
 * @param firstDay of the partition
 */
export async function indexUsedKeys(pool: Pool, firstDay: number): Promise<void> {
  const table = `used_keys_d${whole(firstDay)}`;
  await pool.query(`DROP INDEX IF EXISTS ${table}_by_user`);
  await pool.query(
    `CREATE INDEX CONCURRENTLY ${table}_by_user ON ${table} (tenant_no, user_id, substr(uuid_send(id), 7, 8))`,
  );
  await pool.query('UPDATE event_partitions SET keys_indexed = true WHERE first_day = $1', [firstDay]);
}
