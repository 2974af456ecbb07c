import type { PoolClient } from 'pg';
import type { Days } from '../domain/periods.ts';
import { eventsAndSums } from './partitions.ts';

interface AskedDays {
  tenantNo: number;
  ids: readonly string[];
  metricNo: number;
  /** Only events with these attributes (by key); `null`: all events. */
  attributes: Record<string, string> | null;
  /** Only these local days (epoch days). */
  days: Days;
  /** At most this many days of each user, the latest ones. */
  most: number;
}

export interface DaySum {
  userId: string;
  day: number;
  /** Decimal text. */
  sum: string;
}

/** SQL: the events of a user, by day. $1 tenant, $3 metric, $4 attributes or null, $5 and $6 first and last day. */
const daysOfUser = (byAttributes: boolean): string => `
  SELECT local_date, sum(value) AS sum
    FROM ${eventsAndSums({
      user: 'asked.id',
      where: `metric_no = $3 AND ($4::jsonb IS NULL OR attributes @> $4)
        AND local_date BETWEEN DATE '1970-01-01' + $5::int AND DATE '1970-01-01' + $6::int`,
      ...(byAttributes && { byAttributes }),
    })} AS kept
   GROUP BY local_date ORDER BY local_date DESC LIMIT $7`;

/** Sums of the events of some users on local days, newest first. Includes sums of dropped events. */
export async function daySums(
  client: PoolClient,
  { tenantNo, ids, metricNo, attributes, days, most }: AskedDays,
): Promise<DaySum[]> {
  const { rows } = await client.query<DaySum>(
    `SELECT asked.id AS "userId", own.local_date - DATE '1970-01-01' AS day, own.sum::text AS sum
       FROM unnest($2::text[]) AS asked (id) CROSS JOIN LATERAL (${daysOfUser(attributes !== null)}) AS own
      ORDER BY asked.id, own.local_date DESC`,
    [tenantNo, ids, metricNo, attributes && JSON.stringify(attributes), days.fromDay, days.toDay, most],
  );
  return rows;
}

export interface CompletedPeriod {
  userId: string;
  achievementNo: number;
  period: number;
}

/** The completed periods of some users' repeating achievements. */
export async function completedPeriods(
  client: PoolClient,
  tenantNo: number,
  ids: readonly string[],
  achievementNos: readonly number[],
): Promise<CompletedPeriod[]> {
  const { rows } = await client.query<CompletedPeriod>(
    `SELECT user_id AS "userId", achievement_no AS "achievementNo", period FROM completions
      WHERE tenant_no = $1 AND user_id = ANY ($2) AND achievement_no = ANY ($3) AND period <> 0`,
    [tenantNo, ids, achievementNos],
  );
  return rows;
}
