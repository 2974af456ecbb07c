import type { Pool } from 'pg';
import type { Days } from '../../domain/periods.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { awardsAndSums, eventsAndSums, mayBeEarlier, readSinceDay } from '../partitions.ts';

export interface DayRows {
  /** The user's packed state; `null` if the user is not stored yet. */
  state: Buffer | null;
  /** Sum of the changes after the last requested day, as decimal text. */
  later: string;
  days: number[];
  /** Decimal text, one per entry of `days`. */
  changes: string[];
}

/** Selects rows of one user and metric or points system since a day. Parameters as for `dayRowsQuery`. */
const ofNumber = (column: 'metric_no' | 'system_no'): { user: string; where: string; firstId: string } => ({
  user: '$2',
  where: `${column} = $3 AND local_date >= DATE '1970-01-01' + $4::int`,
  firstId: '$6',
});

/**
 * Query of `readDayRows`. Parameters: tenant number, user ID, number of a metric or points system, first and last epoch day,
 * first ID (`readSinceDay`). `kept`: rows or sums (`eventsAndSums`). `change`: their column.
 */
const dayRowsQuery = (kept: string, change: string): string => `
  WITH days AS MATERIALIZED (
    SELECT local_date - DATE '1970-01-01' AS day, sum(${change}) AS change
    FROM ${kept} AS kept
    GROUP BY local_date
  )
  SELECT
    (SELECT state FROM users WHERE tenant_no = $1 AND id = $2) AS state,
    coalesce((SELECT sum(change) FROM days WHERE day > $5::int), 0)::text AS later,
    ARRAY(SELECT day FROM days WHERE day <= $5::int ORDER BY day) AS days,
    ARRAY(SELECT change::text FROM days WHERE day <= $5::int ORDER BY day) AS changes,
    ${mayBeEarlier('$4::int')} AS "mayBeEarlier"`;

interface AskedDays {
  tenantNo: number;
  userId: string;
  fromDay: number;
  toDay: number;
}

/** Changes by local day, the sum of later ones, and the state, read at one moment. */
async function readDayRows(
  pool: Pool,
  query: string,
  { tenantNo, userId, no, fromDay, toDay }: AskedDays & { no: number },
): Promise<DayRows> {
  const { mayBeEarlier: _, ...found } = await readSinceDay(fromDay, {
    rows: async (firstId) => {
      const values = [tenantNo, userId, no, fromDay, toDay, firstId];
      return (await pool.query<DayRows & { mayBeEarlier: boolean }>(query, values)).rows[0]!;
    },
    missed: (row) => row.mayBeEarlier,
  });
  return found;
}

export const METRIC_DAYS = dayRowsQuery(eventsAndSums(ofNumber('metric_no')), 'value');

/** Sums of a user's events of a metric on each of some local days; see `readDayRows`. */
export const metricDays = (pool: Pool, { metricNo, ...days }: AskedDays & { metricNo: number }): Promise<DayRows> =>
  readDayRows(pool, METRIC_DAYS, { ...days, no: metricNo });

export const POINTS_DAYS = dayRowsQuery(awardsAndSums(ofNumber('system_no')), 'awarded');

/** Points that a user was awarded in a points system on each of some local days; see `readDayRows`. */
export const pointsDays = (pool: Pool, { systemNo, ...days }: AskedDays & { systemNo: number }): Promise<DayRows> =>
  readDayRows(pool, POINTS_DAYS, { ...days, no: systemNo });

/** Parameters: tenant number, user ID, last epoch day. */
export const USER_METRIC_DAYS = `
  SELECT
    metric_no AS "metricNo",
    local_date - DATE '1970-01-01' AS day,
    sum(events)::bigint AS events,
    sum(positive)::bigint AS positive,
    sum(value)::text AS change
  FROM ${eventsAndSums({ user: '$2', where: "local_date <= DATE '1970-01-01' + $3::int" })} AS kept
  GROUP BY metric_no, local_date
  ORDER BY metric_no, local_date`;

