import type { PoolClient } from 'pg';
import { dateOf, type Days } from '../../domain/periods.ts';
import { eventsAndSums, isEarlier, readSinceDay } from '../partitions.ts';
import { storableText } from '../storable-json.ts';

/** UTC days (epoch days) of a user. */
export interface UserDays extends Days {
  tenantNo: number;
  userId: string;
}

/** Of a user with more events than this in the days read, the local days are read, which are cheaper. */
const MOST_EVENTS = 5_000;

/** The day of an event as analytics count it (`happenedOn`); an imported day counts as a day of UTC. */
const DAY = `CASE WHEN imported THEN local_date - DATE '1970-01-01'
                  ELSE floor(extract(epoch FROM least(occurred_at, at)) / 86400)::int END`;

/** The order of the index by user is for the planner, as in `eventsAndSums`. */
const READ = `
  SELECT found.days, found.events > ${MOST_EVENTS} AS "isBeyond"
    FROM unnest($1::int[], $2::text[], $3::date[], $4::date[]) WITH ORDINALITY AS asked (tenant_no, user_id, first, last, nth)
   CROSS JOIN LATERAL (
     SELECT coalesce(array_agg(DISTINCT day), '{}') AS days, count(*) AS events
       FROM (SELECT ${DAY} AS day FROM events
              WHERE tenant_no = asked.tenant_no AND user_id = asked.user_id AND reverses IS NULL AND id >= $5::uuid
                AND local_date BETWEEN asked.first AND asked.last
              ORDER BY metric_no, local_date LIMIT ${MOST_EVENTS + 1}) AS near
   ) AS found
   ORDER BY nth`;

const LOCAL = `
  SELECT DISTINCT local_date - DATE '1970-01-01' AS day
    FROM ${eventsAndSums({ user: '$2', where: 'local_date BETWEEN $3::date AND $4::date', firstId: '$5' })} AS kept`;

/**
 * The UTC days of some users with stored events, in the order of `users`; other days may be included. Reversed events count,
 * because a reversal takes no activity back. Dropped events do not.
 */
export async function activeDays(client: PoolClient, users: readonly UserDays[]): Promise<ReadonlySet<number>[]> {
  const fromDay = Math.min(...users.map((user) => user.fromDay)) - 1;
  return readSinceDay(fromDay, {
    rows: (firstId) => readDays(client, users, firstId),
    missed: () => isEarlier(client, fromDay),
  });
}

async function readDays(client: PoolClient, users: readonly UserDays[], firstId: string): Promise<Set<number>[]> {
  const values = users.map(({ tenantNo, userId, fromDay, toDay }) => ({
    tenantNo,
    userId: storableText(userId),
    // A local day may begin on the UTC day before, and end on the one after.
    first: dateOf(fromDay - 1),
    last: dateOf(toDay + 1),
  }));
  const { rows } = await client.query<{ days: number[]; isBeyond: boolean }>(READ, [
    values.map(({ tenantNo }) => tenantNo),
    values.map(({ userId }) => userId),
    values.map(({ first }) => first),
    values.map(({ last }) => last),
    firstId,
  ]);
  const days: Set<number>[] = [];
  for (const [at, row] of rows.entries()) {
    const { tenantNo, userId, first, last } = values[at]!;
    const local = row.isBeyond
      ? (await client.query<{ day: number }>(LOCAL, [tenantNo, userId, first, last, firstId])).rows
      : null;
    days.push(new Set(local?.map(({ day }) => day) ?? row.days));
  }
  return days;
}
