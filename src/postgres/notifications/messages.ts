/** The e-mails and push notifications that Laurel sends itself: those that wait, and the log of the others. */
import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { MessageStatus } from '../../domain/notifications/message-channel.ts';
import { FEEDBACK_STATUSES, WEIGHTS } from '../../domain/notifications/message-feedback.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import type { Medium } from '../../domain/notifications/medium.ts';
import { storableText } from '../storable-json.ts';
import { countMessages } from './message-counts.ts';

export interface MessageToSend {
  /** Derives from medium, tenant, kind and occasion. */
  id: string;
  tenantNo: number;
  userId: string;
  kind: MessageKind;
  /** Default: `email`. */
  medium?: Medium;
  /** When it fell due (epoch ms). */
  atMs: number;
  /** JSON text of the notification. */
  payload: string;
  /** Whether the user is in the control group, so that only the occasion is recorded. Default: false. */
  isWithheld?: boolean;
}

export interface WaitingMessage extends Omit<MessageToSend, 'medium' | 'isWithheld'> {
  medium: Medium;
  /** Attempts so far. */
  tries: number;
}

const NEW = columns<MessageToSend>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  kind: 'text',
  atMs: 'bigint',
  payload: 'text',
  medium: 'text',
  isWithheld: 'boolean',
});

/** Adds messages in the client's transaction. Those whose occasion is known stay unchanged. */
export async function addMessagesToSend(client: PoolClient, messages: readonly MessageToSend[]): Promise<void> {
  if (messages.length === 0) return;
  await client.query(
    `WITH added AS (
       INSERT INTO email_messages (id, tenant_no, user_id, kind, medium, at, status, payload, due_ms, finished)
       SELECT id, tenant_no, user_id, kind, medium, to_timestamp(at_ms / 1000.0),
              CASE WHEN is_withheld THEN 'withheld' ELSE 'waiting' END, CASE WHEN NOT is_withheld THEN payload END,
              CASE WHEN NOT is_withheld THEN at_ms END, CASE WHEN is_withheld THEN to_timestamp(at_ms / 1000.0) END
         FROM ${NEW.unnest('new')}
       ON CONFLICT DO NOTHING
       RETURNING tenant_no, kind, medium, at, CASE status WHEN 'withheld' THEN status ELSE 'due' END AS counted)
     ${countMessages('added')}`,
    NEW.arrays(messages.map((message) => ({ medium: 'email', isWithheld: false, ...message }))),
  );
}

/** A tenant's messages of a medium that are due by a time (epoch ms), longest due first. */
export async function messagesDue(
  pool: Pool,
  { tenantNo, medium, upToMs, limit }: { tenantNo: number; medium: Medium; upToMs: number; limit: number },
): Promise<WaitingMessage[]> {
  const { rows } = await pool.query<WaitingMessage>(
    `SELECT id, tenant_no AS "tenantNo", user_id AS "userId", kind, medium, epoch_ms(at)::float8 AS "atMs", payload,
            tries
       FROM email_messages WHERE tenant_no = $3 AND medium = $4 AND status = 'waiting' AND due_ms <= $1
      ORDER BY due_ms, id LIMIT $2`,
    [upToMs, limit, tenantNo, medium],
  );
  return rows;
}

export interface MessageClaim {
  message: WaitingMessage;
  nowMs: number;
  /** The user's local day (epoch day). */
  localDay: number;
  /** Maximum number of messages of the medium to a user on a local day. */
  mostPerDay: number;
}

/**
 * Claims a message for one attempt. `claimed`: the caller alone may hand it over, and only until it records the result.
 * `gone`: another process was faster, or the user was deleted. `limit`: the user already got as many today.
 */
export async function claimMessage(
  pool: Pool,
  { message: { id, tenantNo, userId, medium, tries }, nowMs, localDay, mostPerDay }: MessageClaim,
): Promise<'claimed' | 'gone' | 'limit'> {
  const { rows } = await pool.query<{ claim: 'claimed' | 'gone' | 'limit' }>({
    name: 'claim_message',
    text: 'SELECT claim_message($1, $2, $3, $4, $5, $6, $7, $8) AS claim',
    values: [id, tenantNo, storableText(userId), medium, localDay, mostPerDay, nowMs, tries],
  });
  return rows[0]!.claim;
}

