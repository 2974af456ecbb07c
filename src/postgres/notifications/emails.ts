/** Notifications for emails: the users who are due, and the claims that prevent a second one. */
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { dayOf } from '../../domain/periods.ts';
import { isEarlier, readSinceDay } from '../partitions.ts';
import { storableText } from '../storable-json.ts';

interface EmailUser {
  userId: string;
  state: Buffer;
}

interface EmailRecipients {
  tenantNo: number;
  userIds: readonly string[];
  /** Whether users without an address count, too, because a push notification may reach them. */
  isPushed: boolean;
}

const valuesOf = ({ tenantNo, userIds }: EmailRecipients): unknown[] => [tenantNo, userIds.map(storableText)];

const reachable = ({ isPushed }: EmailRecipients): string =>
  `users.tenant_no = $1 AND users.id = ANY ($2) ${isPushed ? '' : 'AND email_key IS NOT NULL'}`;

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
export async function usersInDanger(pool: Pool, users: EmailRecipients, day: number): Promise<EmailUser[]> {
  const { rows } = await pool.query<EmailUser>(
    `SELECT id AS "userId", state FROM users WHERE ${reachable(users)} AND due_day <= $3`,
    [...valuesOf(users), day],
  );
  return rows;
}

const activeUsersOf = (users: EmailRecipients): string => `
  SELECT id AS "userId", state FROM users
   WHERE ${reachable(users)} AND EXISTS (
     SELECT FROM unnest($3::int[]) AS asked CROSS JOIN LATERAL (
       SELECT FROM events WHERE tenant_no = $1 AND user_id = users.id AND metric_no = asked
          AND local_date BETWEEN $4 AND $5 AND id >= $6::uuid LIMIT 1) AS event)`;

/** Users with an event on one of some consecutive local days (`YYYY-MM-DD`). */
export async function activeUsers(
  pool: Pool,
  users: EmailRecipients,
  { metricNos, from, to }: { metricNos: readonly number[]; from: string; to: string },
): Promise<EmailUser[]> {
  const fromDay = dayOf(from);
  const { rows } = await readSinceDay(fromDay, {
    rows: (firstId) => pool.query<EmailUser>(activeUsersOf(users), [...valuesOf(users), metricNos, from, to, firstId]),
    missed: () => isEarlier(pool, fromDay),
  });
  return rows;
}

/**
 * Users whose last event was on one of some local days (`YYYY-MM-DD`), with that day, and users without events who were
 * created since a time (epoch ms), with `null`. Probes the index of events for each user and metric; storing an event costs
 * nothing extra.
 */
export async function restingUsers(
  pool: Pool,
  users: EmailRecipients,
  { metricNos, days, sinceMs }: { metricNos: readonly number[]; days: readonly string[]; sinceMs: number },
): Promise<(EmailUser & { lastDay: string | null })[]> {
  const { rows } = await pool.query<EmailUser & { lastDay: string | null }>(
    `SELECT id AS "userId", state, last.day AS "lastDay"
       FROM users CROSS JOIN LATERAL (
         SELECT max(newest.local_date) AS day FROM unnest($3::int[]) AS asked CROSS JOIN LATERAL (
           SELECT local_date FROM events WHERE tenant_no = $1 AND user_id = users.id AND metric_no = asked
            ORDER BY local_date DESC LIMIT 1) AS newest) AS last
      WHERE ${reachable(users)} AND (last.day = ANY ($4::date[])
             OR (last.day IS NULL AND users.created >= to_timestamp($5::float8 / 1000)))`,
    [...valuesOf(users), metricNos, days, sinceMs],
  );
  return rows;
}

export async function metricNumbers(pool: Pool, tenantNo: number): Promise<number[]> {
  const { rows } = await pool.query<{ no: number }>(
    "SELECT no FROM catalog_resources WHERE tenant_no = $1 AND kind = 'metric' ORDER BY no",
    [tenantNo],
  );
  return rows.map(({ no }) => no);
}

/** What a user's email is about: the period of a streak or a recap, or a user's inactivity. */
interface MessageClaim {
  userId: string;
  dueFor: string;
}

/** Claims emails in the client's transaction, each user once. Returns the users not claimed before. */
export async function claimEmails(
  client: PoolClient,
  tenantNo: number,
  kind: string,
  claims: readonly MessageClaim[],
): Promise<Set<string>> {
  if (claims.length === 0) return new Set();
  const { rows } = await client.query<{ userId: string }>(
    `INSERT INTO notification_emails AS known (tenant_no, user_id, kind, due_for)
     SELECT $1, user_id, $2, due_for FROM unnest($3::text[], $4::text[]) AS claim (user_id, due_for)
     ON CONFLICT (tenant_no, user_id, kind) DO UPDATE SET due_for = EXCLUDED.due_for
      WHERE known.due_for <> EXCLUDED.due_for
     RETURNING user_id AS "userId"`,
    [tenantNo, kind, claims.map(({ userId }) => storableText(userId)), claims.map(({ dueFor }) => dueFor)],
  );
  return new Set(rows.map(({ userId }) => userId));
}

