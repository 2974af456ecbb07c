/** The addresses at which tenants' mail providers report, and what they reported. */
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import {
  FEEDBACK_STATUSES,
  type FeedbackFormat,
  type Weight,
  WEIGHTS,
} from '../../domain/notifications/message-feedback.ts';
import { searchKeys } from '../users/user-search.ts';
import { countMessages } from './message-counts.ts';

export interface FeedbackRow {
  nonce: string;
  format: FeedbackFormat;
  created: Date;
  updated: Date;
  received: Date | null;
}

const COLUMNS = 'nonce, format, created, updated, received';

/** A tenant's address for reports; `null` if it has none. `lock`: until the end of the transaction, nobody else changes it. */
export async function readFeedback(
  client: Pool | PoolClient,
  tenantNo: number,
  { lock = false }: { lock?: boolean } = {},
): Promise<FeedbackRow | null> {
  const { rows } = await client.query<FeedbackRow>(
    `SELECT ${COLUMNS} FROM message_feedback WHERE tenant_no = $1 ${lock ? 'FOR UPDATE' : ''}`,
    [tenantNo],
  );
  return rows[0] ?? null;
}

export async function writeFeedback(
  client: PoolClient,
  { tenantNo, nonce, format, nowMs }: Pick<FeedbackRow, 'nonce' | 'format'> & { tenantNo: number; nowMs: number },
): Promise<FeedbackRow> {
  const { rows } = await client.query<FeedbackRow>(
    `INSERT INTO message_feedback (tenant_no, nonce, format, created, updated)
     VALUES ($1, $2, $3, to_timestamp($4::float8 / 1000), to_timestamp($4::float8 / 1000))
     ON CONFLICT (tenant_no) DO UPDATE SET nonce = excluded.nonce, format = excluded.format, updated = excluded.updated
     RETURNING ${COLUMNS}`,
    [tenantNo, nonce, JSON.stringify(format), nowMs],
  );
  return rows[0]!;
}

/** Returns whether there was an address. */
export async function deleteFeedback(client: PoolClient, tenantNo: number): Promise<boolean> {
  const { rowCount } = await client.query('DELETE FROM message_feedback WHERE tenant_no = $1', [tenantNo]);
  return rowCount === 1;
}

/** Notes that a report came. Returns the format; `null` if the address is no longer valid. */
export async function noteReceived(
  pool: Pool,
  tenantNo: number,
  nonce: string,
  nowMs: number,
): Promise<FeedbackFormat | null> {
  const { rows } = await pool.query<{ format: FeedbackFormat }>(
    `UPDATE message_feedback SET received = to_timestamp($3::float8 / 1000)
      WHERE tenant_no = $1 AND nonce = $2 RETURNING format`,
    [tenantNo, nonce, nowMs],
  );
  return rows[0]?.format ?? null;
}

/** E-mails that were handed over, by ID. */
export async function handedOver(
  pool: Pool,
  tenantNo: number,
  ids: readonly string[],
): Promise<Map<string, { userId: string; weight: number }>> {
  if (ids.length === 0) return new Map();
  const { rows } = await pool.query<{ id: string; userId: string; weight: number }>(
    `SELECT id, user_id AS "userId", coalesce(feedback, 0) AS weight FROM email_messages
      WHERE id = ANY ($2::uuid[]) AND tenant_no = $1 AND status IN ('sending', 'sent', 'unknown')`,
    [tenantNo, ids],
  );
  return new Map(rows.map(({ id, ...message }) => [id, message]));
}

/** Users who may have an address: their addresses begin alike, so compare them. At most `limit`. */
export async function usersWithAddress(
  pool: Pool,
  tenantNo: number,
  address: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT id FROM users WHERE tenant_no = $1 AND email_key = $2 ORDER BY id LIMIT $3',
    [tenantNo, searchKeys({ email: address }).email, limit],
  );
  return rows.map(({ id }) => id);
}

export interface ReportedMessage {
  id: string;
  weight: Weight;
  reason: string | null;
  atMs: number;
}

const REPORT = columns<ReportedMessage>({ id: 'uuid', weight: 'smallint', reason: 'text', atMs: 'bigint' });

/** Records reports, unless weightier ones were recorded. Each e-mail may occur once. */
export async function recordFeedback(
  pool: Pool,
  tenantNo: number,
  reported: readonly ReportedMessage[],
): Promise<void> {
  if (reported.length === 0) return;
  await pool.query(
    `WITH locked AS MATERIALIZED (
       SELECT id FROM email_messages WHERE id = ANY ($2) AND tenant_no = $1 ORDER BY id FOR UPDATE
     ), changed AS (
       UPDATE email_messages AS message
          SET feedback = report.weight, feedback_ms = report.at_ms, reason = coalesce(report.reason, message.reason)
         FROM ${REPORT.unnest('report', 2)}
         JOIN locked ON locked.id = report.id
        WHERE message.id = report.id AND coalesce(feedback, 0) < report.weight
       RETURNING tenant_no, kind, medium, at,
                 CASE WHEN weight > ${WEIGHTS.bouncedForNow} THEN ('{${FEEDBACK_STATUSES.join(',')}}'::text[])[weight] END AS counted)
     ${countMessages('changed')}`,
    [tenantNo, ...REPORT.arrays(reported)],
  );
}