/** What becomes of a message: its final status, or another attempt at `dueMs` (epoch ms). */
export type MessageEnd =
  | { status: 'sent' | 'failed' | 'dropped' | 'unknown'; reason: string | null }
  | { status: 'waiting'; reason: string; dueMs: number };

/**
 * Records what became of a message. `from`: its status before; false if it has another, because the attempt took so long
 * that it counts as unknown, or because the user was deleted.
 */
export async function recordMessage(
  pool: Pool,
  { id, from, end, nowMs }: { id: string; from: 'waiting' | 'sending'; end: MessageEnd; nowMs: number },
): Promise<boolean> {
  const dueMs = end.status === 'waiting' ? end.dueMs : null;
  const { rows } = await pool.query<{ ended: number }>(
    `WITH ended AS (
       UPDATE email_messages
          SET status = $3, reason = CASE WHEN feedback IS NULL THEN $4 ELSE reason END, due_ms = $5::bigint,
              payload = CASE WHEN $5::bigint IS NULL THEN NULL ELSE payload END,
              finished = CASE WHEN $5::bigint IS NULL THEN to_timestamp($6::float8 / 1000) END
        WHERE id = $1 AND status = $2
       RETURNING tenant_no, kind, medium, at, CASE status WHEN 'sent' THEN status END AS counted
     ), counted AS (${countMessages('ended')})
     SELECT count(*)::int AS ended FROM ended`,
    [id, from, end.status, end.reason === null ? null : storableText(end.reason), dueMs, nowMs],
  );
  return rows[0]!.ended === 1;
}

/** Ends attempts that began before a time and have no result: their process died, and nobody knows whether it sent. */
export async function endInterrupted(
  pool: Pool,
  { begunBeforeMs, nowMs }: { begunBeforeMs: number; nowMs: number },
): Promise<number> {
  const { rowCount } = await pool.query(
    `UPDATE email_messages
        SET status = 'unknown', reason = 'the process died before it recorded the result', payload = NULL,
            finished = to_timestamp($2::float8 / 1000)
      WHERE status = 'sending' AND begun_ms < $1`,
    [begunBeforeMs, nowMs],
  );
  return rowCount ?? 0;
}

/** Drops all messages of a tenant and medium that wait. Those in the hands of a process are still sent. */
export async function dropWaiting(
  client: PoolClient,
  { tenantNo, medium, reason, nowMs }: { tenantNo: number; medium: Medium; reason: string; nowMs: number },
): Promise<void> {
  await client.query(
    `UPDATE email_messages SET status = 'dropped', reason = $2, payload = NULL, due_ms = NULL,
            finished = to_timestamp($3::float8 / 1000)
      WHERE tenant_no = $1 AND medium = $4 AND status = 'waiting'`,
    [tenantNo, reason, nowMs, medium],
  );
}

/**
 * Drops messages of a kind that fell due before a time and still wait, because their tenant's channel is disabled or its
 * server does not answer. Returns how many.
 */
export async function dropLate(
  pool: Pool,
  { kind, beforeMs, nowMs }: { kind: MessageKind; beforeMs: number; nowMs: number },
): Promise<number> {
  const { rowCount } = await pool.query({
    name: 'drop_late',
    text: `UPDATE email_messages SET status = 'dropped', reason = 'too late', payload = NULL, due_ms = NULL,
            finished = to_timestamp($3::float8 / 1000)
      WHERE status = 'waiting' AND kind = $1 AND at < to_timestamp($2::float8 / 1000)`,
    values: [kind, beforeMs, nowMs],
  });
  return rowCount ?? 0;
}

/** Deletes up to `limit` messages of the log that got their final status before a time. Returns how many. */
export async function deleteFinishedMessages(
  pool: Pool,
  { beforeMs, limit }: { beforeMs: number; limit: number },
): Promise<number> {
  const { rowCount } = await pool.query(
    `DELETE FROM email_messages WHERE id IN (
       SELECT id FROM email_messages WHERE finished < to_timestamp($1::float8 / 1000) ORDER BY finished LIMIT $2)`,
    [beforeMs, limit],
  );
  return rowCount ?? 0;
}

