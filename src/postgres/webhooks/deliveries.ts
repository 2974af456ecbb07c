import type { Pool, PoolClient } from 'pg';
import { epochDay } from '../../domain/periods.ts';
import { addJob, deleteOldJobs, type Job, latestJobs } from '../jobs.ts';
import { storableText } from '../storable-json.ts';
import { LANE } from './messages.ts';

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

/** SQL: messages of a tenant about deleted users that a job has yet to delete (`row-removals.ts`). Usually none. */
const listedForDeletion = (tenantNo: string): string => `
  SELECT unnest(ids) FROM rows_to_delete AS listed
   WHERE rows_of = 'webhook_messages' AND (SELECT tenant_no FROM jobs WHERE no = listed.job_no) = ${tenantNo}`;

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
        AND ${status === 'pending' ? 'webhook_queue' : 'message'}.id NOT IN (${listedForDeletion('$2')})
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
      epochDay(fromMs ?? 0),
      toMs === null ? NO_DAY : epochDay(toMs),
    ],
  );
  return rows;
}

export async function readDelivery(
  client: Pool | PoolClient,
  { webhookId, id }: { webhookId: string; id: string },
): Promise<WholeDeliveryRow | null> {
  const { rows } = await client.query<WholeDeliveryRow>(
    `SELECT ${WHOLE} ${LOGGED} WHERE message.id = $1 AND webhook_id = $2 AND message.id NOT IN (${listedForDeletion('message.tenant_no')})`,
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
export async function readWebhookState(pool: Pool, webhookId: string, enabled: boolean): Promise<WebhookStateRow> {
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

/** A webhook whose messages do not arrive as they should. */
export interface TroubledWebhook {
  id: string;
  name: string;
  /** The first that applies: disabled by Laurel, its queue is full, it keeps failing, its oldest message is late. */
  trouble: 'disabled' | 'full' | 'failing' | 'late';
  pending: number;
  /** When it was disabled, began to fail, or the oldest pending message was created. */
  since: Date | null;
  /** Why Laurel disabled it. */
  reason: string | null;
}

interface TroubleQuery {
  tenantNo: number;
  /** From this number of failed tries in a row on, a webhook is failing. */
  failures: number;
  /** A pending message that was created before this time (epoch ms) is late. */
  lateBeforeMs: number;
  /** Pending messages are counted up to this number. */
  most: number;
}

/** A tenant's webhooks that need an administrator, by name. The oldest message is the one with the smallest sequence. */
export async function troubledWebhooks(
  pool: Pool,
  { tenantNo, failures, lateBeforeMs, most }: TroubleQuery,
): Promise<TroubledWebhook[]> {
  const { rows } = await pool.query<TroubledWebhook>(
    `SELECT id, name, trouble, reason, since,
            (SELECT count(*)::int FROM (
               SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = troubled.id LIMIT $4) AS counted) AS pending
       FROM (SELECT resource.id, resource.doc ->> 'name' AS name,
                    CASE WHEN NOT enabled THEN 'disabled'
                         WHEN is_full THEN 'full'
                         WHEN failures >= $2 THEN 'failing'
                         ELSE 'late' END AS trouble,
                    CASE WHEN NOT enabled THEN disabled_reason END AS reason,
                    CASE WHEN NOT enabled THEN disabled_at
                         WHEN failures >= $2 AND NOT is_full THEN failing_since
                         ELSE oldest END AS since
               FROM catalog_resources AS resource
               JOIN webhook_state AS state ON state.webhook_id = resource.id
              CROSS JOIN LATERAL (SELECT (resource.doc ->> 'enabled')::boolean AS enabled) AS own
               LEFT JOIN LATERAL (
                    SELECT created AS oldest FROM webhook_queue AS queued
                     WHERE queued.webhook_id = state.webhook_id ORDER BY sequence LIMIT 1) AS queue ON true
              WHERE resource.tenant_no = $1 AND resource.kind = 'webhook' AND resource.deleted IS NULL
                AND CASE WHEN enabled THEN is_full OR failures >= $2 OR oldest < to_timestamp($3::float8 / 1000)
                         ELSE disabled_reason IS NOT NULL END) AS troubled
      ORDER BY array_position(ARRAY['disabled', 'full', 'failing', 'late'], trouble), name`,
    [tenantNo, failures, lateBeforeMs, most],
  );
  return rows;
}

/** Marks a message in the log as a test, in the transaction that creates it. */
export async function markTest(client: PoolClient, id: string): Promise<void> {
  await client.query('UPDATE webhook_messages SET test = true WHERE id = $1', [id]);
}

/**
 * SQL: queues the messages of a query `chosen` (day, id, webhook_id, sequence, tenant_no, user_id, created) with the tries
 * of a new message. Messages already in the queue become due immediately. A message keeps its ID and sequence, so that a
 * receiver recognises duplicates and outdated messages.
 * `now`: the parameter with Laurel's time, epoch ms.
 */
const queueChosen = (now: string): string => `
  queued AS (
    INSERT INTO webhook_queue AS waiting (webhook_id, sequence, day, id, lane, due_ms, created)
    SELECT webhook_id, sequence, day, id, ${LANE}, ${now}::bigint, created FROM chosen ORDER BY sequence
    ON CONFLICT (webhook_id, sequence) DO UPDATE SET due_ms = least(waiting.due_ms, excluded.due_ms)
  ), marked AS (
    UPDATE webhook_messages AS message
       SET status = 'pending', failed = false, reason = NULL, finished = NULL
      FROM chosen WHERE message.id = chosen.id AND message.day = chosen.day AND message.status <> 'pending'
  )`;

const QUEUE_COLUMNS = 'day, id, webhook_id, sequence, tenant_no, user_id, created';

/** Returns a message of a webhook's log to the queue if it still exists. Idempotent while it waits. */
export async function requeueMessage(
  client: PoolClient,
  { webhookId, id, sequence, nowMs }: { webhookId: string; id: string; sequence: number; nowMs: number },
): Promise<void> {
  // A try may just be ending. The lock waits until its outcome is known.
  await client.query('SELECT FROM webhook_queue WHERE webhook_id = $1 AND sequence = $2 FOR UPDATE', [
    webhookId,
    sequence,
  ]);
  await client.query(
    `WITH chosen AS MATERIALIZED (
       SELECT ${QUEUE_COLUMNS} FROM webhook_messages WHERE id = $2 AND webhook_id = $3
     ), ${queueChosen('$1')}
     SELECT FROM chosen`,
    [nowMs, id, webhookId],
  );
}

/** Selects messages of a webhook's log: created from `fromMs` (inclusive) to `toMs` (exclusive), epoch ms; `null` for no bound. */
interface MessageSelection {
  webhookId: string;
  status: 'failed' | 'delivered';
  /** `null` for all types. */
  types: string[] | null;
  fromMs: number | null;
  toMs: number | null;
}

const SELECTED = `
  webhook_id = $1 AND sequence > $2 AND sequence <= $3
    AND status = $4 AND ($4 <> 'failed' OR failed) AND ($5::text[] IS NULL OR type = ANY ($5))
    AND ($6::float8 IS NULL OR created >= to_timestamp($6 / 1000))
    AND ($7::float8 IS NULL OR created < to_timestamp($7 / 1000))`;

/** A range of sequences in the log: first exclusive, last inclusive. */
interface Stretch {
  after: string;
  upTo: string;
}

const valuesOf = (
  { webhookId, status, types, fromMs, toMs }: MessageSelection,
  { after, upTo }: Stretch,
): unknown[] => [webhookId, after, upTo, status, types, fromMs, toMs];

/** Queues the first `most` selected messages of a range. Returns their number and the last sequence. */
export async function requeueSome(
  client: PoolClient,
  { selection, stretch, nowMs, most }: { selection: MessageSelection; stretch: Stretch; nowMs: number; most: number },
): Promise<{ queued: number; last: string | null }> {
  const { rows } = await client.query<{ queued: number; last: string | null }>(
    `WITH chosen AS MATERIALIZED (
       SELECT ${QUEUE_COLUMNS} FROM webhook_messages WHERE ${SELECTED} ORDER BY sequence LIMIT $8
     ), ${queueChosen('$9')}
     SELECT count(*)::int AS queued, max(sequence)::text AS last FROM chosen`,
    [...valuesOf(selection, stretch), most, nowMs],
  );
  return rows[0]!;
}

export async function countSelected(
  client: PoolClient,
  selection: MessageSelection,
  stretch: Stretch,
): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*)::float8 AS count FROM webhook_messages WHERE ${SELECTED}`,
    valuesOf(selection, stretch),
  );
  return rows[0]!.count;
}

/** A job that resends messages of its subject, a webhook. Its cursor is the sequence of the last message queued. */
export type Resend = Job<Omit<MessageSelection, 'webhookId'> & { lastSequence: string }> & { subjectId: string };

/** How long finished resends are shown. */
const SHOWN_DAYS = 30;

/** Adds a job that resends messages now in the log. `nowMs`: Laurel's time. */
export async function addResend(
  client: PoolClient,
  resend: { tenantNo: number; selection: MessageSelection; requestedBy: string; nowMs: number },
): Promise<Resend> {
  const { tenantNo, requestedBy, nowMs } = resend;
  const { webhookId, ...selection } = resend.selection;
  await deleteOldJobs(client, { kind: 'webhook_resend', days: SHOWN_DAYS, nowMs });
  const { rows } = await client.query<{ lastSequence: string }>(
    'SELECT last_value::text AS "lastSequence" FROM webhook_sequences',
  );
  const parameters = { ...selection, ...rows[0]! };
  const job = { kind: 'webhook_resend', tenantNo, subjectId: webhookId, parameters, requestedBy, nowMs } as const;
  return (await addJob(client, job)) as Resend;
}

export const listResends = (pool: Pool, tenantNo: number, webhookId: string): Promise<Resend[]> =>
  latestJobs(pool, { kind: 'webhook_resend', tenantNo, subjectId: webhookId });

export async function hasRoom(pool: Pool, webhookId: string, room: number): Promise<boolean> {
  const { rows } = await pool.query<{ waiting: number }>(
    'SELECT count(*)::int AS waiting FROM (SELECT FROM webhook_queue WHERE webhook_id = $1 LIMIT $2) AS first',
    [webhookId, room],
  );
  return rows[0]!.waiting < room;
}
