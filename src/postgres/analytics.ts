import type { Pool, PoolClient } from 'pg';
import { COUNTED, MOST_VALUES, SEGMENT, type Counted } from '../domain/analytics.ts';
import { decimalOfMicros, decimalText, toMicros } from '../domain/decimal.ts';
import type { Days } from '../domain/periods.ts';
import { binaryArray, binaryBigIntegers, binaryIntegers, TEXT } from './persist/binary-rows.ts';
import { OF_SAMPLED_USER } from './history/sampled-changes.ts';
import { eventsAndSums } from './partitions/event-retention.ts';
import { mayBeEarlier, readSinceDay } from './partitions/id-windows.ts';
import type { NamedUser } from './persist/events.ts';
import { storableText } from './storable-json.ts';

/** A sum of `analytics_days`, or what is added to one. */
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

// All writers update rows in the order of their keys, which prevents deadlocks.
const ADD = `
  INSERT INTO analytics_days AS known (tenant_no, kind, segment, day, subject, part, events, value)
  SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::numeric[])
             AS added (tenant_no, kind, segment, day, subject, part)
   ORDER BY tenant_no, kind, segment, day, subject, part
  ON CONFLICT (tenant_no, kind, segment, day, subject, part) DO UPDATE
    SET events = known.events + EXCLUDED.events, value = known.value + EXCLUDED.value`;

