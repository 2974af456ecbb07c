import type { Pool } from 'pg';
import { whole } from './event-partitions.ts';

/**
 * Creates the index of a partition of used keys once it receives hardly any new keys. Building the index at once costs a tenth of updating it key by
 * key. Nobody waits for it. A crash leaves a partial index, which the next try removes. Call it for partitions in order of days: lookups assume that
 * all earlier partitions have their index.
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
