import type { Pool } from 'pg';

/** The contents of a tenant's days, one line each. */
type Lines = string[];

const LINE = `tenant_no || ' ' || day || ': ' || events || ' ' || active || ' ' || new || ' ' || completed`;

/** The stored counts of days: events, active users, new users, completions. */
export async function countedDays(pool: Pool): Promise<Lines> {
  return lines(
    pool,
    `SELECT tenant_no, day, events, active_users AS active, new_users AS new, completions AS completed
       FROM tenant_days`,
  );
}

const of = (table: string, counts: string, time = 'at'): string =>
  `SELECT tenant_no, floor(extract(epoch FROM ${time}) / 86400)::int AS day, ${counts} FROM ${table} GROUP BY 1, 2`;

/** The same counts, computed from what is stored. */
export async function storedDays(pool: Pool): Promise<Lines> {
  return lines(
    pool,
    `SELECT tenant_no, day, sum(events) AS events, sum(active) AS active, sum(new) AS new, sum(completed) AS completed
       FROM (${of('events', 'count(*) AS events, 0 AS active, 0 AS new, 0 AS completed')}
             UNION ALL ${of('events', '0, count(DISTINCT user_id), 0, 0', 'least(occurred_at, at)')}
             UNION ALL ${of('users', '0, 0, count(*), 0', 'created')}
             UNION ALL ${of('completions', '0, 0, 0, count(*)')}) AS counted (tenant_no, day, events, active, new, completed)
      GROUP BY 1, 2`,
  );
}

async function lines(pool: Pool, statement: string): Promise<Lines> {
  const { rows } = await pool.query<{ line: string }>(
    `SELECT ${LINE} AS line FROM (${statement}) AS days ORDER BY tenant_no, day`,
  );
  return rows.map(({ line }) => line);
}
