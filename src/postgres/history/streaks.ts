import type { Pool, PoolClient } from 'pg';
import { dateOf, FREQUENCIES, type Frequency } from '../../domain/periods.ts';
import type { Settlement, SettlementKind } from '../../domain/streaks/settle.ts';
import { eventsAndSums, isEarlier, readSinceDay } from '../partitions.ts';
import { SETTLEMENT_KINDS } from '../persist/streaks.ts';

/** A row of `streak_changes`, with its origin and what superseded it. */
export interface StreakChangeFact {
  no: string;
  /** 0 if it concerns no frequency. */
  frequency: number;
  kind: number;
  from: number;
  to: number;
  length: number | null;
  atMs: number;
  superseded: boolean;
  corrected: boolean;
}

const CHANGES = `
  SELECT no, frequency, kind, from_day AS "from", to_day AS "to", length,
         (extract(epoch FROM at) * 1000)::float8 AS "atMs",
         superseded_by IS NOT NULL AS superseded, correction IS NOT NULL AS corrected
    FROM streak_changes
   WHERE tenant_no = $1 AND user_id = $2 AND frequency BETWEEN 0 AND 3 AND to_day >= $3 ORDER BY no`;

/** All changes of a user's streaks that extend to a local day (epoch day) or later, including superseded ones; oldest first. */
export async function streakChangeFacts(
  client: PoolClient,
  { tenantNo, userId, fromDay }: { tenantNo: number; userId: string; fromDay: number },
): Promise<StreakChangeFact[]> {
  return (await client.query<StreakChangeFact>(CHANGES, [tenantNo, userId, fromDay])).rows;
}

const PAUSES = `
  SELECT from_day AS "from", to_day AS "to" FROM streak_pauses
   WHERE tenant_no = $1 AND user_id = $2 AND to_day >= greatest(from_day, $3) ORDER BY from_day`;

/** Days of a user's past and future pauses, sorted by first day; for deleted pauses, the days already over. */
export async function pausedDays(
  client: PoolClient,
  { tenantNo, userId, fromDay }: { tenantNo: number; userId: string; fromDay: number },
): Promise<{ from: number; to: number }[]> {
  return (await client.query<{ from: number; to: number }>(PAUSES, [tenantNo, userId, fromDay])).rows;
}

/** An event that may meet a period. */
export interface EventFact {
  /** 32 hex digits. */
  id: string;
  metricNo: number;
  day: number;
  atMs: number;
  /** Decimal text. */
  value: string;
  /** Whether it stands for all of a day's events of the metric: the last event, with the sum of values. */
  isSum: boolean;
}

/** Users with more events than this in the time read are read by day: a replay processes each event several times in one go. */
const MOST_EVENTS = 2_000;

const fact = (value: string, isSum = false): string => `
  replace(id::text, '-', '') AS id, metric_no AS "metricNo", local_date - DATE '1970-01-01' AS day,
  (extract(epoch FROM coalesce(occurred_at, at)) * 1000)::float8 AS "atMs", (${value})::text AS value, ${isSum} AS "isSum"`;
const EVENT = fact('value');

// Parameters: tenant number, user ID, first date, first ID (`readSinceDay`), events to include in any case, metric numbers.
const SINCE = 'local_date >= $3::date';
const REVERSED = 'SELECT root_id FROM reversals WHERE tenant_no = $1 AND user_id = $2 AND in_force';
const OF_USER = `events WHERE tenant_no = $1 AND user_id = $2 AND ${SINCE} AND id >= $4::uuid
                AND reverses IS NULL AND id <> ALL (ARRAY(${REVERSED}))`;
const NAMED = `SELECT ${EVENT} FROM ${OF_USER} AND id = ANY ($5::uuid[])`;
const OTHERS = `${OF_USER} AND id <> ALL ($5::uuid[])`;

const IS_BEYOND = `
  SELECT count(*) > $5 AS "isBeyond"
    FROM (SELECT FROM events WHERE tenant_no = $1 AND user_id = $2 AND ${SINCE} AND id >= $4::uuid LIMIT $5 + 1) AS first_ones`;

