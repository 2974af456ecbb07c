import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { transaction } from '../transaction.ts';

/** A stretch of UTC days whose events have partitions of their own, in each of `PARTITIONED`. */
export interface EventPartition {
  /** Epoch day; 0 also stands for all that is earlier. Partitions are named by it. */
  firstDay: number;
  /** The day after the last one. */
  endDay: number;
  /** Whether the used keys of it have their index. */
  keysIndexed: boolean;
  /** Whether its tables of events and awards are gone. */
  isGone: boolean;
}

/** The tables that are partitioned by the time in events' IDs. Each has a default partition for what is of no stretch. */
export const PARTITIONED = ['events', 'awards', 'used_keys'] as const;

/**
 * How long a change of the partitions waits for those who use the tables. Whoever comes after it waits as long, the persister
 * among them, so it gives up soon, and is tried again.
 */
export const LOCK_WAIT_MS = 1_000;

/** The first ID of an epoch day, in its usual text form. */
export const firstIdOf = (day: number): string => {
  const time = (day * DAY_MS).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
};

/** Those that there are, in the order of their days. */
export async function readEventPartitions(client: Pool | PoolClient): Promise<EventPartition[]> {
  const { rows } = await client.query<EventPartition>(
    `SELECT first_day AS "firstDay", end_day AS "endDay", keys_indexed AS "keysIndexed", is_gone AS "isGone"
       FROM event_partitions ORDER BY first_day`,
  );
  return rows;
}

/**
 * The day after the last one of which a row is in a default partition; 0: these are empty. Rows get there when nobody made
 * partitions in time, or when a test clock ran ahead of them.
 */
export async function endOfDefaults(client: Pool | PoolClient): Promise<number> {
  const newest = PARTITIONED.map((table) => `(SELECT id FROM ${table}_default ORDER BY id DESC LIMIT 1)`).join(', ');
  const { rows } = await client.query<{ time: string | null }>(
    `SELECT left(replace(greatest(${newest})::text, '-', ''), 12) AS time`,
  );
  const time = rows[0]?.time ?? null;
  return time === null ? 0 : Math.floor(parseInt(time, 16) / DAY_MS) + 1;
}

/**
 * Makes the partitions of some days, all or none. Rejects if it does not get its locks in a second, if one of the days has
 * partitions, or rows in a default partition; then nothing is done. They are attached, not created as partitions, so that only the
 * default ones are locked against all others.
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

/** The most events that Laurel stored on one of some UTC days. */
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

/** For the text of a statement. */
export function whole(day: number): number {
  if (!Number.isInteger(day) || day < 0) throw new RangeError(`${day} is no epoch day`);
  return day;
}