/** A user whose zone changed, with the new one (`''` for UTC). */
interface MovedUser {
  tenantNo: number;
  userId: string;
  zone: string;
}

/** Whether there are changes of users' zones that were not processed yet, except for some tenants. */
export async function hasMovedUsers(pool: Pool, except: readonly number[]): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>({
    name: 'has_moved_users',
    text: 'SELECT EXISTS (SELECT FROM notification_moves WHERE tenant_no <> ALL ($1::int[])) AS some',
    values: [except],
  });
  return rows[0]!.some;
}

export async function movedUsers(pool: Pool, tenantNo: number, limit: number): Promise<MovedUser[]> {
  const { rows } = await pool.query<MovedUser>(
    `SELECT tenant_no AS "tenantNo", user_id AS "userId", zone
       FROM notification_moves JOIN users USING (tenant_no) WHERE users.id = user_id AND tenant_no = $1
      ORDER BY user_id LIMIT $2`,
    [tenantNo, limit],
  );
  return rows;
}

/** Marks changes of zones as processed. */
export async function forgetMoves(client: PoolClient, tenantNo: number, userIds: readonly string[]): Promise<void> {
  await client.query('DELETE FROM notification_moves WHERE tenant_no = $1 AND user_id = ANY ($2)', [tenantNo, userIds]);
}

/** Deletes the changes of zones of all tenants but some, and of deleted users. */
export async function forgetOtherMoves(pool: Pool, tenantNos: readonly number[]): Promise<void> {
  await pool.query(
    `DELETE FROM notification_moves AS move WHERE tenant_no <> ALL ($1::int[])
         OR NOT EXISTS (SELECT FROM users WHERE users.tenant_no = move.tenant_no AND users.id = move.user_id)`,
    [tenantNos],
  );
}

export interface DueCompletion {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  dueMs: number;
}

const COMPLETION = columns<DueCompletion>({ tenantNo: 'int', userId: 'text', achievementNo: 'int', dueMs: 'bigint' });

/** Stores completions until their emails are due, in the client's transaction. Idempotent. */
export async function noteCompletions(client: PoolClient, completions: readonly DueCompletion[]): Promise<void> {
  if (completions.length > 0)
    await client.query(
      `${COMPLETION.insertInto('notification_completions')} ON CONFLICT DO NOTHING`,
      COMPLETION.arrays(completions),
    );
}

/** When the first email about a completion is due (at most a given time, epoch ms), except for some tenants. */
export async function firstDueCompletion(
  pool: Pool,
  upToMs: number,
  except: readonly number[],
): Promise<number | null> {
  const { rows } = await pool.query<{ dueMs: number }>({
    name: 'first_due_completion',
    text: `SELECT due_ms AS "dueMs" FROM notification_completions
      WHERE due_ms <= $1 AND tenant_no <> ALL ($2::int[]) ORDER BY due_ms LIMIT 1`,
    values: [upToMs, except],
  });
  return rows[0]?.dueMs ?? null;
}

export async function tenantsWithDueCompletions(pool: Pool, upToMs: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT DISTINCT tenant_no AS "tenantNo"
       FROM (SELECT tenant_no FROM notification_completions WHERE due_ms <= $1 ORDER BY due_ms LIMIT $2) AS due`,
    [upToMs, limit],
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/** Takes some of a tenant's completions due by a time, in the client's transaction. */
export async function takeDueCompletions(
  client: PoolClient,
  { tenantNo, upToMs, limit }: { tenantNo: number; upToMs: number; limit: number },
): Promise<DueCompletion[]> {
  const { rows } = await client.query<DueCompletion>(
    `DELETE FROM notification_completions
      WHERE ctid = ANY (ARRAY(SELECT ctid FROM notification_completions
                               WHERE due_ms <= $2 AND tenant_no + 0 = $1 ORDER BY due_ms LIMIT $3 FOR UPDATE SKIP LOCKED))
     RETURNING tenant_no AS "tenantNo", user_id AS "userId", achievement_no AS "achievementNo", due_ms AS "dueMs"`,
    [tenantNo, upToMs, limit],
  );
  return rows.toSorted((a, b) => a.dueMs - b.dueMs);
}