/** Depends on whether metrics are configured. Without metrics, any event with a positive value meets a period. */
const EVENTS = {
  ofMetrics: `${NAMED} AND metric_no = ANY ($6) UNION ALL SELECT ${EVENT} FROM ${OTHERS} AND metric_no = ANY ($6)`,
  /** A day's first and last events suffice, because one event is enough to meet a period. */
  ofAny: `
    ${NAMED}
    UNION ALL
    (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OTHERS} AND value > 0
      ORDER BY local_date, coalesce(occurred_at, at), id)
    UNION ALL
    (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OTHERS} AND value > 0
      ORDER BY local_date, coalesce(occurred_at, at) DESC, id DESC)`,
} as const;

/** SQL: one event of a user's day (from `days`) and metric. */
const ofDay = (where: string, order: 'ASC' | 'DESC'): string => `
  (SELECT events.* FROM ${OTHERS} AND metric_no = days.metric_no AND local_date = days.local_date AND ${where}
    ORDER BY id ${order} LIMIT 1)`;

/** The variant with one row per day and metric, found by the sums of days. */
const DAYS = {
  ofMetrics: `
    WITH days AS MATERIALIZED (
      SELECT metric_no, local_date, sum(value) AS sum
        FROM ${eventsAndSums({ user: '$2', where: `metric_no = ANY ($6) AND ${SINCE}`, firstId: '$4' })} AS kept
       GROUP BY metric_no, local_date
    ), named AS MATERIALIZED (${NAMED} AND metric_no = ANY ($6))
    SELECT ${fact(
      `days.sum - coalesce((SELECT sum(named.value::numeric) FROM named
         WHERE named."metricNo" = metric_no AND named.day = local_date - DATE '1970-01-01'), 0)`,
      true,
    )}
      FROM days JOIN LATERAL ${ofDay('true', 'DESC')} AS last USING (metric_no, local_date)
    UNION ALL
    SELECT * FROM named`,
  ofAny: `
    WITH days AS MATERIALIZED (
      SELECT metric_no, local_date
        FROM ${eventsAndSums({ user: '$2', where: SINCE, firstId: '$4' })} AS kept
       GROUP BY metric_no, local_date HAVING sum(positive) > 0
    )
    ${NAMED}
    UNION ALL
    SELECT ${EVENT}
      FROM days JOIN LATERAL (${ofDay('value > 0', 'ASC')} UNION ${ofDay('value > 0', 'DESC')}) AS ends
        USING (metric_no, local_date)`,
} as const;

interface EventsWanted {
  tenantNo: number;
  userId: string;
  fromDay: number;
  /** Metrics that meet periods; `null` if any event with a positive value does. */
  metricNos: readonly number[] | null;
  /** Events (32 hex digits) to include in any case. */
  named: readonly string[];
  mostEvents?: number | undefined;
}

/**
 * A user's events since a local day (epoch day) that may meet periods, in any order and without reversed ones. For users
 * with very many events, the events of a metric and day are merged.
 */
export function eventFacts(client: PoolClient, wanted: EventsWanted): Promise<EventFact[]> {
  const { tenantNo, userId, fromDay, metricNos, named, mostEvents = MOST_EVENTS } = wanted;
  const kind = metricNos === null ? 'ofAny' : 'ofMetrics';
  return readSinceDay(fromDay, {
    rows: async (firstId) => {
      const since = [tenantNo, userId, dateOf(fromDay), firstId];
      const { rows } = await client.query<{ isBeyond: boolean }>(IS_BEYOND, [...since, mostEvents]);
      const text = (rows[0]!.isBeyond ? DAYS : EVENTS)[kind];
      const values = [...since, named, ...(metricNos === null ? [] : [metricNos])];
      return (await client.query<EventFact>(text, values)).rows;
    },
    missed: () => isEarlier(client, fromDay),
  });
}

/** Changes of a user's streaks in a frequency that extend beyond a local day, oldest first. */
export async function streakChangesSince(
  pool: Pool,
  { tenantNo, userId, frequency, fromDay }: { tenantNo: number; userId: string; frequency: Frequency; fromDay: number },
): Promise<Settlement[]> {
  const { rows } = await pool.query<Omit<Required<Settlement>, 'frequency' | 'kind'> & { kind: number }>(
    `SELECT kind, from_day AS "from", to_day AS "to", length, (extract(epoch FROM at) * 1000)::float8 AS "atMs" FROM streak_changes
      WHERE tenant_no = $1 AND user_id = $2 AND frequency = $3 AND to_day >= $4 AND superseded_by IS NULL ORDER BY no`,
    [tenantNo, userId, FREQUENCIES.indexOf(frequency) + 1, fromDay],
  );
  return rows.map(({ kind, ...row }) => ({ ...row, frequency, kind: SETTLEMENT_KINDS[kind - 1]! }));
}

