import type { Pool, PoolClient } from 'pg';
import { FIRST_POSITION, LAST_POSITION, lastAwardOf } from '../domain/administration/timeline.ts';
import { DEFAULT_EVENT_SETTINGS } from '../domain/fields/tenant-settings.ts';
import { dateOf, DAY_MS, epochDay } from '../domain/periods.ts';
import { lockCursors } from './shards.ts';
import { transaction } from './transaction.ts';
import type { NamedUser } from '../domain/user.ts';

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
const LOCK_WAIT_MS = 1_000;

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
  return time === null ? 0 : epochDay(parseInt(time, 16)) + 1;
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
      const name = `${table}_d${wholeDay(firstDay)}`;
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
export function wholeDay(day: number): number {
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
  const table = `used_keys_d${wholeDay(firstDay)}`;
  await pool.query(`DROP INDEX IF EXISTS ${table}_by_user`);
  await pool.query(
    `CREATE INDEX CONCURRENTLY ${table}_by_user ON ${table} (tenant_no, user_id, substr(uuid_send(id), 7, 8))`,
  );
  await pool.query('UPDATE event_partitions SET keys_indexed = true WHERE first_day = $1', [firstDay]);
}

/** Events per slice, plus the rest of its last user's: about 50 ms during which nothing else is stored. */
const SLICE = 5_000;

/** Moves a slice to the day sums. Parameters: the user before the slice, and its last user (`null`: the last). */
const move = (table: string, add: (rows: string) => string): string => `
  WITH gone AS (
    DELETE FROM ${table}
     WHERE (tenant_no, user_id) > ($1, $2) AND ($3::int IS NULL OR (tenant_no, user_id) <= ($3, $4)) RETURNING *
  ), added AS (${add(`(
    SELECT * FROM gone WHERE NOT EXISTS (
      SELECT FROM summed_users AS summed WHERE summed.tenant_no = gone.tenant_no AND summed.user_id = gone.user_id)) AS unsummed`)})
  SELECT count(*)::float8 AS moved FROM gone`;

/** Progress value: all users are moved. */
const ALL_MOVED = 2_147_483_647;

/** Approximate number of events in a range, from Postgres's statistics; `null` if there are none yet. */
export async function eventsLeft(pool: Pool, part: number): Promise<number | null> {
  const { rows } = await pool.query<{ events: number }>(
    `SELECT reltuples::float8 AS events FROM pg_class WHERE oid = to_regclass('events_d${wholeDay(part)}')`,
  );
  const events = rows[0]?.events ?? -1;
  return events < 0 ? null : events;
}

/**
 * Moves the events and awards of a range's next users to their day sums and records the progress. The first call marks the
 * range as dropped. Writers wait for the transaction, so that no rows are added to a user meanwhile. Returns how many events
 * were moved; `null` if all are moved.
 * @param part first day of the range
 */
export async function moveNextUsers(client: PoolClient, part: number): Promise<number | null> {
  await lockCursors(client);
  const { rows } = await client.query<NamedUser>(
    `UPDATE event_partitions SET is_dropped = true WHERE first_day = $1 AND NOT is_gone
     RETURNING coalesce(summed_tenant, -1) AS "tenantNo", coalesce(summed_user, '') AS "userId"`,
    [part],
  );
  const after = rows[0];
  if (after === undefined || after.tenantNo === ALL_MOVED) return null;
  const last = await client.query<NamedUser>(
    `SELECT tenant_no AS "tenantNo", user_id AS "userId" FROM events_d${wholeDay(part)}
      WHERE (tenant_no, user_id) > ($1, $2) ORDER BY tenant_no, user_id LIMIT 1 OFFSET ${SLICE}`,
    [after.tenantNo, after.userId],
  );
  const upTo = last.rows[0];
  const values = [after.tenantNo, after.userId, upTo?.tenantNo ?? null, upTo?.userId ?? null];
  const moved = await client.query<{ moved: number }>(move(`events_d${part}`, addEvents), values);
  await client.query(move(`awards_d${part}`, addAwards), values);
  await client.query('UPDATE event_partitions SET summed_tenant = $2, summed_user = $3 WHERE first_day = $1', [
    part,
    upTo?.tenantNo ?? ALL_MOVED,
    upTo?.userId ?? '',
  ]);
  return moved.rows[0]!.moved;
}

/**
 * Drops the tables of a range once their contents are moved. Returns false if rows were added after their user was moved (an
 * event released from quarantine); they must be moved again. Rejects if it does not get its locks within a second.
 * Idempotent.
 */
export async function dropEvents(client: PoolClient, part: number): Promise<boolean> {
  await lockCursors(client);
  const { rowCount } = await client.query('SELECT FROM event_partitions WHERE first_day = $1 AND is_gone', [part]);
  if (rowCount === 1) return true;
  const { rows } = await client.query<{ empty: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM events_d${wholeDay(part)}) AND NOT EXISTS (SELECT FROM awards_d${part}) AS empty`,
  );
  const { empty } = rows[0]!;
  if (empty) {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE events_d${part}, awards_d${part}`);
  }
  await client.query('UPDATE event_partitions SET is_gone = $2, summed_tenant = NULL WHERE first_day = $1', [
    part,
    empty,
  ]);
  return empty;
}

