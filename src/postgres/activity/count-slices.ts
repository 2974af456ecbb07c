import type { PoolClient } from 'pg';
import { ADD_UP } from './add-day-counts.ts';
import type { Backfill, BackfillSource } from './backfill.ts';

/**
 * Counts the next slice of a table in the client's transaction, and adds it to the days. Returns where the next one begins; null:
 * there is none.
 */
type CountSlice = (client: PoolClient, from: Backfill) => Promise<string | null>;

const HOUR_MS = 3_600_000;
const DAY = 'floor(extract(epoch FROM at) / 86400)::int';
/** Rows that count; parameters 1 and 2: first day and end. */
const COUNTS = `at >= to_timestamp($1::float8 * 86400) AND at < $2`;

/** Blocks of 8 KiB that a slice reads: 64 MiB, some 600,000 rows. */
const BLOCKS = 8_192;
const USERS = 20_000;

/** IDs begin with their time: an hour is a range of the primary key. What was applied later than sent has a later `at`. */
const COUNT_EVENTS = `
  WITH slice AS MATERIALIZED (
    SELECT tenant_no, user_id, ${DAY} AS day, count(*) AS events FROM events
     WHERE id >= $3::uuid AND id < $4::uuid AND ${COUNTS} GROUP BY 1, 2, 3
  ), active AS (
    INSERT INTO activity_backfill_users (tenant_no, user_id, day) SELECT tenant_no, user_id, day FROM slice
    ON CONFLICT DO NOTHING RETURNING tenant_no, day
  ), counted AS (
    SELECT tenant_no, day, events, 0 AS users FROM slice UNION ALL SELECT tenant_no, day, 0, 1 FROM active
  )
  INSERT INTO tenant_days (tenant_no, day, events, active_users)
  SELECT tenant_no, day, sum(events), sum(users) FROM counted GROUP BY 1, 2 ORDER BY 1, 2 ${ADD_UP}`;

/** The first ID of an hour since 1970. */
const idOf = (hour: number): string => (hour * HOUR_MS).toString(16).padStart(12, '0').padEnd(32, '0');

/** Hour by hour, the newest first, and a day further than days are counted, for events that were applied a day later. */
async function countEvents(client: PoolClient, { firstDay, before, position }: Backfill): Promise<string | null> {
  const hour = position === '' ? Math.floor(before.getTime() / HOUR_MS) : Number(position);
  await client.query(COUNT_EVENTS, [firstDay, before, idOf(hour), idOf(hour + 1)]);
  const day = Math.floor(hour / 24);
  // Nothing that comes is of a day after the next.
  if (hour % 24 === 0) await client.query('DELETE FROM activity_backfill_users WHERE day > $1', [day]);
  if (hour > (firstDay - 1) * 24) return String(hour - 1);
  await client.query('DELETE FROM activity_backfill_users');
  return null;
}

/** The partition (or table without any) at a position, by its OID: its name, and the next one's OID. */
const PARTITION = `
  WITH parts AS (
    SELECT relid::oid::bigint AS oid, relid::regclass::text AS name FROM pg_partition_tree($1::regclass) WHERE isleaf
    UNION SELECT oid::bigint, oid::regclass::text FROM pg_class WHERE oid = $1::regclass AND relkind = 'r'
  )
  SELECT name, oid, lead(oid) OVER (ORDER BY oid) AS next FROM parts WHERE oid >= $2 ORDER BY oid LIMIT 1`;

/**
 * Tables to which rows are only added, block by block: they have no index by time. The position: `<partition>:<block>`, or, from
 * before there were partitions, `<block>` of the oldest.
 */
const countBlocks =
  (table: string, { column, count, where }: { column: string; count: string; where: string }): CountSlice =>
  async (client, { firstDay, before, position }) => {
    const [block = 0, partition = 0] = position.split(':').toReversed().map(Number);
    const found = await client.query<{ name: string; oid: number; next: number | null }>(PARTITION, [table, partition]);
    const part = found.rows[0];
    if (part === undefined) return null;
    // The one that it was at may be gone.
    const from = partition === 0 || part.oid === partition ? block : 0;
    await client.query(
      `INSERT INTO tenant_days (tenant_no, day, ${column})
       SELECT tenant_no, ${DAY}, ${count} FROM ${part.name}
        WHERE ctid >= format('(%s,0)', $3::bigint)::tid AND ctid < format('(%s,0)', $4::bigint)::tid AND ${COUNTS} AND ${where}
        GROUP BY 1, 2 ORDER BY 1, 2 ${ADD_UP}`,
      [firstDay, before, from, from + BLOCKS],
    );
    const { rows } = await client.query<{ isLast: boolean }>(
      `SELECT pg_relation_size($1::regclass) <= $2::float8 * current_setting('block_size')::int AS "isLast"`,
      [part.name, from + BLOCKS],
    );
    if (!rows[0]!.isLast) return `${part.oid}:${from + BLOCKS}`;
    return part.next === null ? null : `${part.next}:0`;
  };

const COUNT_USERS = `
  WITH page AS MATERIALIZED (
    SELECT tenant_no, id, created AS at FROM users WHERE (tenant_no, id COLLATE "C") > ($3::int, $4::text COLLATE "C")
     ORDER BY tenant_no, id COLLATE "C" LIMIT ${USERS}
  ), counted AS (
    INSERT INTO tenant_days (tenant_no, day, new_users)
    SELECT tenant_no, ${DAY}, count(*) FROM page WHERE ${COUNTS} GROUP BY 1, 2 ORDER BY 1, 2 ${ADD_UP}
  )
  SELECT tenant_no AS "tenantNo", id FROM page ORDER BY tenant_no DESC, id COLLATE "C" DESC LIMIT 1`;

/** In the order of their IDs: the rows of users move within their table. */
async function countUsers(client: PoolClient, { firstDay, before, position }: Backfill): Promise<string | null> {
  const [tenantNo, id] = position === '' ? [-1, ''] : (JSON.parse(position) as [number, string]);
  const { rows } = await client.query<{ tenantNo: number; id: string }>(COUNT_USERS, [firstDay, before, tenantNo, id]);
  const last = rows[0];
  return last === undefined ? null : JSON.stringify([last.tenantNo, last.id]);
}

export const COUNT_SLICE: Readonly<Record<BackfillSource, CountSlice>> = {
  events: countEvents,
  awards: countBlocks('awards', { column: 'points_awarded', count: 'sum(awarded)', where: 'awarded > 0' }),
  completions: countBlocks('completions', { column: 'completions', count: 'count(*)', where: 'true' }),
  users: countUsers,
};