/** Kinds in the order of the index `streak_changes_by_length`, whose condition contains their numbers. */
const ENDED = (['lost', 'replaced', 'reset'] as const satisfies SettlementKind[])
  .map((kind) => SETTLEMENT_KINDS.indexOf(kind) + 1)
  .join(', ');

interface Page {
  tenantNo: number;
  frequency: Frequency;
  limit: number;
}

/** A position in the order of current streaks. */
export interface StreakOrigin {
  id: string;
  origin: number;
}

/** Users with a current streak by its origin (`users.daily_origin`), lowest first, after a given position. */
export async function usersByStreakOrigin(
  pool: Pool,
  { tenantNo, frequency, limit, after }: Page & { after: StreakOrigin | null },
): Promise<StreakOrigin[]> {
  const column = `${frequency}_origin`;
  const { rows } = await pool.query<StreakOrigin>(
    `SELECT id, ${column} AS origin FROM users
      WHERE tenant_no = $1 AND ${column} IS NOT NULL ${after === null ? '' : `AND (${column}, id) > ($3, $4)`}
      ORDER BY ${column}, id LIMIT $2`,
    [tenantNo, limit, ...(after === null ? [] : [after.origin, after.id])],
  );
  return rows;
}

/** Ended streaks, longest first. A user may have several. */
export async function endedStreaks(
  pool: Pool,
  { tenantNo, frequency, limit, offset }: Page & { offset: number },
): Promise<{ userId: string; length: number }[]> {
  const { rows } = await pool.query<{ userId: string; length: number }>(
    `SELECT user_id AS "userId", length FROM streak_changes
      WHERE tenant_no = $1 AND frequency = $2 AND superseded_by IS NULL AND kind IN (${ENDED})
      ORDER BY length DESC, no OFFSET $3 LIMIT $4`,
    [tenantNo, FREQUENCIES.indexOf(frequency) + 1, offset, limit],
  );
  return rows;
}

const LOST_OR_RESET = (['lost', 'reset'] as const).map((kind) => SETTLEMENT_KINDS.indexOf(kind) + 1);

/** Days of the user's longest streak alive since a day that was lost or reset; `null`: none. */
export async function longestLost(
  pool: Pool,
  { tenantNo, userId, frequency, since }: { tenantNo: number; userId: string; frequency: Frequency; since: number },
): Promise<{ length: number; from: number; to: number } | null> {
  const { rows } = await pool.query<{ length: number; from: number; to: number }>(
    `SELECT length, from_day AS "from", to_day AS "to" FROM streak_changes
      WHERE tenant_no = $1 AND user_id = $2 AND frequency = $3 AND to_day >= $4 AND superseded_by IS NULL AND kind = ANY ($5)
      ORDER BY length DESC, to_day DESC LIMIT 1`,
    [tenantNo, userId, FREQUENCIES.indexOf(frequency) + 1, since, LOST_OR_RESET],
  );
  return rows[0] ?? null;
}

/** Those of some pauses that exist in a tenant and are not deleted. Days are epoch days. */
export async function findPauses(
  pool: Pool,
  tenantNo: number,
  ids: readonly string[],
): Promise<{ id: string; userId: string; from: number; to: number }[]> {
  const { rows } = await pool.query<{ id: string; userId: string; from: number; to: number }>(
    `SELECT id, user_id AS "userId", from_day AS "from", to_day AS "to" FROM streak_pauses
      WHERE tenant_no = $1 AND id = ANY ($2::uuid[]) AND deleted IS NULL`,
    [tenantNo, ids],
  );
  return rows;
}

/** Whether a streak change by a call (ID: 32 hex digits) within the last hour is stored. */
export async function isStreakCallStored(pool: Pool, id: string): Promise<boolean> {
  const { rows } = await pool.query<{ stored: boolean }>(
    'SELECT EXISTS (SELECT FROM streak_calls WHERE id = $1) AS stored',
    [id],
  );
  return rows[0]!.stored;
}