export async function mostLateDays(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ days: number }>(
    `SELECT max(coalesce((event_settings ->> 'lateEventDays')::int, $1)) AS days FROM tenants WHERE status = 'active'`,
    [DEFAULT_EVENT_SETTINGS.lateEventDays],
  );
  return rows[0]!.days;
}

/** Why events cannot be kept for only this many days; `null` if they can (or are kept forever). */
export async function retentionTooShort(pool: Pool, days: number | null): Promise<string | null> {
  const late = await mostLateDays(pool);
  return days === null || days > late
    ? null
    : `EVENT_RETENTION_DAYS is ${days}, but events may arrive up to ${late} days late (lateEventDays). Set it to at least ${late + 1}.`;
}

const since = (firstId: string | undefined): string => (firstId === undefined ? '' : ` AND id >= ${firstId}::uuid`);

/** Whose rows to read, as SQL for a statement whose first parameter is the tenant's number. */
interface RowFilter {
  user: string;
  /** Further conditions on the number of the metric or points system, on `local_date` and, for events, on `attributes`. */
  where: string;
  /** Parameter with the first ID to read (`readSinceDay`); absent to read all. */
  firstId?: string;
  /** Reads only events with attributes, grouped by attributes. If absent, all events are read, without their attributes. */
  byAttributes?: true;
}

/** Evaluated once, because it does not depend on the table's rows; if false, Postgres does not read the table. */
const unlessSummed = ({ user, where, firstId, byAttributes }: RowFilter): string =>
  `tenant_no = $1 AND user_id = ${user} AND ${where}${byAttributes ? ' AND attributes IS NOT NULL' : ''}${since(firstId)}
       AND NOT EXISTS (SELECT FROM summed_users AS summed WHERE summed.tenant_no = $1 AND summed.user_id = ${user})`;

/**
 * The order of the index by user. It is only for the planner: if a few users have most events, the planner would expect that
 * many for everybody and scan whole partitions per user.
 */
const BY_INDEX = { events: 'ORDER BY metric_no, local_date', awards: 'ORDER BY system_no, id' };

/**
 * A user's events, for FROM. For users with day sums (`keepDaySums`): the sums of days. For others: one row per event, plus
 * the sums of dropped events.
 */
export const eventsAndSums = (filter: RowFilter): string => `(
    (SELECT user_id, metric_no, local_date, attributes, value, 1::bigint AS events, (value > 0)::int::bigint AS positive
      FROM events WHERE ${unlessSummed(filter)} ${BY_INDEX.events})
    UNION ALL
    SELECT user_id, metric_no, local_date, attributes, value, events, positive
      FROM event_days
     WHERE tenant_no = $1 AND user_id = ${filter.user} AND attributes_hash ${filter.byAttributes ? '>' : '='} '' AND ${filter.where})`;

/** A user's awards, in the same form. */
export const awardsAndSums = (filter: RowFilter): string => `(
    (SELECT user_id, system_no, local_date, awarded::numeric AS awarded
      FROM awards WHERE ${unlessSummed(filter)} ${BY_INDEX.awards})
    UNION ALL
    SELECT user_id, system_no, local_date, awarded
      FROM award_days WHERE tenant_no = $1 AND user_id = ${filter.user} AND ${filter.where})`;

/** Equal attributes have equal jsonb text. */
const HASH = `CASE WHEN sum.attributes IS NULL THEN ''::bytea ELSE substr(sha256(convert_to(sum.attributes::text, 'UTF8')), 1, 16) END`;

/**
 * Adds events to the sums of their days: to the day's sum of all events, and events with attributes also to the sum of those
 * with equal attributes. So a read without attributes needs one row per metric and day, regardless of the attributes that
 * clients send.
 * `rows`: for FROM, with the columns of `events`. Not idempotent.
 */
export const addEvents = (rows: string): string => `
  INSERT INTO event_days AS known (tenant_no, user_id, metric_no, local_date, attributes_hash, attributes, events, positive, value)
  SELECT tenant_no, user_id, metric_no, local_date, ${HASH}, sum.attributes, count(*), count(*) FILTER (WHERE value > 0), sum(value)
    FROM ${rows} CROSS JOIN LATERAL (
           SELECT NULL::jsonb AS attributes UNION ALL SELECT attributes WHERE attributes IS NOT NULL) AS sum
   GROUP BY tenant_no, user_id, metric_no, local_date, sum.attributes
  ON CONFLICT (tenant_no, user_id, attributes_hash, metric_no, local_date) DO UPDATE
    SET events = known.events + EXCLUDED.events, positive = known.positive + EXCLUDED.positive,
        value = known.value + EXCLUDED.value`;

