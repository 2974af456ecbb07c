import type { PoolClient } from 'pg';
import { dateOf } from '../../domain/periods.ts';

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
}

const EVENT = `replace(id::text, '-', '') AS id, metric_no AS "metricNo", local_date - DATE '1970-01-01' AS day,
         (extract(epoch FROM coalesce(occurred_at, at)) * 1000)::float8 AS "atMs", value::text AS value`;
const REVERSED = 'SELECT root_id FROM reversals WHERE tenant_no = $1 AND user_id = $2 AND in_force';
const OF_USER = `events WHERE tenant_no = $1 AND user_id = $2 AND local_date >= $3::date
                AND reverses IS NULL AND id <> ALL (ARRAY(${REVERSED}))`;

const OF_METRICS = `SELECT ${EVENT} FROM ${OF_USER} AND metric_no = ANY ($4)`;

/** Of a day's events of positive value the first and the last say all: a period that they meet is met. */
const ENDS = `
  SELECT ${EVENT} FROM ${OF_USER} AND id = ANY ($4::uuid[])
  UNION ALL
  (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OF_USER} AND value > 0 AND id <> ALL ($4::uuid[])
    ORDER BY local_date, coalesce(occurred_at, at), id)
  UNION ALL
  (SELECT DISTINCT ON (local_date) ${EVENT} FROM ${OF_USER} AND value > 0 AND id <> ALL ($4::uuid[])
    ORDER BY local_date, coalesce(occurred_at, at) DESC, id DESC)`;

interface EventsWanted {
  tenantNo: number;
  userId: string;
  fromDay: number;
  /** Those that periods are met by; null: any event of positive value meets them. */
  metricNos: readonly number[] | null;
  /** Events (32 hex digits) that are wanted whatever they are. */
  named: readonly string[];
}

/**
 * A user's events from a local day (epoch day) on, as far as periods are met by them, in any order; without those that are
 * reversed.
 */
export async function eventFacts(client: PoolClient, wanted: EventsWanted): Promise<EventFact[]> {
  const { tenantNo, userId, fromDay, metricNos, named } = wanted;
  const { rows } = await client.query<EventFact>(metricNos === null ? ENDS : OF_METRICS, [
    tenantNo,
    userId,
    dateOf(fromDay),
    metricNos ?? named,
  ]);
  return rows;
}
