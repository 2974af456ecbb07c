import type { PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';
import { eventsAndSums } from '../partitions/dropped-days.ts';
import { isEarlier, readSinceDay } from '../partitions/since-day.ts';

/** A row of `streak_changes`, with what superseded it and where it comes from. */
export interface StreakChangeFact {
  no: string;
  /** 0: of no frequency. */
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

/** All changes of a user's streaks that reached a local day (epoch day) or later, superseded ones too; oldest first. */
export async function streakChangeFacts(
  client: PoolClient,
  { tenantNo, userId, fromDay }: { tenantNo: number; userId: string; fromDay: number },
): Promise<StreakChangeFact[]> {
  return (await client.query<StreakChangeFact>(CHANGES, [tenantNo, userId, fromDay])).rows;
}

const PAUSES = `
  SELECT from_day AS "from", to_day AS "to" FROM streak_pauses
   WHERE tenant_no = $1 AND user_id = $2 AND to_day >= greatest(from_day, $3) ORDER BY from_day`;

/** The days that a user's streaks were or will be paused on, by first day: of deleted pauses those that were over. */
export async function pausedDays(
  client: PoolClient,
  { tenantNo, userId, fromDay }: { tenantNo: number; userId: string; fromDay: number },
): Promise<{ from: number; to: number }[]> {
  return (await client.query<{ from: number; to: number }>(PAUSES, [tenantNo, userId, fromDay])).rows;
}

/** An event by which periods are met. */
export interface EventFact {
  /** 32 hex digits. */
  id: string;
  metricNo: number;
  day: number;
  atMs: number;
  /** Decimal text. */
  value: string;
  /** It stands for all of the day's events of the metric: the last one, with the sum of their values. */
  isSum: boolean;
}

/**
 * A user with more events in the time is read by days: a replay takes each event into account several times, and the process serves
 * nobody meanwhile (200,000 events: 3.5 s, and 1.4 s of Postgres).
 */
const MOST_EVENTS = 2_000;

const fact = (value: string, isSum = false): string => `
  replace(id::text, '-', '') AS id, metric_no AS "metricNo", local_date - DATE '1970-01-01' AS day,
  (extract(epoch FROM coalesce(occurred_at, at)) * 1000)::float8 AS "atMs", (${value})::text AS value, ${isSum} AS "isSum"`;
const EVENT = fact('value');

// Parameters: tenant number, user ID, first date, first ID (`readSinceDay`), events that are wanted whatever they are, metric numbers.
const SINCE = 'local_date >= $3::date';
const REVERSED = 'SELECT root_id FROM reversals WHERE tenant_no = $1 AND user_id = $2 AND in_force';
const OF_USER = `events WHERE tenant_no = $1 AND user_id = $2 AND ${SINCE} AND id >= $4::uuid
                AND reverses IS NULL AND id <> ALL (ARRAY(${REVERSED}))`;
const NAMED = `SELECT ${EVENT} FROM ${OF_USER} AND id = ANY ($5::uuid[])`;
const OTHERS = `${OF_USER} AND id <> ALL ($5::uuid[])`;

const IS_BEYOND = `
  SELECT count(*) > $5 AS "isBeyond"
    FROM (SELECT FROM events WHERE tenant_no = $1 AND user_id = $2 AND ${SINCE} AND id >= $4::uuid LIMIT $5 + 1) AS first_ones`;

/** By whether there are metrics that periods are met by; without, any event of positive value meets them. */
const EVENTS = {
  ofMetrics: `${NAMED} AND metric_no = ANY ($6) UNION ALL SELECT ${EVENT} FROM ${OTHERS} AND metric_no = ANY ($6)`,
  /** Of a day's events the first and the last say all: a period that they meet is met. */
  ofAny: `
    ${NAMED}
    UNION ALL
    (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OTHERS} AND value > 0
      ORDER BY local_date, coalesce(occurred_at, at), id)
    UNION ALL
    (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OTHERS} AND value > 0
      ORDER BY local_date, coalesce(occurred_at, at) DESC, id DESC)`,
} as const;

/** One of the events of a user's day (of `days`) and a metric. */
const ofDay = (where: string, order: 'ASC' | 'DESC'): string => `
  (SELECT events.* FROM ${OTHERS} AND metric_no = days.metric_no AND local_date = days.local_date AND ${where}
    ORDER BY id ${order} LIMIT 1)`;

/** The same in as many rows as there are days and metrics, which the sums of days say. */
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
  /** Those that periods are met by; null: any event of positive value meets them. */
  metricNos: readonly number[] | null;
  /** Events (32 hex digits) that are wanted whatever they are. */
  named: readonly string[];
  /** See `MOST_EVENTS`. */
  mostEvents?: number | undefined;
}

/**
 * A user's events from a local day (epoch day) on, as far as periods are met by them, in any order; without those that are
 * reversed. Of a user with very many events those of a metric and day are one.
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
