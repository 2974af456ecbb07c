import type { Pool, PoolClient } from 'pg';
import { COUNTED, SEGMENT, type Counted } from '../domain/analytics.ts';
import { type Decimal, decimalOfMicros, toMicros } from '../domain/decimal.ts';
import type { Days } from '../domain/periods.ts';
import { mappedInSlices } from '../pacing/slices.ts';
import { columns } from './columns.ts';
import type { UserValue } from './analytics-segments.ts';
import { OF_SAMPLED_USER } from './history/days.ts';
import { eventsAndSums, mayBeEarlier, readSinceDay } from './partitions.ts';
import { storableText } from './storable-json.ts';

/** A row of `analytics_days`, or an amount to add to one. */
export interface AnalyticsRow {
  tenantNo: number;
  kind: Counted;
  segment: number;
  day: number;
  subject: number;
  part: number;
  events: number;
  value: bigint;
}

const ADDED = columns<Omit<AnalyticsRow, 'value'> & { value: Decimal }>({
  tenantNo: 'int',
  kind: 'int',
  segment: 'int',
  day: 'int',
  subject: 'int',
  part: 'int',
  events: 'bigint',
  value: 'numeric',
});

// All writers update rows in the order of their keys, which prevents deadlocks.
const ADD = `
${ADDED.insertInto('analytics_days AS known')}
   ORDER BY tenant_no, kind, segment, day, subject, part
  ON CONFLICT (tenant_no, kind, segment, day, subject, part) DO UPDATE
    SET events = known.events + EXCLUDED.events, value = known.value + EXCLUDED.value`;

/** Adds to sums in the client's transaction. No two rows may have the same key. Not idempotent. */
export async function addAnalytics(client: PoolClient, rows: readonly AnalyticsRow[]): Promise<void> {
  if (rows.length === 0) return;
  const added = rows.map((row) => ({ ...row, value: decimalOfMicros(row.value) }));
  await client.query({ name: 'persist_analytics', text: ADD, values: ADDED.arrays(added) });
}

export type AnalyticsSum = Pick<AnalyticsRow, 'kind' | 'day' | 'subject' | 'part' | 'events' | 'value'>;

export interface AskedSums extends Days {
  tenantNo: number;
  kinds: readonly Counted[];
  segment: number;
  subject?: number;
  /** Only sums of this part, or of it and the following ones. */
  part?: number;
  fromPart?: number;
}

interface SumRow {
  kind: Counted;
  day: number;
  subject: number;
  part: number;
  events: string;
  value: string;
}

const FROM_SUMS = `FROM analytics_days
   WHERE tenant_no = $1 AND kind = ANY ($2::int[]) AND segment = $3 AND day BETWEEN $4 AND $5
     AND ($6::int IS NULL OR subject = $6) AND ($7::int IS NULL OR part = $7) AND ($8::int IS NULL OR part >= $8)`;

const READ = `SELECT kind, day, subject, part, events, value ${FROM_SUMS}`;

const READ_BY_DAY = `
  SELECT kind, day, 0 AS subject, 0 AS part, sum(events) AS events, sum(value) AS value ${FROM_SUMS} GROUP BY kind, day`;

const READ_TOGETHER = `
  SELECT kind, $5::int AS day, subject, part, sum(events) AS events, sum(value) AS value ${FROM_SUMS}
   GROUP BY kind, subject, part`;

export const readSums = (pool: Pool, query: AskedSums): Promise<AnalyticsSum[]> => read(pool, READ, query);

/** Sums by day, over all subjects and parts. */
export const readSumsByDay = (pool: Pool, query: AskedSums): Promise<AnalyticsSum[]> => read(pool, READ_BY_DAY, query);

/** Sums over all days; `day` is the last one. */
export const readSumsTogether = (pool: Pool, query: AskedSums): Promise<AnalyticsSum[]> =>
  read(pool, READ_TOGETHER, query);

async function read(
  pool: Pool,
  statement: string,
  { tenantNo, kinds, segment, fromDay, toDay, subject, part, fromPart }: AskedSums,
): Promise<AnalyticsSum[]> {
  const values = [tenantNo, kinds, segment, fromDay, toDay, subject ?? null, part ?? null, fromPart ?? null];
  const { rows } = await pool.query<SumRow>(statement, values);
  // A year of hundreds of leaderboards or achievements has more than 100,000.
  return mappedInSlices(rows, (row) => ({ ...row, events: Number(row.events), value: toMicros(row.value) }));
}

/** The first day (UTC, epoch day) on which somebody was active in a segment; `null` if nobody was. */
export async function firstDayOf(
  pool: Pool,
  { tenantNo, segment }: { tenantNo: number; segment: number },
): Promise<number | null> {
  const { rows } = await pool.query<{ day: number | null }>(
    'SELECT min(day) AS day FROM analytics_days WHERE tenant_no = $1 AND kind = $2 AND segment = $3',
    [tenantNo, COUNTED.activeOnDay, segment],
  );
  return rows[0]!.day;
}

