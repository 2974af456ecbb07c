import type { Pool } from 'pg';
import { dayOf } from '../../domain/periods.ts';
import { isEarlier, readSinceDay } from '../partitions/since-day.ts';
import { storableText } from '../storable-json.ts';

/** A user for whom an email may be due, with the packed state. */
export interface EmailUser {
  userId: string;
  state: Buffer;
}

/** Some users with an email address, by ID. */
interface Asked {
  tenantNo: number;
  userIds: readonly string[];
}

const asked = ({ tenantNo, userIds }: Asked): unknown[] => [tenantNo, userIds.map(storableText)];

const REACHABLE = 'users.tenant_no = $1 AND users.id = ANY ($2) AND email_key IS NOT NULL';

interface ZonePage {
  tenantNo: number;
  zone: string;
  after: string;
  limit: number;
  /** Restricts the page to these users; `null` for all. */
  among: readonly string[] | null;
}

/** IDs of the next users of a zone, in order. Reads only an index, or one row each for individual users. */
export async function idsOfZone(pool: Pool, { tenantNo, zone, after, limit, among }: ZonePage): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM users WHERE tenant_no = $1 AND zone = $2 AND id > $3 ${among === null ? '' : 'AND id = ANY ($5)'}
      ORDER BY id LIMIT $4`,
    [tenantNo, zone, after, limit, ...(among === null ? [] : [among.map(storableText)])],
  );
  return rows.map(({ id }) => id);
}

/** Users whose streak may end by the beginning of a local day (epoch day). */
export async function usersInDanger(pool: Pool, users: Asked, day: number): Promise<EmailUser[]> {
  const { rows } = await pool.query<EmailUser>(
    `SELECT id AS "userId", state FROM users WHERE ${REACHABLE} AND due_day <= $3`,
    [...asked(users), day],
  );
  return rows;
}

const ACTIVE_USERS = `
  SELECT id AS "userId", state FROM users
   WHERE ${REACHABLE} AND EXISTS (
     SELECT FROM unnest($3::int[]) AS asked CROSS JOIN LATERAL (
       SELECT FROM events WHERE tenant_no = $1 AND user_id = users.id AND metric_no = asked
          AND local_date BETWEEN $4 AND $5 AND id >= $6::uuid LIMIT 1) AS event)`;

/** Users with an event on one of some consecutive local days (`YYYY-MM-DD`). */
export async function activeUsers(
  pool: Pool,
  users: Asked,
  { metricNos, from, to }: { metricNos: readonly number[]; from: string; to: string },
): Promise<EmailUser[]> {
  const fromDay = dayOf(from);
  const { rows } = await readSinceDay(fromDay, {
    rows: (firstId) => pool.query<EmailUser>(ACTIVE_USERS, [...asked(users), metricNos, from, to, firstId]),
    missed: () => isEarlier(pool, fromDay),
  });
  return rows;
}

/**
 * Users whose last event was on one of some local days (`YYYY-MM-DD`), with that day, and users without events who were created since a time (epoch ms),
 * with `null`. Probes the index of events for each user and metric; storing an event costs nothing extra.
 */
export async function restingUsers(
  pool: Pool,
  users: Asked,
  { metricNos, days, sinceMs }: { metricNos: readonly number[]; days: readonly string[]; sinceMs: number },
): Promise<(EmailUser & { lastDay: string | null })[]> {
  const { rows } = await pool.query<EmailUser & { lastDay: string | null }>(
    `SELECT id AS "userId", state, last.day AS "lastDay"
       FROM users CROSS JOIN LATERAL (
         SELECT max(newest.local_date) AS day FROM unnest($3::int[]) AS asked CROSS JOIN LATERAL (
           SELECT local_date FROM events WHERE tenant_no = $1 AND user_id = users.id AND metric_no = asked
            ORDER BY local_date DESC LIMIT 1) AS newest) AS last
      WHERE ${REACHABLE} AND (last.day = ANY ($4::date[])
             OR (last.day IS NULL AND users.created >= to_timestamp($5::float8 / 1000)))`,
    [...asked(users), metricNos, days, sinceMs],
  );
  return rows;
}

/** Numbers of all metrics that a tenant has ever had. */
export async function metricNumbers(pool: Pool, tenantNo: number): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    "SELECT no FROM catalog_resources WHERE tenant_no = $1 AND kind = 'metric' ORDER BY no",
    [tenantNo],
  );
  return rows.map(({ no }) => no);
}
