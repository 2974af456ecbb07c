import type { PoolClient } from 'pg';
import { LANE } from './lane.ts';

/**
 * Queues what a query `chosen` names (day, id, webhook_id, sequence, tenant_no, user_id, created), with the tries of a
 * message that is new. What waits already is due at once. A message keeps its ID and its sequence, so that a receiver
 * knows what it had and what is older than what it had. `now`: the parameter with Laurel's time, epoch ms.
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

/** Puts a message of a webhook's log into the queue again, if it is still there. Idempotent while it waits. */
export async function requeueMessage(
  client: PoolClient,
  { webhookId, id, sequence, nowMs }: { webhookId: string; id: string; sequence: number; nowMs: number },
): Promise<void> {
  // A try of it may end just now: what becomes of the message is known when its row of the queue is free.
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

/** Which messages of a webhook's log: those made from `fromMs` on and before `toMs` (epoch ms; null: no bound). */
export interface MessageSelection {
  webhookId: string;
  status: 'failed' | 'delivered';
  /** Null: of all. */
  types: string[] | null;
  fromMs: number | null;
  toMs: number | null;
}

const SELECTED = `
  webhook_id = $1 AND sequence > $2 AND sequence <= $3
    AND status = $4 AND ($4 <> 'failed' OR failed) AND ($5::text[] IS NULL OR type = ANY ($5))
    AND ($6::float8 IS NULL OR created >= to_timestamp($6 / 1000))
    AND ($7::float8 IS NULL OR created < to_timestamp($7 / 1000))`;

/** A stretch of the log, by sequences: after one, up to another. */
export interface Stretch {
  after: string;
  upTo: string;
}

const valuesOf = (
  { webhookId, status, types, fromMs, toMs }: MessageSelection,
  { after, upTo }: Stretch,
): unknown[] => [webhookId, after, upTo, status, types, fromMs, toMs];

/** Queues the first messages of a stretch that are selected, `most` of them; how many, and the sequence of the last. */
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

/** How many messages of a stretch are selected. */
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
