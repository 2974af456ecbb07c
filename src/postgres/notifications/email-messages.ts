/** The e-mails that Laurel sends itself: those that wait, and the log of the others. */
import type { Pool, PoolClient } from 'pg';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { storableText } from '../storable-json.ts';
import { transaction } from '../transaction.ts';

export interface NewEmail {
  /** Derives from tenant, kind and occasion. */
  id: string;
  tenantNo: number;
  userId: string;
  kind: MessageKind;
  /** When it fell due (epoch ms). */
  atMs: number;
  /** JSON text of the notification. */
  payload: string;
}

export interface DueEmail extends NewEmail {
  /** Attempts so far. */
  tries: number;
}

/** Adds e-mails in the client's transaction. Those whose occasion is known stay unchanged. */
export async function insertEmails(client: PoolClient, emails: readonly NewEmail[]): Promise<void> {
  if (emails.length === 0) return;
  await client.query(
    `INSERT INTO email_messages (id, tenant_no, user_id, kind, at, status, payload, due_ms)
     SELECT id, tenant_no, user_id, kind, to_timestamp(at_ms / 1000.0), 'waiting', payload, at_ms
       FROM unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[])
         AS new (id, tenant_no, user_id, kind, at_ms, payload)
     ON CONFLICT DO NOTHING`,
    [
      emails.map(({ id }) => id),
      emails.map(({ tenantNo }) => tenantNo),
      emails.map(({ userId }) => storableText(userId)),
      emails.map(({ kind }) => kind),
      emails.map(({ atMs }) => atMs),
      emails.map(({ payload }) => storableText(payload)),
    ],
  );
}

/** E-mails that are due by a time (epoch ms), longest due first. */
export async function dueEmails(pool: Pool, upToMs: number, limit: number): Promise<DueEmail[]> {
  const { rows } = await pool.query<DueEmail>(
    `SELECT id, tenant_no AS "tenantNo", user_id AS "userId", kind, epoch_ms(at)::float8 AS "atMs", payload, tries
       FROM email_messages WHERE status = 'waiting' AND due_ms <= $1 ORDER BY due_ms, id LIMIT $2`,
    [upToMs, limit],
  );
  return rows;
}

export interface EmailClaim {
  email: DueEmail;
  nowMs: number;
  /** The user's local day (epoch day). */
  localDay: number;
  /** Maximum number of e-mails to a user on a local day. */
  mostPerDay: number;
}

/**
 * Claims an e-mail for one attempt. `claimed`: the caller alone may hand it over, and only until it records the result.
 * `gone`: another process was faster, or the user was deleted. `limit`: the user already got as many today.
 */
export function claimEmail(
  pool: Pool,
  { email: { id, tenantNo, userId, tries }, nowMs, localDay, mostPerDay }: EmailClaim,
): Promise<'claimed' | 'gone' | 'limit'> {
  return transaction(pool, async (client) => {
    // Two claims of one user count one after the other.
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [tenantNo, storableText(userId)]);
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM email_messages
        WHERE tenant_no = $1 AND user_id = $2 AND local_day = $3 AND id <> $4 AND status IN ('sending', 'sent', 'unknown')`,
      [tenantNo, storableText(userId), localDay, id],
    );
    if (rows[0]!.count >= mostPerDay) return 'limit';
    const { rowCount } = await client.query(
      `UPDATE email_messages SET status = 'sending', tries = tries + 1, due_ms = NULL, begun_ms = $2, local_day = $3
        WHERE id = $1 AND status = 'waiting' AND tries = $4`,
      [id, nowMs, localDay, tries],
    );
    return rowCount === 1 ? 'claimed' : 'gone';
  });
}

/** What becomes of an e-mail: its final status, or another attempt at `dueMs` (epoch ms). */
export type EmailEnd =
  | { status: 'sent' | 'failed' | 'dropped' | 'unknown'; reason: string | null }
  | { status: 'waiting'; reason: string; dueMs: number };

/**
 * Records what became of an e-mail. `from`: its status before; false if it has another, because the attempt took so long
 * that it counts as unknown, or because the user was deleted.
 */
export async function recordEmail(
  pool: Pool,
  { id, from, end, nowMs }: { id: string; from: 'waiting' | 'sending'; end: EmailEnd; nowMs: number },
): Promise<boolean> {
  const dueMs = end.status === 'waiting' ? end.dueMs : null;
  const { rowCount } = await pool.query(
    `UPDATE email_messages
        SET status = $3, reason = $4, due_ms = $5::bigint,
            payload = CASE WHEN $5::bigint IS NULL THEN NULL ELSE payload END,
            finished = CASE WHEN $5::bigint IS NULL THEN to_timestamp($6::float8 / 1000) END
      WHERE id = $1 AND status = $2`,
    [id, from, end.status, end.reason === null ? null : storableText(end.reason), dueMs, nowMs],
  );
  return rowCount === 1;
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