export interface MetricDay {
  metricNo: number;
  day: number;
  events: number;
  /** Number of events with a value above 0. */
  positive: number;
  /** Sum of the values, as decimal text. */
  change: string;
}

/**
 * A user's events up to a local day, by metric and day, in this order. Reads every partition, with a prepared statement, because
 * planning would take most of the time.
 */
export async function userMetricDays(
  pool: Pool,
  { tenantNo, userId, toDay }: { tenantNo: number; userId: string; toDay: number },
): Promise<MetricDay[]> {
  const statement = { name: 'user_metric_days', text: USER_METRIC_DAYS, values: [tenantNo, userId, toDay] };
  return (await pool.query<MetricDay>(statement)).rows;
}

/** Parameters: tenant number, user ID, last epoch day. */
export const USER_POINTS_DAYS = `
  SELECT system_no AS "systemNo", local_date - DATE '1970-01-01' AS day, sum(awarded)::text AS change
  FROM ${awardsAndSums({ user: '$2', where: "local_date <= DATE '1970-01-01' + $3::int" })} AS kept
  GROUP BY system_no, local_date
  ORDER BY system_no, local_date`;

export interface PointsDay {
  systemNo: number;
  day: number;
  /** Sum of the awards, as decimal text. */
  change: string;
}

/** A user's awards up to a local day, by points system and day, in this order. Prepared like `userMetricDays`. */
export async function userPointsDays(
  pool: Pool,
  { tenantNo, userId, toDay }: { tenantNo: number; userId: string; toDay: number },
): Promise<PointsDay[]> {
  const statement = { name: 'user_points_days', text: USER_POINTS_DAYS, values: [tenantNo, userId, toDay] };
  return (await pool.query<PointsDay>(statement)).rows;
}

/** Most values per attribute, metric and window: those with the largest sums. */
export const MOST_VALUES = 100;
/** Most values per window; for each attribute, the largest first. */
export const MOST_IN_ALL = 1_000;

/**
 * Most events, or sums of days with equal attributes, that are read per user. Beyond that some attributes are missing: a
 * client that sends different values with every event gets an incomplete answer instead of occupying Postgres for a second.
 */
const MOST_ROWS = 10_000;
/** The same for bytes of attributes: with 10 KB in each row, sorting their values would take seconds and 400 MB of temporary files. */
const MOST_BYTES = 4_000_000;
/** About the most bytes of an event's attributes. */
const LARGEST_ATTRIBUTES = 10_000;

/** SQL: the size of a row's attributes, without reading those that are stored apart. Compressed ones count as the largest. */
const ATTRIBUTE_BYTES = `greatest(pg_column_size(attributes),
      CASE WHEN pg_column_compression(attributes) IS NULL THEN 0 ELSE ${LARGEST_ATTRIBUTES} END)`;

/** SQL: the rows whose values are summed. */
const SUMMED_ROWS = `(
    SELECT * FROM (
      SELECT *, sum(${ATTRIBUTE_BYTES}) OVER (ROWS UNBOUNDED PRECEDING) AS bytes
      FROM (SELECT * FROM ${eventsAndSums({ user: '$2', where: 'true', byAttributes: true })} AS all_kept LIMIT ${MOST_ROWS}) AS first_rows
    ) AS sized
    WHERE bytes <= ${MOST_BYTES})`;

/** SQL: the sum of a window, by its index, among the parameters of `attributeSumsQuery`; null without events. */
const windowSum = (window: number): string =>
  `sum(kept.value) FILTER (WHERE kept.local_date - DATE '1970-01-01' BETWEEN ($3::int[])[${window + 1}] AND ($4::int[])[${window + 1}])`;

/** SQL: the places of the values in one window, for each metric and attribute. */
const placesIn = (window: number): string => `
    SELECT metric_no, key, value, ${window} AS window_no,
      row_number() OVER (PARTITION BY metric_no, key ORDER BY in_${window} DESC, value) AS place
    FROM sums WHERE in_${window} IS NOT NULL`;

