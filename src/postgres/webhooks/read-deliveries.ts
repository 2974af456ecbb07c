import type { Pool, PoolClient } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { storableText } from '../storable-json.ts';

/** A message of a webhook's log. */
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
  /** When it is tried next, epoch ms; null: it does not wait. */
  nextTryMs: number | null;
  finished: Date | null;
}

/** The same with its payload (JSON text) and its tries, oldest first; `at` of a try in epoch ms. */
export interface WholeDeliveryRow extends DeliveryRow {
  payload: string;
  attempts: { at: number; durationMs: number; status: number | null; error: string | null; answer: string | null }[];
}

export interface DeliveriesQuery {
  tenantNo: number;
  webhookId: string;
  limit: number;
  /** Only those of smaller sequences. */
  before: string | null;
  status: DeliveryRow['status'] | null;
  type: string | null;
  userId: string | null;
  /** Made from this time on (epoch ms). */
  fromMs: number | null;
  /** Made before it. */
  toMs: number | null;
}

// The queue is looked into for the rows that are answered only.
const COLUMNS = `
  message.id, type, user_id AS "userId", message.sequence::float8, status, test, jsonb_array_length(message.tries) AS tries,
  (message.tries -> -1 ->> 'status')::int AS "lastStatus", reason, at, message.created, finished,
  (SELECT greatest(due_ms, floor(extract(epoch FROM message.created) * 1000))::float8 FROM webhook_queue AS waiting
    WHERE waiting.webhook_id = message.webhook_id AND waiting.sequence = message.sequence) AS "nextTryMs"`;
const WHOLE = `${COLUMNS}, payload, message.tries AS attempts`;

const LOGGED = 'FROM webhook_messages AS message';

/** What waits: few of many, which the log would have to be searched for. */
const QUEUED = 'FROM webhook_queue JOIN webhook_messages AS message USING (webhook_id, sequence, day, id)';

/** Later than any day. */
const NO_DAY = 2 ** 31 - 1;

/**
 * Some messages of a webhook's log, newest first. Cost: an index gives them in their order, or those that wait, failed or are about
 * the user; for a type, or the state `delivered`, it reads over the others in between.
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

/** One message of a webhook's log; null: there is none, or none any more. */
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