/** Number of a tenant's users who have a value of an attribute now. Reads all of them. */
export async function usersWithValue(pool: Pool, { tenantNo, attributeNo, value }: UserValue): Promise<number> {
  const { rows } = await pool.query<{ users: number }>(
    'SELECT count(*)::float8 AS users FROM users WHERE tenant_no = $1 AND attributes @> $2::jsonb',
    [tenantNo, JSON.stringify({ [attributeNo]: storableText(value) })],
  );
  return rows[0]!.users;
}

/** The IDs of a tenant's users after one, in order. */
export async function idsOfUsers(pool: Pool, tenantNo: number, after: string | null, limit: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM users WHERE tenant_no = $1 AND ($2::text IS NULL OR id > $2) ORDER BY id LIMIT $3',
    [tenantNo, after, limit],
  );
  return rows.map(({ id }) => id);
}

/** The number of no segment. */
export const NO_SEGMENT = SEGMENT.others - 1;

/** Packed states of a tenant's first users by a hash of their IDs: a fair sample, or all users if there are fewer. */
export async function sampleStates(
  pool: Pool,
  { tenantNo, users }: { tenantNo: number; users: number },
): Promise<Buffer[]> {
  const { rows } = await pool.query<{ state: Buffer }>(
    'SELECT state FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT $2',
    [tenantNo, users],
  );
  return rows.map(({ state }) => state);
}

/** A sampled user's sum of a metric's values in a range; `null` if the user sent no event in it. */
export interface SampledValue {
  id: string;
  value: number | null;
}

const SAMPLED_VALUES = `
  WITH sample AS MATERIALIZED (
    SELECT id FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT $2
  )
  SELECT id, value, ${mayBeEarlier('$3::int')} AS "mayBeEarlier"
    FROM sample CROSS JOIN LATERAL (
      SELECT CASE WHEN count(*) > 0 THEN coalesce(sum(value) FILTER (WHERE metric_no = $6), 0) END::float8 AS value
        FROM ${eventsAndSums(OF_SAMPLED_USER)} AS kept
    ) AS of_user`;

/** The sample of `sampleStates`, with each user's sum of a metric's values on some local days. */
export async function sampledValues(
  pool: Pool,
  { tenantNo, users, metricNo, fromDay, toDay }: Days & { tenantNo: number; users: number; metricNo: number },
): Promise<SampledValue[]> {
  return readSinceDay(fromDay, {
    rows: async (firstId) => {
      const values = [tenantNo, users, fromDay, toDay, firstId, metricNo];
      return (await pool.query<SampledValue & { mayBeEarlier: boolean }>(SAMPLED_VALUES, values)).rows;
    },
    missed: (found) => found[0]?.mayBeEarlier === true,
  });
}

/** A value of an event attribute, with the number and the sum of the events that have it. */
export interface TopValue {
  key: string;
  value: string;
  events: number;
  sum: number;
}

const TOP_VALUES = `
  WITH newest AS MATERIALIZED (
    SELECT tenant_no, metric_no, value, attributes FROM events WHERE id >= $3::uuid AND id < $4::uuid ORDER BY id DESC LIMIT $5
  ), own AS (SELECT value, attributes FROM newest WHERE tenant_no = $1 AND metric_no = $2)
  SELECT null AS key, null AS text, count(*)::int AS events, 0 AS sum FROM own
  UNION ALL (
    SELECT key, text, count(*)::int, sum(value)::float8
      FROM own CROSS JOIN LATERAL jsonb_each_text(attributes) AS attribute (key, text)
     GROUP BY key, text ORDER BY count(*) DESC, key, text LIMIT $6)`;

/**
 * The most frequent attribute values of a metric's events among the `newest` events of a range of IDs, of all tenants and metrics;
 * and the number of these events of the metric.
 */
export async function topValues(
  pool: Pool,
  range: { tenantNo: number; metricNo: number; fromId: string; toId: string; newest: number; limit: number },
): Promise<{ events: number; values: TopValue[] }> {
  const { tenantNo, metricNo, fromId, toId, newest, limit } = range;
  const { rows } = await pool.query<{ key: string | null; text: string; events: number; sum: number }>(TOP_VALUES, [
    tenantNo,
    metricNo,
    fromId,
    toId,
    newest,
    limit,
  ]);
  return {
    events: rows.find(({ key }) => key === null)?.events ?? 0,
    values: rows.flatMap(({ key, text: value, events, sum }) => (key === null ? [] : [{ key, value, events, sum }])),
  };
}