/** Adds to sums in the client's transaction; each may occur once. Not idempotent. */
export async function addAnalytics(client: PoolClient, rows: readonly AnalyticsRow[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query({
    name: 'persist_analytics',
    text: ADD,
    values: [
      binaryIntegers(rows.map(({ tenantNo }) => tenantNo)),
      binaryIntegers(rows.map(({ kind }) => kind)),
      binaryIntegers(rows.map(({ segment }) => segment)),
      binaryIntegers(rows.map(({ day }) => day)),
      binaryIntegers(rows.map(({ subject }) => subject)),
      binaryIntegers(rows.map(({ part }) => part)),
      binaryBigIntegers(rows.map(({ events }) => events)),
      rows.map(({ value }) => decimalText(decimalOfMicros(value))),
    ],
  });
}

export interface UserValue {
  tenantNo: number;
  attributeNo: number;
  value: string;
}

/** By which segments a transaction counts. */
export interface CountedSegments {
  /** Share of the users in the control group, 0 to 1. */
  controlShare: number;
  /** The segment of each requested value; `null` if its attribute has too many values. */
  segments: (number | null)[];
}

interface FoundValue {
  at: number;
  no: number | null;
  isOverfull: boolean;
}

const FIND = `
  SELECT (at - 1)::int AS at, known.no, EXISTS (
           SELECT FROM analytics_values AS overfull
            WHERE overfull.tenant_no = asked.tenant_no AND overfull.attribute_no = asked.attribute_no
              AND text_digest(overfull.value) IS NULL) AS "isOverfull"
    FROM unnest($1::int[], $2::int[], $3::text[]) WITH ORDINALITY AS asked (tenant_no, attribute_no, value, at)
    LEFT JOIN analytics_values AS known
      ON known.tenant_no = asked.tenant_no AND known.attribute_no = asked.attribute_no
     AND text_digest(known.value) = text_digest(asked.value)`;

const CREATE = `
  INSERT INTO analytics_values (tenant_no, attribute_no, value)
  SELECT DISTINCT tenant_no, attribute_no, value FROM unnest($1::int[], $2::int[], $3::text[]) AS new (tenant_no, attribute_no, value)
   ORDER BY tenant_no, attribute_no, value
  ON CONFLICT DO NOTHING`;

const FORGET_OVERFULL = `
  WITH overfull AS (
    SELECT tenant_no, attribute_no FROM analytics_values
     WHERE (tenant_no, attribute_no) IN (SELECT * FROM unnest($1::int[], $2::int[]))
     GROUP BY tenant_no, attribute_no HAVING count(*) > ${MOST_VALUES}
  )
  DELETE FROM analytics_values AS known USING overfull
   WHERE known.tenant_no = overfull.tenant_no AND known.attribute_no = overfull.attribute_no
  RETURNING known.no, known.tenant_no AS "tenantNo", known.attribute_no AS "attributeNo"`;

const FORGET_SUMS = `
  DELETE FROM analytics_days USING unnest($1::int[], $2::int[]) AS gone (tenant_no, segment)
   WHERE analytics_days.tenant_no = gone.tenant_no AND analytics_days.segment = gone.segment
     AND kind BETWEEN 1 AND ${Math.max(...Object.values(COUNTED))}`;

const MARK_OVERFULL = `
  INSERT INTO analytics_values (tenant_no, attribute_no)
  SELECT DISTINCT * FROM unnest($1::int[], $2::int[]) ON CONFLICT DO NOTHING`;

/**
 * The segments of some values, each given once. Values that are new become segments, until their attribute has more than `MOST_VALUES`: then all
 * of its values and their sums are forgotten for good.
 */
export async function countedSegments(client: PoolClient, values: readonly UserValue[]): Promise<CountedSegments> {
  const { rows } = await client.query<{ share: number }>('SELECT control_share AS share FROM organisation');
  const controlShare = rows[0]?.share ?? 0;
  let found = await findValues(client, values);
  const unknown = found.filter(({ no, isOverfull }) => no === null && !isOverfull).map(({ at }) => values[at]!);
  if (unknown.length > 0) {
    await client.query(CREATE, valueColumns(unknown));
    await forgetOverfull(client, unknown);
    found = await findValues(client, values);
  }
  const segments = values.map((): number | null => null);
  for (const { at, no } of found) segments[at] = no;
  return { controlShare, segments };
}

async function findValues(client: PoolClient, values: readonly UserValue[]): Promise<FoundValue[]> {
  if (values.length === 0) return [];
  const asked = { name: 'find_analytics_values', text: FIND, values: valueColumns(values) };
  return (await client.query<FoundValue>(asked)).rows;
}

async function forgetOverfull(client: PoolClient, values: readonly UserValue[]): Promise<void> {
  const [tenants, attributes] = valueColumns(values);
  const gone = await client.query<{ no: number; tenantNo: number; attributeNo: number }>(FORGET_OVERFULL, [
    tenants,
    attributes,
  ]);
  if (gone.rows.length === 0) return;
  const tenantNos = gone.rows.map(({ tenantNo }) => tenantNo);
  await client.query(FORGET_SUMS, [tenantNos, gone.rows.map(({ no }) => no)]);
  await client.query(MARK_OVERFULL, [tenantNos, gone.rows.map(({ attributeNo }) => attributeNo)]);
}

/** `values` must not be empty. */
const valueColumns = (values: readonly UserValue[]): [Buffer, Buffer, Buffer] => [
  binaryIntegers(values.map(({ tenantNo }) => tenantNo)),
  binaryIntegers(values.map(({ attributeNo }) => attributeNo)),
  binaryArray(
    TEXT,
    values.map(({ value }) => storableText(value)),
  ),
];

/** Users who show that a value is common, without a search for everybody who has it. */
const SAMPLE = 500;

const ONLY_OF_USER = `
  WITH own AS (
    SELECT known.no, jsonb_build_object(attribute.key, attribute.value) AS value
      FROM users CROSS JOIN LATERAL jsonb_each_text(users.attributes) AS attribute (key, value)
      JOIN analytics_values AS known
        ON known.tenant_no = $1 AND known.attribute_no = attribute.key::int
       AND text_digest(known.value) = text_digest(attribute.value)
     WHERE users.tenant_no = $1 AND users.id = $2
  ), rare AS MATERIALIZED (
    SELECT no, value FROM own WHERE NOT EXISTS (
      SELECT FROM (SELECT id, attributes FROM users WHERE tenant_no = $1
                    ORDER BY hashtextextended(id, 0), id LIMIT ${SAMPLE}) AS sample
       WHERE sample.id <> $2 AND sample.attributes @> own.value)
  )
  DELETE FROM analytics_values USING rare
   WHERE analytics_values.no = rare.no
     AND NOT EXISTS (SELECT FROM users AS other WHERE tenant_no = $1 AND id <> $2 AND attributes @> rare.value)
  RETURNING analytics_values.no`;

/** Forgets values that only this user has, with their sums. Call it before the user's row is deleted. */
export async function forgetValuesOf(client: PoolClient, { tenantNo, userId }: NamedUser): Promise<void> {
  const { rows } = await client.query<{ no: number }>(ONLY_OF_USER, [tenantNo, storableText(userId)]);
  if (rows.length === 0) return;
  await client.query(FORGET_SUMS, [rows.map(() => tenantNo), rows.map(({ no }) => no)]);
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

export const readSums = (pool: Pool, asked: AskedSums): Promise<AnalyticsSum[]> => read(pool, READ, asked);

/** Sums by day, of all subjects and parts together. */
export const readSumsByDay = (pool: Pool, asked: AskedSums): Promise<AnalyticsSum[]> => read(pool, READ_BY_DAY, asked);

/** Sums of all days together; their day is the last one. */
export const readSumsTogether = (pool: Pool, asked: AskedSums): Promise<AnalyticsSum[]> =>
  read(pool, READ_TOGETHER, asked);

async function read(
  pool: Pool,
  statement: string,
  { tenantNo, kinds, segment, fromDay, toDay, subject, part, fromPart }: AskedSums,
): Promise<AnalyticsSum[]> {
  const values = [tenantNo, kinds, segment, fromDay, toDay, subject ?? null, part ?? null, fromPart ?? null];
  const { rows } = await pool.query<SumRow>(statement, values);
  return rows.map((row) => ({ ...row, events: Number(row.events), value: toMicros(row.value) }));
}

export async function readValues(
  pool: Pool,
  tenantNo: number,
): Promise<{ no: number; attributeNo: number; value: string | null }[]> {
  const { rows } = await pool.query<{ no: number; attributeNo: number; value: string | null }>(
    `SELECT no, attribute_no AS "attributeNo", value FROM analytics_values
      WHERE tenant_no = $1 ORDER BY attribute_no, value`,
    [tenantNo],
  );
  return rows;
}

/** The segment of a value; `null` if no user has had it since it is counted, or its attribute has too many values. */
export async function segmentOf(pool: Pool, { tenantNo, attributeNo, value }: UserValue): Promise<number | null> {
  const { rows } = await pool.query<{ no: number }>(
    `SELECT no FROM analytics_values
      WHERE tenant_no = $1 AND attribute_no = $2 AND text_digest(value) = text_digest($3)`,
    [tenantNo, attributeNo, storableText(value)],
  );
  return rows[0]?.no ?? null;
}

export const NO_SEGMENT = SEGMENT.others - 1;

/** Packed states of some users of a tenant, the first by a hash of their IDs: a fair sample, or all if the tenant has fewer. */
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

/** A user of a sample: the sum of a metric's values in a range; `null` if the user sent no event in it. */
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

/** The same sample of users, with the sum of a metric's values on some local days. */
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

/** How often the newest events have a value of an attribute. */
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

/** Of the newest events of a range of IDs, those of a metric, and their most frequent attribute values. `newest`: of all tenants and metrics. */
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
