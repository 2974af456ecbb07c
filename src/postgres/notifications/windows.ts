import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { FURTHEST_END_MS, type NotificationType, windowEndMs } from '../../domain/notifications/notification.ts';

/** A change to report now or after a window: of a user (`''` for none) and a points system, or of a leaderboard's run and group. */
export interface WindowChange {
  tenantNo: number;
  userId: string;
  /** UUID of the points system, or derived from leaderboard, run and group. */
  subject: string;
  type: NotificationType;
  source: string;
  atMs: number;
  /** JSON text that webhook filters compare. */
  about: string;
  /** Payload as JSON text; for points, without awards. */
  payload: string;
  /** Points added, the awards (one JSON text per line), and the new level as JSON text, or `''` if it did not change. */
  added: number;
  awards: string;
  level: string;
  /** Rank and value on a leaderboard after the change; `null` if the user is not on it. */
  rank: number | null;
  value: number | null;
  /** False: waits for the next flush in any case. */
  atOnce: boolean;
}

/** Limit in bytes for a window's awards; older ones are dropped. */
const AWARDS_BYTES = 131_072;

const CHANGE = columns<WindowChange>({
  tenantNo: 'int',
  userId: 'text',
  subject: 'uuid',
  type: 'text',
  source: 'text',
  atMs: 'bigint',
  about: 'text',
  payload: 'text',
  added: 'bigint',
  awards: 'text',
  level: 'text',
  rank: 'int',
  value: 'float8',
  atOnce: 'boolean',
});
const CHANGES = CHANGE.unnest('change', 3, 'no');

const OVER = `(waiting.payload IS NULL AND (waiting.until_ms <= $1 OR waiting.until_ms > $1::bigint + ${FURTHEST_END_MS}))`;
const GOES = `(change.at_once AND ${OVER})`;

/** For existing windows. */
const UPDATE = `
  UPDATE notification_windows AS waiting
     SET until_ms = CASE WHEN ${GOES} THEN $2::bigint WHEN ${OVER} THEN $1::bigint ELSE waiting.until_ms END,
         source = CASE WHEN NOT ${GOES} THEN change.source END,
         at_ms = CASE WHEN NOT ${GOES} THEN change.at_ms END,
         about = CASE WHEN NOT ${GOES} THEN change.about END,
         payload = CASE WHEN NOT ${GOES} THEN change.payload END,
         added = CASE WHEN NOT ${GOES} THEN coalesce(waiting.added, 0) + change.added END,
         awards = CASE WHEN NOT ${GOES} THEN concat_ws(E'\\n',
                    CASE WHEN octet_length(waiting.awards) <= ${AWARDS_BYTES} THEN nullif(waiting.awards, '') END,
                    nullif(change.awards, '')) END,
         level = CASE WHEN NOT ${GOES} THEN coalesce(nullif(change.level, ''), waiting.level) END,
         rank = CASE WHEN ${GOES} THEN change.rank ELSE waiting.rank END,
         value = CASE WHEN ${GOES} THEN change.value ELSE waiting.value END
    FROM ${CHANGES}
   WHERE waiting.tenant_no = change.tenant_no AND waiting.user_id = change.user_id AND waiting.subject = change.subject
  RETURNING (change.no - 1)::int AS index, waiting.payload IS NULL AS goes`;

/** For new windows. A change that waits from the start has no previously reported values. */
const INSERT = `
  INSERT INTO notification_windows
    (tenant_no, user_id, subject, type, until_ms, source, at_ms, about, payload, rank, value)
  SELECT tenant_no, user_id, subject, type, CASE WHEN at_once THEN $2::bigint ELSE $1::bigint END,
         CASE WHEN NOT at_once THEN source END, CASE WHEN NOT at_once THEN at_ms END,
         CASE WHEN NOT at_once THEN about END, CASE WHEN NOT at_once THEN payload END,
         CASE WHEN at_once THEN rank END, CASE WHEN at_once THEN value END
    FROM ${CHANGES}`;

const parameters = (changes: readonly WindowChange[], nowMs: number): unknown[] => [
  nowMs,
  windowEndMs(nowMs),
  ...CHANGE.arrays(changes),
];

