import type { Pool, PoolClient } from 'pg';
import type { NotificationType } from '../../domain/notification.ts';
import { FURTHEST_END_MS, windowEndMs } from '../../domain/notification-windows.ts';
import { binaryArray, TEXT } from '../persist/binary-array.ts';

/** A window that ended. Fields are `null` if nothing waits, or if there was no value. */
export interface EndedWindow {
  /** `''` if it is not about a single user. */
  userId: string;
  subject: string;
  type: NotificationType;
  source: string | null;
  atMs: number | null;
  about: string | null;
  payload: string | null;
  added: number | null;
  awards: string | null;
  level: string | null;
  /** Rank and value reported last. */
  rank: number | null;
  value: number | null;
}

/** End and tenant of the first window that ended by a time, except for some tenants. Both in epoch ms. */
export async function firstEndedWindow(pool: Pool, upToMs: number, except: readonly number[]): Promise<number | null> {
  const { rows } = await pool.query<{ untilMs: number }>(
    `SELECT until_ms AS "untilMs" FROM notification_windows
      WHERE until_ms <= $1 AND tenant_no <> ALL ($2::int[]) ORDER BY until_ms LIMIT 1`,
    [upToMs, except],
  );
  return rows[0]?.untilMs ?? null;
}

/** Ends windows that were opened before the clock was set back. Returns whether there were any. `nowMs`: the clock's time. */
export async function endWindowsAhead(pool: Pool, nowMs: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    'UPDATE notification_windows SET until_ms = $1 WHERE until_ms > $1::bigint + $2',
    [nowMs, FURTHEST_END_MS],
  );
  return rowCount !== 0;
}

/** Tenants of the first windows that ended by a time. */
export async function tenantsWithEndedWindows(pool: Pool, upToMs: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT DISTINCT tenant_no AS "tenantNo"
       FROM (SELECT tenant_no FROM notification_windows WHERE until_ms <= $1 ORDER BY until_ms LIMIT $2) AS ended`,
    [upToMs, limit],
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/**
 * Takes and locks the first of a tenant's windows that ended by a time, except those that another process has locked. The sum keeps the planner from
 * reading all of the tenant's windows by the primary key.
 */
export async function takeEndedWindows(
  client: PoolClient,
  { tenantNo, upToMs, limit }: { tenantNo: number; upToMs: number; limit: number },
): Promise<EndedWindow[]> {
  const { rows } = await client.query<EndedWindow>(
    `SELECT user_id AS "userId", subject, type, source, at_ms AS "atMs", about, payload, added, awards, level, rank, value
       FROM notification_windows WHERE until_ms <= $2 AND tenant_no + 0 = $1 ORDER BY until_ms LIMIT $3
        FOR UPDATE SKIP LOCKED`,
    [tenantNo, upToMs, limit],
  );
  return rows;
}

export async function closeWindows(
  client: PoolClient,
  tenantNo: number,
  windows: readonly Pick<EndedWindow, 'userId' | 'subject'>[],
): Promise<void> {
  if (windows.length === 0) return;
  await client.query(
    `DELETE FROM notification_windows AS open USING unnest($2::text[], $3::uuid[]) AS ended (user_id, subject)
      WHERE open.tenant_no = $1 AND open.user_id = ended.user_id AND open.subject = ended.subject`,
    [
      tenantNo,
      binaryArray(
        TEXT,
        windows.map(({ userId }) => userId),
      ),
      windows.map(({ subject }) => subject),
    ],
  );
}

/** What was just reported for a window; rank and value only for ranks. */
export interface ReportedWindow extends Pick<EndedWindow, 'userId' | 'subject' | 'rank' | 'value'> {
  /** The reported change. Anything recorded after it still waits. */
  source: string;
}

/** Restarts windows. Only changes after the reported one still wait. */
export async function reopenWindows(
  client: PoolClient,
  tenantNo: number,
  { windows, nowMs }: { windows: readonly ReportedWindow[]; nowMs: number },
): Promise<void> {
  if (windows.length === 0) return;
  await client.query(
    `UPDATE notification_windows AS open
        SET until_ms = $2, rank = ended.rank, value = ended.value, added = NULL, awards = NULL, level = NULL,
            payload = CASE WHEN open.source <> ended.source THEN payload END,
            about = CASE WHEN open.source <> ended.source THEN about END,
            at_ms = CASE WHEN open.source <> ended.source THEN at_ms END,
            source = CASE WHEN open.source <> ended.source THEN open.source END
       FROM unnest($3::text[], $4::uuid[], $5::text[], $6::int[], $7::float8[]) AS ended (user_id, subject, source, rank, value)
      WHERE open.tenant_no = $1 AND open.user_id = ended.user_id AND open.subject = ended.subject`,
    [
      tenantNo,
      windowEndMs(nowMs),
      binaryArray(
        TEXT,
        windows.map(({ userId }) => userId),
      ),
      windows.map(({ subject }) => subject),
      binaryArray(
        TEXT,
        windows.map(({ source }) => source),
      ),
      windows.map(({ rank }) => rank),
      windows.map(({ value }) => value),
    ],
  );
}
