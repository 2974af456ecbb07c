import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { transaction } from '../transaction.ts';

/** A range of UTC days with its own partition of each table in `PARTITIONED`. */
export interface EventPartition {
  /** Epoch day; 0 includes all earlier days. Partitions are named after it. */
  firstDay: number;
  /** Exclusive. */
  endDay: number;
  /** Whether the partition of used keys has its index. */
  keysIndexed: boolean;
  /** Whether its partitions of events and awards were dropped. */
  isGone: boolean;
}

/** Tables partitioned by the time in events' IDs. Each has a default partition for all other rows. */
const PARTITIONED = ['events', 'awards', 'used_keys'] as const;

/** How long a change of partitions waits for its locks, behind which all later users of the tables wait. */
export const LOCK_WAIT_MS = 1_000;

/** The smallest UUID of an epoch day. */
export const firstIdOf = (day: number): string => {
  const time = (day * DAY_MS).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
};

export async function readEventPartitions(client: Pool | PoolClient): Promise<EventPartition[]> {
  const { rows } = await client.query<EventPartition>(
    `SELECT first_day AS "firstDay", end_day AS "endDay", keys_indexed AS "keysIndexed", is_gone AS "isGone"
       FROM event_partitions ORDER BY first_day`,
  );
  return rows;
}

/** The day after the last one with rows in a default partition; 0 if these are empty. */
export async function endOfDefaults(client: Pool | PoolClient): Promise<number> {
  const newest = PARTITIONED.map((table) => `(SELECT id FROM ${table}_default ORDER BY id DESC LIMIT 1)`).join(', ');
  const { rows } = await client.query<{ time: string | null }>(
    `SELECT left(replace(greatest(${newest})::text, '-', ''), 12) AS time`,
  );
  const time = rows[0]?.time ?? null;
  return time === null ? 0 : Math.floor(parseInt(time, 16) / DAY_MS) + 1;
}

/**
 * Creates the partitions of some days, all or none. Rejects without a change if it does not get its locks within a second,
 * or if one of the days has partitions already, or rows in a default partition. Creates tables and attaches them, which
 * locks only the default partitions exclusively.
 */
export function makeEventPartition(
  pool: Pool,
  { firstDay, endDay }: Pick<EventPartition, 'firstDay' | 'endDay'>,
): Promise<void> {
  const [first, end] = [firstIdOf(firstDay), firstIdOf(endDay)];
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    for (const table of PARTITIONED) {
      const name = `${table}_d${whole(firstDay)}`;
      await client.query(
        `CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL);
         ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES FROM ('${first}') TO ('${end}')`,
      );
    }
    await client.query('INSERT INTO event_partitions (first_day, end_day, end_id) VALUES ($1, $2, $3)', [
      firstDay,
      endDay,
      end,
    ]);
  });
}

/** The largest number of events that Laurel stored on one of some UTC days. */
export async function mostEventsOfADay(
  pool: Pool,
  { fromDay, toDay }: { fromDay: number; toDay: number },
): Promise<number> {
  const { rows } = await pool.query<{ events: number }>(
    `SELECT coalesce(max(events), 0)::float8 AS events
       FROM (SELECT sum(events) AS events FROM tenant_days WHERE day BETWEEN $1 AND $2 GROUP BY day) AS days`,
    [fromDay, toDay],
  );
  return rows[0]!.events;
}

/** Checks a day before it becomes part of a statement's text. */
export function whole(day: number): number {
  if (!Number.isInteger(day) || day < 0) throw new RangeError(`${day} is not an epoch day`);
  return day;
}

const DEFAULTS = PARTITIONED.map((table) => `pg_relation_size('${table}_default')`).join(' + ');

interface PartitionsState {
  /** The first day (epoch day) without partitions. */
  endDay: number;
  /** Size of rows whose days had no partition when they were stored. */
  bytesOutside: number;
}

export async function partitionsState(pool: Pool): Promise<PartitionsState> {
  const { rows } = await pool.query<PartitionsState>(
    `SELECT (SELECT max(end_day) FROM event_partitions) AS "endDay", (${DEFAULTS})::float8 AS "bytesOutside"`,
  );
  return rows[0]!;
}

/**
 * Creates the index of a partition of used keys once it receives hardly any new keys. Building the index at once costs a
 * tenth of updating it key by key. Nobody waits for it. A crash leaves a partial index, which the next try removes. Call it
 * for partitions in order of days: lookups assume that all earlier partitions have their index.
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