/** Number of messages of each medium that wait, and how long the oldest has been due (ms). */
export async function waitingMessageCounts(
  pool: Pool,
  nowMs: number,
): Promise<Record<Medium, { count: number; oldestMs: number }>> {
  const { rows } = await pool.query<{ medium: Medium; count: number; oldestMs: number }>(
    `SELECT medium, count(*)::int AS count, greatest(0, coalesce($1 - min(epoch_ms(at)), 0))::float8 AS "oldestMs"
       FROM email_messages WHERE status = 'waiting' GROUP BY medium`,
    [nowMs],
  );
  const of = (medium: Medium) => rows.find((row) => row.medium === medium) ?? { count: 0, oldestMs: 0 };
  return { email: of('email'), push: of('push') };
}

export interface LoggedMessage {
  id: string;
  userId: string;
  kind: MessageKind;
  medium: Medium;
  status: MessageStatus;
  tries: number;
  reason: string | null;
  atMs: number;
  /** The next attempt (epoch ms); `null` if there is none. */
  dueMs: number | null;
  finished: Date | null;
  /** When the provider says that it arrived, bounced or was complained about (epoch ms). */
  reportedMs: number | null;
  /** When the user first did it (epoch ms); `null`: not, or nobody looks. */
  openedMs: number | null;
  clickedMs: number | null;
  unsubscribedMs: number | null;
}

export interface MessageLogQuery {
  tenantNo: number;
  limit: number;
  /** The last message of the previous page. */
  before: { atMs: number; id: string } | null;
  status: LoggedMessage['status'] | null;
  kind: MessageKind | null;
  medium: Medium | null;
  userId: string | null;
}

/** The status in the log: the last step of a message that was handed over. Bounces for good and complaints come after all others. */
const STATUS = `CASE WHEN status NOT IN ('sending', 'sent', 'unknown') THEN status
  WHEN coalesce(feedback, 0) <= ${WEIGHTS.delivered} AND unsubscribed_ms IS NOT NULL THEN 'unsubscribed'
  WHEN coalesce(feedback, 0) <= ${WEIGHTS.delivered} AND clicked_ms IS NOT NULL THEN 'clicked'
  WHEN coalesce(feedback, 0) <= ${WEIGHTS.delivered} AND opened_ms IS NOT NULL THEN 'opened'
  WHEN feedback IS NULL THEN status
  WHEN medium = 'push' AND feedback = ${WEIGHTS.bouncedForNow} THEN 'failed'
  ELSE ('{${FEEDBACK_STATUSES.join(',')}}'::text[])[feedback] END`;

/** A page of a tenant's messages, newest first. An index has the order; other filters than the user skip rows. */
export async function listLoggedMessages(pool: Pool, query: MessageLogQuery): Promise<LoggedMessage[]> {
  const { tenantNo, limit, before, status, kind, medium, userId } = query;
  const { rows } = await pool.query<LoggedMessage>(
    `SELECT id, user_id AS "userId", kind, medium, ${STATUS} AS status, tries, reason, epoch_ms(at)::float8 AS "atMs",
            due_ms::float8 AS "dueMs", finished, feedback_ms::float8 AS "reportedMs", opened_ms::float8 AS "openedMs",
            clicked_ms::float8 AS "clickedMs", unsubscribed_ms::float8 AS "unsubscribedMs"
       FROM email_messages
      WHERE tenant_no = $1 AND ($3::text IS NULL OR ${STATUS} = $3) AND ($4::text IS NULL OR kind = $4)
        AND ($5::text IS NULL OR user_id = $5) AND ($6::text IS NULL OR medium = $6)
        ${before === null ? '' : 'AND (at, id) < (to_timestamp($7::bigint / 1000.0), $8::uuid)'}
      ORDER BY at DESC, id DESC LIMIT $2`,
    [
      tenantNo,
      limit,
      status,
      kind,
      userId === null ? null : storableText(userId),
      medium,
      ...(before === null ? [] : [before.atMs, before.id]),
    ],
  );
  return rows;
}
