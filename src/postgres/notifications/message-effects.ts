import type { Pool } from 'pg';
import { EFFECT_DAYS } from '../../domain/message-effect.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { DAY_MS, type Days } from '../../domain/periods.ts';
import { isEarlier, readSinceDay } from '../partitions.ts';
import { metricNumbers } from './emails.ts';

/** Users of one kind and group whose first message in a range fell due, or was withheld. */
export interface EffectGroup {
  kind: MessageKind;
  isControl: boolean;
  /** Those who were looked at, whether there are others, and those who were sent a message of the kind in the range. */
  users: number;
  isSampled: boolean;
  reached: number;
  /** For each of `EFFECT_DAYS`: of those for whom the days are over, how many there are, and how many had an event in them. */
  over: number[];
  returned: number[];
}

const array = (each: (days: number) => string): string => `ARRAY[${EFFECT_DAYS.map(each).join(', ')}]`;

/** Parts of the users, by a hash of their IDs. */
const SAMPLES = 1_024;
/** Messages of a kind and group that are read; of more, only those of some parts of the users. */
const MOST_MESSAGES = 100_000;

/** Whether there is an event within so many days after the occasion. The search ends with the first one. */
const returnedWithin = (days: number): string => `EXISTS (
        SELECT FROM unnest($5::int[]) AS metric (no) CROSS JOIN LATERAL (
          SELECT coalesce(occurred_at, events.at) AS happened FROM events
           WHERE tenant_no = $1 AND user_id = looked.user_id AND metric_no = metric.no
             AND local_date BETWEEN (looked.at AT TIME ZONE 'UTC')::date - 1 AND (looked.at AT TIME ZONE 'UTC')::date + ${days + 1}
             AND id >= $6::uuid AND reverses IS NULL AND NOT imported
           ORDER BY local_date) AS own
         WHERE happened > looked.at AND happened <= looked.at + interval '${days} days')`;

const [LAST_DAYS, ...SHORTER] = EFFECT_DAYS.toReversed() as [number, ...number[]];
/** The shortest span in which a user returned. Who did not return is searched once. */
const WITHIN = `CASE WHEN NOT ${returnedWithin(LAST_DAYS)} THEN NULL
        ${SHORTER.toReversed()
          .map((days) => `WHEN ${returnedWithin(days)} THEN ${days}`)
          .join(' ')} ELSE ${LAST_DAYS} END`;

// OFFSET 0: otherwise, each figure would search. The order of the events is only for the planner; see `eventsAndSums`. Users whose group changed in the range are left out, as far as
// both groups are read.
const READ = `
  WITH occasion AS (
    SELECT message.kind, user_id, min(at) AS at, bool_or(status = 'withheld') AS is_control,
           bool_or(status = 'sent') AS reached, min(bits) AS bits
      FROM email_messages AS message
      LEFT JOIN unnest($8::text[], $9::bool[], $10::int[]) AS sample (kind, is_control, bits)
             ON sample.kind = message.kind AND sample.is_control = (status = 'withheld')
     WHERE (hashtextextended(user_id, 0) & ${SAMPLES - 1}) < coalesce(bits, ${SAMPLES})
       AND tenant_no = $1 AND at >= to_timestamp($2::float8) AND at < to_timestamp($3::float8)
     GROUP BY message.kind, user_id HAVING bool_and(status = 'withheld') OR NOT bool_or(status = 'withheld')
  ), placed AS (
    SELECT *, row_number() OVER (PARTITION BY kind, is_control ORDER BY hashtextextended(user_id, 0), user_id) AS place
      FROM occasion
  ), looked AS MATERIALIZED (SELECT * FROM placed WHERE place <= $7)
  SELECT kind, is_control AS "isControl", count(*)::int AS users,
         count(*) = $7 OR coalesce(min(bits), ${SAMPLES}) < ${SAMPLES} AS "isSampled", (count(*) FILTER (WHERE reached))::int AS reached,
         ${array((days) => `(count(*) FILTER (WHERE looked.at <= to_timestamp($4::float8) - interval '${days} days'))::int`)} AS over,
         ${array((days) => `(count(*) FILTER (WHERE looked.at <= to_timestamp($4::float8) - interval '${days} days' AND event.within <= ${days}))::int`)} AS returned
    FROM looked CROSS JOIN LATERAL (
      SELECT ${WITHIN} AS within OFFSET 0) AS event
   GROUP BY kind, is_control`;

/**
 * Who returned after a message or after the occasion of one. Of each kind and group at most `most` users are looked at, chosen by a
 * hash of their IDs. Reads the log of the range, and a part of an index for each of these users.
 * @param asked.counts how many messages of a kind and group there are in the range, as far as they were counted
 */
export async function effectGroups(
  pool: Pool,
  sample: Days & {
    tenantNo: number;
    nowMs: number;
    most: number;
    counts: readonly { kind: MessageKind; isControl: boolean; count: number }[];
  },
): Promise<EffectGroup[]> {
  const { tenantNo, fromDay, toDay, nowMs, most, counts } = sample;
  const metricNos = await metricNumbers(pool, tenantNo);
  const seconds = (day: number): number => (day * DAY_MS) / 1_000;
  return readSinceDay(fromDay, {
    rows: async (firstId) => {
      const range = [seconds(fromDay), seconds(toDay + 1), nowMs / 1_000];
      const samples = [
        counts.map(({ kind }) => kind),
        counts.map(({ isControl }) => isControl),
        counts.map(({ count }) => Math.min(SAMPLES, Math.ceil((SAMPLES * MOST_MESSAGES) / count))),
      ];
      return (await pool.query<EffectGroup>(READ, [tenantNo, ...range, metricNos, firstId, most, ...samples])).rows;
    },
    missed: () => isEarlier(pool, fromDay),
  });
}
