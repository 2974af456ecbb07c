import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { storableText } from '../storable-json.ts';

export interface DeliveryRow {
  id: string;
  type: string;
  userId: string | null;
  sequence: number;
  status: 'pending' | 'delivered' | 'failed';
  test: boolean;
  tries: number;
  lastStatus: number | null;
  reason: string | null;
  at: Date;
  created: Date;
  /** Next try (epoch ms); `null` if it is not waiting. */
  nextTryMs: number | null;
  finished: Date | null;
}

/** Includes the payload (JSON text) and the tries, oldest first; `at` of a try in epoch ms. */
export interface WholeDeliveryRow extends DeliveryRow {
  payload: string;
  attempts: { at: number; durationMs: number; status: number | null; error: string | null; answer: string | null }[];
}

export interface DeliveriesQuery {
  tenantNo: number;
  webhookId: string;
  limit: number;
  before: string | null;
  status: DeliveryRow['status'] | null;
  type: string | null;
  userId: string | null;
  /** Created at or after this time (epoch ms). */
  fromMs: number | null;
  toMs: number | null;
}

// Joined only for the returned rows.
const COLUMNS = `
  message.id, type, user_id AS "userId", message.sequence::float8, status, test, jsonb_array_length(message.tries) AS tries,
  (message.tries -> -1 ->> 'status')::int AS "lastStatus", reason, at, message.created, finished,
  (SELECT greatest(due_ms, floor(extract(epoch FROM message.created) * 1000))::float8 FROM webhook_queue AS waiting
    WHERE waiting.webhook_id = message.webhook_id AND waiting.sequence = message.sequence) AS "nextTryMs"`;
const WHOLE = `${COLUMNS}, payload, message.tries AS attempts`;

const LOGGED = 'FROM webhook_messages AS message';

/** Waiting messages are few, so the queue is read instead of searching the log for them. */
const QUEUED = 'FROM webhook_queue JOIN webhook_messages AS message USING (webhook_id, sequence, day, id)';

/** Later than any day. */
const NO_DAY = 2 ** 31 - 1;

/**
 * A page of a webhook's log, newest first. An index provides the order, overall and for waiting or failed messages and those
 * about a user. With a filter on the type or on `delivered`, it skips the rows in between.
 */
export async function listDeliveries(pool: Pool, query: DeliveriesQuery): Promise<DeliveryRow[]> {
  const { tenantNo, webhookId, limit, before, status, type, userId, fromMs, toMs } = query;
  const { rows } = await pool.query<DeliveryRow>(
    `SELECT ${COLUMNS} ${status === 'pending' ? QUEUED : LOGGED}
      WHERE webhook_id = $1 AND tenant_no = $2 AND ($3::bigint IS NULL OR sequence < $3)
        AND ($4::text IS NULL OR status = $4) AND ($4 IS DISTINCT FROM 'failed' OR failed)
        AND ($5::text IS NULL OR type = $5) AND ($6::text IS NULL OR user_id = $6)
        AND ($7::float8 IS NULL OR message.created >= to_timestamp($7 / 1000))
        AND ($8::float8 IS NULL OR message.created < to_timestamp($8 / 1000)) AND message.day BETWEEN $10 AND $11
      ORDER BY message.sequence DESC LIMIT $9`,
    [
      webhookId,
      tenantNo,
      before,
      status,
      type,
      userId && storableText(userId),
      fromMs,
      toMs,
      limit,
      Math.floor((fromMs ?? 0) / DAY_MS),
      toMs === null ? NO_DAY : Math.floor(toMs / DAY_MS),
    ],
  );
  return rows;
}

export async function readDelivery(
  client: Pool | PoolClient,
  { webhookId, id }: { webhookId: string; id: string },
): Promise<WholeDeliveryRow | null> {
  const { rows } = await client.query<WholeDeliveryRow>(
    `SELECT ${WHOLE} ${LOGGED} WHERE message.id = $1 AND webhook_id = $2`,
    [id, webhookId],
  );
  return rows[0] ?? null;
}

export interface WebhookStateRow {
  waiting: number;
  oldest: Date | null;
  full: boolean;
  /** Failed tries since the last successful one, and the time of the first. */
  failures: number;
  failingSince: Date | null;
  /** When the circuit breaker closes (real time); `null` if it is closed. */
  pausedUntil: Date | null;
  /** Why and when Laurel disabled it; `null` if it is enabled, or an administrator disabled it. */
  disabledReason: string | null;
  disabledAt: Date | null;
}

/** A webhook's status. A webhook without any message is healthy. Reads the index of its queue. */
export async function readWebhookState(
  pool: Pool,
  { webhookId, enabled }: { webhookId: string; enabled: boolean },
): Promise<WebhookStateRow> {
  const { rows } = await pool.query<WebhookStateRow>(
    `SELECT waiting, oldest, coalesce(is_full, false) AS full, coalesce(failures, 0) AS failures,
            failing_since AS "failingSince",
            CASE WHEN open_until > clock_timestamp() THEN open_until END AS "pausedUntil",
            CASE WHEN NOT $2 THEN disabled_reason END AS "disabledReason",
            CASE WHEN NOT $2 THEN disabled_at END AS "disabledAt"
       FROM (SELECT count(*)::int AS waiting, min(created) AS oldest FROM webhook_queue WHERE webhook_id = $1) AS queued
       LEFT JOIN webhook_state ON webhook_id = $1`,
    [webhookId, enabled],
  );
  return rows[0]!;
}

/** Marks a message in the log as a test, in the transaction that creates it. */
export async function markTest(client: PoolClient, id: string): Promise<void> {
  await client.query('UPDATE webhook_messages SET test = true WHERE id = $1', [id]);
}
