import type { Pool, PoolClient } from 'pg';
import { addJob, deleteOldJobs, type Job, latestJobs } from '../jobs.ts';
import { LANE } from './messages.ts';

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

const COLUMNS = 'day, id, webhook_id, sequence, tenant_no, user_id, created';

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
       SELECT ${COLUMNS} FROM webhook_messages WHERE id = $2 AND webhook_id = $3
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
       SELECT ${COLUMNS} FROM webhook_messages WHERE ${SELECTED} ORDER BY sequence LIMIT $8
     ), ${queueChosen('$9')}
     SELECT count(*)::int AS queued, max(sequence)::text AS last FROM chosen`,
    [...valuesOf(selection, stretch), most, nowMs],
  );
  return rows[0]!;
}

export async function countSelected(
  client: PoolClient,
  { selection, stretch }: { selection: MessageSelection; stretch: Stretch },
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
  {
    tenantNo,
    selection: { webhookId, ...selection },
    requestedBy,
    nowMs,
  }: { tenantNo: number; selection: MessageSelection; requestedBy: string; nowMs: number },
): Promise<Resend> {
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
