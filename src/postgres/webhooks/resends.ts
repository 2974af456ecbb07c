import type { Pool, PoolClient } from 'pg';
import type { MessageSelection } from './requeue.ts';

/** A resend as it is stored. */
export interface Resend extends MessageSelection {
  id: string;
  tenantNo: number;
  /** Looked through up to this sequence, of those up to `lastSequence`. */
  afterSequence: string;
  lastSequence: string;
  resent: number;
  /** Null: not counted yet. */
  total: number | null;
  requested: Date;
  finished: Date | null;
}

const COLUMNS = `
  id, webhook_id AS "webhookId", tenant_no AS "tenantNo", from_ms::float8 AS "fromMs", to_ms::float8 AS "toMs", status, types,
  after_sequence::text AS "afterSequence", last_sequence::text AS "lastSequence", resent::float8, total::float8, requested, finished`;

/** Days that a finished one is shown. */
const SHOWN_DAYS = 30;
const MOST_SHOWN = 100;

/** Notes that messages which are in the log now are to be sent again. `nowMs`: Laurel's time. */
export async function insertResend(
  client: PoolClient,
  { id, tenantNo, selection, nowMs }: { id: string; tenantNo: number; selection: MessageSelection; nowMs: number },
): Promise<void> {
  const { webhookId, fromMs, toMs, status, types } = selection;
  await client.query(
    `INSERT INTO webhook_resends (id, webhook_id, tenant_no, from_ms, to_ms, status, types, last_sequence, requested)
     SELECT $1, $2, $3, $4, $5, $6, $7, last_value, to_timestamp($8::float8 / 1000) FROM webhook_sequences`,
    [id, webhookId, tenantNo, fromMs, toMs, status, types, nowMs],
  );
  await client.query(
    `DELETE FROM webhook_resends WHERE finished < to_timestamp($1::float8 / 1000) - make_interval(days => $2)`,
    [nowMs, SHOWN_DAYS],
  );
}

/** The latest resends of a webhook, newest first. */
export async function listResends(pool: Pool, webhookId: string): Promise<Resend[]> {
  const { rows } = await pool.query<Resend>(
    `SELECT ${COLUMNS} FROM webhook_resends WHERE webhook_id = $1 ORDER BY requested DESC, id DESC LIMIT $2`,
    [webhookId, MOST_SHOWN],
  );
  return rows;
}

/** How many resends of a webhook are not finished. */
export async function openResends(client: PoolClient, webhookId: string): Promise<number> {
  const { rows } = await client.query<{ open: number }>(
    'SELECT count(*)::int AS open FROM webhook_resends WHERE webhook_id = $1 AND finished IS NULL',
    [webhookId],
  );
  return rows[0]!.open;
}

/** The IDs of the resends that are not finished, oldest first, with whether fewer messages than `room` wait for their webhook. */
export async function unfinishedResends(pool: Pool, room: number): Promise<{ id: string; hasRoom: boolean }[]> {
  const { rows } = await pool.query<{ id: string; hasRoom: boolean }>(
    `SELECT id, (SELECT count(*) FROM (SELECT FROM webhook_queue AS waiting
                                        WHERE waiting.webhook_id = resend.webhook_id LIMIT $1) AS first) < $1 AS "hasRoom"
       FROM webhook_resends AS resend WHERE finished IS NULL ORDER BY requested, id`,
    [room],
  );
  return rows;
}

/** Locks one that is not finished; null: it is, or another process works on it. */
export async function lockResend(client: PoolClient, id: string): Promise<Resend | null> {
  const { rows } = await client.query<Resend>(
    `SELECT ${COLUMNS} FROM webhook_resends WHERE id = $1 AND finished IS NULL FOR UPDATE SKIP LOCKED`,
    [id],
  );
  return rows[0] ?? null;
}

/** Notes how far one is: `finished`, or looked through up to a sequence. */
export async function noteResend(
  client: PoolClient,
  {
    id,
    ...done
  }: { id: string; afterSequence: string; resent: number; total: number | null; finishedMs: number | null },
): Promise<void> {
  await client.query(
    `UPDATE webhook_resends
        SET after_sequence = $2, resent = $3, total = $4, finished = to_timestamp($5::float8 / 1000) WHERE id = $1`,
    [id, done.afterSequence, done.resent, done.total, done.finishedMs],
  );
}