export const addAwards = (rows: string): string => `
  INSERT INTO award_days AS known (tenant_no, user_id, system_no, local_date, awarded)
  SELECT tenant_no, user_id, system_no, local_date, sum(awarded)
    FROM ${rows} GROUP BY tenant_no, user_id, system_no, local_date
  ON CONFLICT (tenant_no, user_id, system_no, local_date) DO UPDATE SET awarded = known.awarded + EXCLUDED.awarded`;

/** First UTC day (epoch day) whose individual events and awards are kept; `null` if all are. */
export async function detailsFromDay(client: Pool | PoolClient): Promise<number | null> {
  const { rows } = await client.query<{ day: number | null }>(
    'SELECT max(end_day) AS day FROM event_partitions WHERE is_dropped',
  );
  return rows[0]!.day;
}

/** Whether an ID (32 hex digits or UUID) is older than the events that are kept. */
export async function isDropped(client: Pool | PoolClient, id: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM event_partitions WHERE is_dropped AND $1::uuid < end_id LIMIT 1', [
    id,
  ]);
  return rows.length > 0;
}

/** `detailsFromDay` as `YYYY-MM-DD`. */
export async function detailsFrom(client: Pool | PoolClient): Promise<string | null> {
  const day = await detailsFromDay(client);
  return day === null ? null : dateOf(day);
}

export interface IdWindow {
  fromId: string;
  toId: string;
}

/** Number of partitions in the first window, including one created ahead of time. */
const FIRST_PARTITIONS = 3;

/**
 * Divides the range between two IDs into windows of whole partitions, in search order. A statement that receives a window as
 * values is planned only for its partitions. The first window has a few partitions, each later one twice as many, so that a
 * user who was inactive for years is found after a few statements.
 */
export async function* idWindows(
  pool: Pool,
  { above, below, newest }: { above: string; below: string; newest: boolean },
): AsyncGenerator<IdWindow> {
  const bounds = await boundsAround(pool, { above, below });
  if (newest) bounds.reverse();
  for (let at = 0, partitions = FIRST_PARTITIONS; at < bounds.length - 1; partitions *= 2) {
    const next = Math.min(at + partitions, bounds.length - 1);
    const [a, b] = [bounds[at]!, bounds[next]!];
    yield newest ? { fromId: b, toId: a } : { fromId: a, toId: b };
    at = next;
  }
}

/** Up to `limit` IDs, found window by window. `find` returns a window's first IDs in order, at most as many as requested. */
export async function idsByWindows(
  pool: Pool,
  range: { above: string; below: string; newest: boolean; limit: number },
  find: (window: IdWindow, limit: number) => Promise<string[]>,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const window of idWindows(pool, range)) {
    ids.push(...(await find(window, range.limit - ids.length)));
    if (ids.length >= range.limit) break;
  }
  return ids;
}

/** The window of partitions that contains some IDs, and IDs that differ only in the last four digits. */
export async function windowAround(pool: Pool, ids: readonly string[]): Promise<IdWindow> {
  const sorted = ids.toSorted();
  const bounds = await boundsAround(pool, { above: sorted[0]!, below: lastAwardOf(sorted.at(-1)!) });
  return { fromId: bounds[0]!, toId: bounds.at(-1)! };
}

/** Bounds of the partitions between two IDs, in order; at least two. */
async function boundsAround(pool: Pool, { above, below }: { above: string; below: string }): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('SELECT end_id AS id FROM event_partitions ORDER BY end_id');
  const all = [FIRST_POSITION, ...rows.map(({ id }) => id), LAST_POSITION];
  const first = all.findLastIndex((bound) => bound <= above);
  const last = all.findIndex((bound, at) => at > first && bound >= below);
  return all.slice(first, last + 1);
}

const FIRST_ID = firstIdOf(0);

/**
 * SQL: whether an event or award of a local day (epoch day, SQL) or later may have an ID from before the previous UTC day.
 * This applies to events that were released from quarantine days later, and to imported awards that count for another day
 * than their time.
 */
export const mayBeEarlier = (day: string): string => `EXISTS (
    SELECT FROM event_partitions
     WHERE first_day < ${day} - 1 AND NOT is_gone AND ahead_to >= ${day})`;

/** Evaluates `mayBeEarlier` for a read that may return no rows to include it in. Call it after that read. */
export async function isEarlier(client: Pool | PoolClient, day: number): Promise<boolean> {
  const { rows } = await client.query<{ earlier: boolean }>(`SELECT ${mayBeEarlier('$1::int')} AS earlier`, [day]);
  return rows[0]!.earlier;
}

/**
 * Reads events or awards of a local day (epoch day) and later. `read` receives the first ID to read, as a separate value in
 * the statement, so that earlier partitions are not planned for. If some may have earlier IDs, it reads all.
 * @param read.missed the value of `mayBeEarlier` in the answer's snapshot or a later one
 */
export async function readSinceDay<T>(
  day: number,
  read: { rows: (firstId: string) => Promise<T>; missed: (answer: T) => boolean | Promise<boolean> },
): Promise<T> {
  const firstId = firstIdOf(Math.max(0, day - 1));
  const answer = await read.rows(firstId);
  return (await read.missed(answer)) ? read.rows(FIRST_ID) : answer;
}
