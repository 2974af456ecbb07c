import type { Pool } from 'pg';
import { COUNTED, RETURN_DAYS, SEGMENT } from '../../../src/domain/analytics.ts';

/** Sums of everyone, each as a line: `tenant kind day subject part: events value`. */
type Lines = string[];

const DAY = (time: string): string => `floor(extract(epoch FROM ${time}) / 86400)::int`;
const LOCAL_DAY = `local_date - DATE '1970-01-01'`;
const ACTIVE = `(SELECT DISTINCT tenant_no, user_id, ${DAY('least(occurred_at, at)')} AS day FROM events WHERE reverses IS NULL) AS active`;
const IN_FORCE = 'EXISTS (SELECT FROM reversals WHERE root_id = events.id AND in_force)';

/** The same sums from the tables that still hold each event, award, completion and change. */
const STORED = `
  SELECT tenant_no, ${COUNTED.activeOnDay} AS kind, day, 0 AS subject, 0 AS part, count(*) AS events, 0 AS value
    FROM ${ACTIVE} GROUP BY tenant_no, day
  UNION ALL
  SELECT tenant_no, ${COUNTED.activeInWeek}, week, 0, 0, count(DISTINCT user_id), 0
    FROM (SELECT tenant_no, user_id, day - (day + 3) % 7 AS week FROM ${ACTIVE}) AS weeks GROUP BY tenant_no, week
  UNION ALL
  SELECT tenant_no, ${COUNTED.activeInMonth}, (month - DATE '1970-01-01')::int, 0, 0, count(DISTINCT user_id), 0
    FROM (SELECT tenant_no, user_id, date_trunc('month', DATE '1970-01-01' + day)::date AS month FROM ${ACTIVE}) AS months
   GROUP BY tenant_no, month
  UNION ALL
  SELECT tenant_no, ${COUNTED.newUsers}, ${DAY('created')}, 0, 0, count(*), 0 FROM users GROUP BY 1, 3
  UNION ALL
  SELECT tenant_no, ${COUNTED.retained}, week, 0, seen, count(DISTINCT user_id), 0
    FROM (SELECT tenant_no, user_id, day - (day + 3) % 7 AS week, first - (first + 3) % 7 AS seen
            FROM ${ACTIVE} JOIN (SELECT tenant_no, id AS user_id, ${DAY('created')} AS first FROM users) AS known USING (tenant_no, user_id)
         ) AS weeks GROUP BY tenant_no, week, seen
  UNION ALL
  SELECT tenant_no, ${COUNTED.returned}, day, 0, day - first, count(DISTINCT user_id), 0
    FROM ${ACTIVE} JOIN (SELECT tenant_no, id AS user_id, ${DAY('created')} AS first FROM users) AS known USING (tenant_no, user_id)
   WHERE day - first IN (${RETURN_DAYS.join()}) GROUP BY tenant_no, day, first
  UNION ALL
  SELECT tenant_no, ${COUNTED.events}, ${LOCAL_DAY}, metric_no, 0, count(*) FILTER (WHERE reverses IS NULL AND NOT ${IN_FORCE}), sum(value)
    FROM events GROUP BY 1, 3, 4
  UNION ALL
  SELECT tenant_no, ${COUNTED.completed}, ${DAY('at')}, achievement_no, 0, count(*), 0 FROM completions GROUP BY 1, 3, 4
  UNION ALL
  SELECT tenant_no, ${COUNTED.awarded}, ${LOCAL_DAY}, trigger_no, system_no, count(*), sum(awarded)
    FROM awards WHERE awarded > 0 GROUP BY 1, 3, 4, 5
  UNION ALL
  SELECT tenant_no, ${COUNTED.taken}, ${LOCAL_DAY}, trigger_no, system_no, count(*), -sum(awarded)
    FROM awards WHERE awarded < 0 GROUP BY 1, 3, 4, 5
  UNION ALL
  SELECT tenant_no, ${COUNTED.streakChanges}, ${DAY('at')}, frequency, kind, count(*), 0
    FROM streak_changes WHERE superseded_by IS NULL AND frequency > 0 GROUP BY 1, 3, 4, 5
  UNION ALL
  SELECT tenant_no, ${COUNTED.streaksExtended}, ${LOCAL_DAY}, 0, 0, count(*), 0
    FROM events WHERE streak IS NOT NULL AND reverses IS NULL GROUP BY 1, 3`;

/** Kinds that no table holds in another form. */
const ONLY_SUMS: readonly number[] = [
  COUNTED.sizes,
  COUNTED.durations,
  COUNTED.pointsEver,
  COUNTED.placesChanged,
  COUNTED.placesJoined,
  COUNTED.balanceChanges,
  COUNTED.holdsEnded,
];

/** The sums as they are kept. */
export const countedAnalytics = (pool: Pool): Promise<Lines> =>
  lines(
    pool,
    `SELECT tenant_no, kind, day, subject, part, events, value FROM analytics_days
      WHERE segment = ${SEGMENT.everyone} AND kind NOT IN (${ONLY_SUMS.join(', ')})`,
  );

/** The sums computed from stored rows; valid while nobody was deleted or imported and nothing was dropped. */
export const storedAnalytics = (pool: Pool): Promise<Lines> => lines(pool, STORED);

async function lines(pool: Pool, statement: string): Promise<Lines> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT concat_ws(' ', tenant_no, kind, day, subject, part) || ': ' || events || ' ' || trim_scale(value::numeric) AS line
       FROM (${statement}) AS sums WHERE events <> 0 OR value <> 0 ORDER BY tenant_no, kind, day, subject, part`,
  );
  return rows.map(({ line }) => line);
}