/**
 * Query of `userAttributeSums`, for a number of windows of which some are shown. One row per value, and comparisons of texts by
 * bytes: with a row per value and window, in the order of a language, it took twice as long. The sums are in the order of
 * the last shown window: Postgres sorts rows that are in order already in linear time, as those of many values in few days.
 * Parameters: tenant number, user ID, first and last epoch days of the windows, keys of the attributes, `MOST_VALUES`, `MOST_IN_ALL`.
 */
export function attributeSumsQuery(windows: number, shown: readonly number[]): string {
  const each = Array.from({ length: windows }, (_, window) => window);
  return `
  WITH sums AS MATERIALIZED (
    SELECT metric_no, attribute.key COLLATE "C" AS key, attribute.value COLLATE "C" AS value,
      ${each.map((window) => `${windowSum(window)} AS in_${window}`).join(', ')}
    FROM ${SUMMED_ROWS} AS kept
      CROSS JOIN LATERAL jsonb_each_text(attributes) AS attribute
    WHERE attribute.key = ANY($5::text[])
    GROUP BY 1, 2, 3
    ORDER BY metric_no, key, in_${shown.at(-1)!} DESC, value
  ), placed AS (${shown.map(placesIn).join(' UNION ALL')}
  ), shown AS (
    SELECT metric_no, key, value, sum(1 << window_no)::int AS windows FROM (
      SELECT *, row_number() OVER (PARTITION BY window_no ORDER BY place, metric_no, key) AS in_all
      FROM placed WHERE place <= $6
    ) AS counted
    WHERE in_all <= $7
    GROUP BY 1, 2, 3
  )
  SELECT metric_no AS "metricNo", key, value, windows AS shown,
    array_to_string(ARRAY[${each.map((window) => `in_${window}`).join(', ')}], ' ', '') AS changes
  FROM shown JOIN sums USING (metric_no, key, value)`;
}

/** Sums of a metric's events with one value of an event attribute. */
export interface AttributeSum {
  metricNo: number;
  key: string;
  value: string;
  /** The windows that show it: 2 to the power of each index, added. */
  shown: number;
  /** By window: decimal text, or an empty text without events. */
  changes: string[];
}

/**
 * A user's sums by metric, event attribute and value: values that at least one of the windows to show contains. Those contain only the
 * largest sums (see `MOST_VALUES`), because clients may send any number of values.
 */
export async function userAttributeSums(
  pool: Pool,
  of: { tenantNo: number; userId: string; windows: readonly Days[]; shown: readonly number[]; keys: readonly string[] },
): Promise<AttributeSum[]> {
  const { tenantNo, userId, windows, shown, keys } = of;
  const parameters = [
    tenantNo,
    userId,
    windows.map(({ fromDay }) => fromDay),
    windows.map(({ toDay }) => toDay),
    keys,
    MOST_VALUES,
    MOST_IN_ALL,
  ];
  const query = attributeSumsQuery(windows.length, shown);
  const { rows } = await pool.query<Omit<AttributeSum, 'changes'> & { changes: string }>(query, parameters);
  return mappedInSlices(rows, ({ changes, ...row }) => ({ ...row, changes: changes.split(' ') }));
}

export interface StoredAward {
  id: string;
  triggerNo: number;
  awarded: number;
  /** The system's total after this award. */
  total: number;
  boostNos: number[];
  at: Date;
}

/** A user's last `limit` awards in a points system, newest first. One index range per partition; prepared like `userMetricDays`. */
export async function latestAwards(
  pool: Pool,
  { tenantNo, userId, systemNo, limit }: { tenantNo: number; userId: string; systemNo: number; limit: number },
): Promise<StoredAward[]> {
  const text = `
     SELECT id, trigger_no AS "triggerNo", awarded, total, coalesce(boost_nos, '{}') AS "boostNos", at
       FROM awards
      WHERE tenant_no = $1 AND user_id = $2 AND system_no = $3
      ORDER BY id DESC
      LIMIT $4`;
  const values = [tenantNo, userId, systemNo, limit];
  const { rows } = await pool.query<StoredAward>({ name: 'latest_awards', text, values });
  return rows;
}