/**
 * Sends changes now or makes them wait, in the client's transaction, which must hold the cursor of the tenants' shard. Each
 * window may occur only once per call.
 * @returns the indexes of changes to send now, which open a window. The others are merged into what waits
 */
export async function enterWindows(
  client: PoolClient,
  changes: readonly WindowChange[],
  nowMs: number,
): Promise<Set<number>> {
  if (changes.length === 0) return new Set();
  const { rows } = await client.query<{ index: number; goes: boolean }>(UPDATE, parameters(changes, nowMs));
  const open = new Set(rows.map(({ index }) => index));
  const going = new Set(rows.filter(({ goes }) => goes).map(({ index }) => index));
  const others = [...changes.keys()].filter((index) => !open.has(index));
  if (others.length === 0) return going;
  await client.query(
    INSERT,
    parameters(
      others.map((index) => changes[index]!),
      nowMs,
    ),
  );
  for (const index of others) if (changes[index]!.atOnce) going.add(index);
  return going;
}

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
  const { rows } = await pool.query<{ untilMs: number }>({
    name: 'first_ended_window',
    text: `SELECT until_ms AS "untilMs" FROM notification_windows
      WHERE until_ms <= $1 AND tenant_no <> ALL ($2::int[]) ORDER BY until_ms LIMIT 1`,
    values: [upToMs, except],
  });
  return rows[0]?.untilMs ?? null;
}

/** Ends windows that were opened before the clock was set back. Returns whether there were any. `nowMs`: the clock's time. */
export async function endWindowsAhead(pool: Pool, nowMs: number): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'end_windows_ahead',
    text: 'UPDATE notification_windows SET until_ms = $1 WHERE until_ms > $1::bigint + $2',
    values: [nowMs, FURTHEST_END_MS],
  });
  return rowCount !== 0;
}

export async function tenantsWithEndedWindows(pool: Pool, upToMs: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ tenantNo: number }>(
    `SELECT DISTINCT tenant_no AS "tenantNo"
       FROM (SELECT tenant_no FROM notification_windows WHERE until_ms <= $1 ORDER BY until_ms LIMIT $2) AS ended`,
    [upToMs, limit],
  );
  return rows.map(({ tenantNo }) => tenantNo);
}

/** Takes and locks a tenant's first ended windows, except locked ones. The sum keeps the planner from the primary key. */
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

const WINDOW = columns<EndedWindow>({ userId: 'text', subject: 'uuid' });

export async function closeWindows(
  client: PoolClient,
  tenantNo: number,
  windows: readonly EndedWindow[],
): Promise<void> {
  if (windows.length === 0) return;
  await client.query(
    `DELETE FROM notification_windows AS open USING ${WINDOW.unnest('ended', 2)}
      WHERE open.tenant_no = $1 AND open.user_id = ended.user_id AND open.subject = ended.subject`,
    [tenantNo, ...WINDOW.arrays(windows)],
  );
}

/** The values just reported for a window; rank and value only for ranks. */
export interface ReportedWindow extends Pick<EndedWindow, 'userId' | 'subject' | 'rank' | 'value'> {
  /** The reported change. Anything recorded after it still waits. */
  source: string;
}

const REPORTED = columns<ReportedWindow>({
  userId: 'text',
  subject: 'uuid',
  source: 'text',
  rank: 'int',
  value: 'float8',
});

/** Restarts windows. Only changes after the reported one still wait. */
export async function reopenWindows(
  client: PoolClient,
  tenantNo: number,
  windows: readonly ReportedWindow[],
  nowMs: number,
): Promise<void> {
  if (windows.length === 0) return;
  await client.query(
    `UPDATE notification_windows AS open
        SET until_ms = $2, rank = ended.rank, value = ended.value, added = NULL, awards = NULL, level = NULL,
            payload = CASE WHEN open.source <> ended.source THEN payload END,
            about = CASE WHEN open.source <> ended.source THEN about END,
            at_ms = CASE WHEN open.source <> ended.source THEN at_ms END,
            source = CASE WHEN open.source <> ended.source THEN open.source END
       FROM ${REPORTED.unnest('ended', 3)}
      WHERE open.tenant_no = $1 AND open.user_id = ended.user_id AND open.subject = ended.subject`,
    [tenantNo, windowEndMs(nowMs), ...REPORTED.arrays(windows)],
  );
}