/** Totals of users who have all the attributes, ascending, with the number of users. No points count as 0. */
export async function filteredPointsTotals(
  pool: Pool,
  tenantNo: number,
  systemNo: number,
  attributes: Record<number, string>,
): Promise<{ total: number; users: number }[]> {
  const { rows } = await pool.query<{ total: string; users: string }>(
    `SELECT coalesce(points->>$2::text, '0')::bigint AS total, count(*) AS users
       FROM users
      WHERE tenant_no = $1 AND attributes @> $3::jsonb
      GROUP BY 1
      ORDER BY 1`,
    [tenantNo, String(systemNo), JSON.stringify(attributes)],
  );
  return rows.map(({ total, users }) => ({ total: Number(total), users: Number(users) }));
}

/** Changes of a random sample of a tenant's users; of all users if there are no more than requested. */
export interface SampledChanges {
  users: number;
  /** By number of the metric or points system: changes of the users who have any in these days, unordered. */
  changes: Map<number, number[]>;
}

/** A row of the statements: the size of the sample if it has no number, otherwise the changes. */
interface SampledRow {
  no: number | null;
  changes: number[];
  mayBeEarlier: boolean;
}

/** Selects rows of a sampled user on some local days. Parameters as for `sampledChangesQuery`. */
export const OF_SAMPLED_USER = {
  user: 'sample.id',
  where: "local_date BETWEEN DATE '1970-01-01' + $3::int AND DATE '1970-01-01' + $4::int",
  firstId: '$5',
};

/**
 * Query of `readSampledChanges`. Parameters: tenant number, number of users, first and last epoch day, first ID
 * (`readSinceDay`). `kept`: rows or sums (`eventsAndSums`). `no`, `change`: their columns.
 */
const sampledChangesQuery = (kept: string, { no, change }: { no: string; change: string }): string => `
  WITH sample AS MATERIALIZED (
    SELECT id FROM users WHERE tenant_no = $1 ORDER BY hashtextextended(id, 0), id LIMIT $2
  ), changes AS (
    SELECT no, change FROM sample CROSS JOIN LATERAL (
      SELECT ${no} AS no, sum(${change})::float8 AS change
      FROM ${kept} AS kept
      GROUP BY ${no}
    ) AS of_user
  )
  SELECT null AS no, ARRAY[count(*)::float8] AS changes, ${mayBeEarlier('$3::int')} AS "mayBeEarlier" FROM sample
  UNION ALL
  SELECT no, array_agg(change), false FROM changes GROUP BY no`;

interface AskedSample {
  tenantNo: number;
  users: number;
  fromDay: number;
  toDay: number;
}

/** Changes of each sampled user's totals over some local days. */
async function readSampledChanges(
  pool: Pool,
  query: string,
  { tenantNo, users, fromDay, toDay }: AskedSample,
): Promise<SampledChanges> {
  const rows = await readSinceDay(fromDay, {
    rows: async (firstId) => (await pool.query<SampledRow>(query, [tenantNo, users, fromDay, toDay, firstId])).rows,
    missed: (found) => found.some((row) => row.mayBeEarlier),
  });
  const sampled: SampledChanges = { users: 0, changes: new Map() };
  for (const { no, changes } of rows) {
    if (no === null) sampled.users = changes[0] ?? 0;
    else sampled.changes.set(no, changes);
  }
  return sampled;
}

export const SAMPLED_METRIC_CHANGES = sampledChangesQuery(eventsAndSums(OF_SAMPLED_USER), {
  no: 'metric_no',
  change: 'value',
});

/** Sums of each sampled user's events per metric, over some local days. */
export const sampledMetricChanges = (pool: Pool, sample: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_METRIC_CHANGES, sample);

export const SAMPLED_POINTS_CHANGES = sampledChangesQuery(awardsAndSums(OF_SAMPLED_USER), {
  no: 'system_no',
  change: 'awarded',
});

/** Sums of each sampled user's awards per points system, over some local days. */
export const sampledPointsChanges = (pool: Pool, sample: AskedSample): Promise<SampledChanges> =>
  readSampledChanges(pool, SAMPLED_POINTS_CHANGES, sample);
