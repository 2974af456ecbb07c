import type { Pool } from 'pg';
import { storableJson } from '../storable-json.ts';
import { transaction } from '../transaction.ts';

/** A request for messages by the holder of a webhook's lease. */
export interface Wanted {
  webhookId: string;
  most: number;
  /** Lanes from which it already has messages. */
  exceptLanes: readonly number[];
}

export interface DueMessage {
  webhookId: string;
  sequence: number;
  day: number;
  id: string;
  lane: number;
  tries: number;
  /** `null` if the message has left the log. */
  payload: string | null;
}

/** Takes a quarter as many retries as first tries, so that neither blocks the other. */
const TAKE = `
  SELECT wanted.webhook_id AS "webhookId", due.sequence, due.day, due.id, due.lane, due.tries, message.payload
    FROM json_to_recordset($1) AS wanted (webhook_id uuid, most integer, lanes integer[])
   CROSS JOIN LATERAL (
           (SELECT sequence, day, id, lane, tries FROM webhook_queue AS queued
             WHERE queued.webhook_id = wanted.webhook_id AND due_ms = 0 AND lane <> ALL (lanes)
             ORDER BY sequence LIMIT most)
           UNION ALL
           (SELECT sequence, day, id, lane, tries FROM webhook_queue AS queued
             WHERE queued.webhook_id = wanted.webhook_id AND due_ms > 0 AND due_ms <= $2 AND lane <> ALL (lanes)
             ORDER BY due_ms, sequence LIMIT (most + 3) / 4)) AS due
    LEFT JOIN webhook_messages AS message ON message.id = due.id AND message.day = due.day
   ORDER BY due.sequence`;

/**
 * Due messages of webhooks, ordered by sequence. They stay in the queue until a try is recorded, so only the holder of a
 * webhook's lease may call this. Skips lanes in `exceptLanes`; of other lanes, returns the first messages without gaps.
 * @param nowMs the time of Laurel's clock
 */
export async function takeMessages(pool: Pool, wanted: readonly Wanted[], nowMs: number): Promise<DueMessage[]> {
  const json = wanted.map(({ webhookId, most, exceptLanes }) => ({ webhook_id: webhookId, most, lanes: exceptLanes }));
  const { rows } = await pool.query<DueMessage>(TAKE, [JSON.stringify(json), nowMs]);
  return rows;
}

interface LoggedTry {
  /** When it began (epoch ms, real time). */
  at: number;
  durationMs: number;
  /** `null` if no answer arrived. */
  status: number | null;
  error: string | null;
  answer: string | null;
}

export interface RecordedTry {
  webhookId: string;
  sequence: number;
  day: number;
  id: string;
  logged: LoggedTry | null;
  delivered: boolean;
  /** When to send it again (epoch ms, Laurel's clock); `null` if not. */
  dueMs: number | null;
}

export interface WebhookHealth {
  webhookId: string;
  failures: number;
  failingSinceMs: number | null;
  /** How long the circuit breaker stays open; 0 if it is closed. */
  openMs: number;
}

/**
 * Losing these rows in a crash of Postgres only causes another try, so the commit does not wait for the disk. Forces lookups by key,
 * regardless of the planner's estimates.
 */
const SETTINGS =
  'SET LOCAL synchronous_commit = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off';

const RECORD = `
  WITH tried AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::uuid[], $5::jsonb[], $6::boolean[], $7::float8[])
      AS tried (webhook_id, sequence, day, id, logged, delivered, due_ms)
  ), done AS (
    DELETE FROM webhook_queue AS queued USING tried
     WHERE queued.webhook_id = tried.webhook_id AND queued.sequence = tried.sequence AND tried.due_ms IS NULL
    RETURNING queued.webhook_id, queued.sequence
  ), again AS (
    UPDATE webhook_queue AS queued SET due_ms = tried.due_ms, tries = tries + 1 FROM tried
     WHERE queued.webhook_id = tried.webhook_id AND queued.sequence = tried.sequence AND tried.due_ms IS NOT NULL
    RETURNING queued.webhook_id, queued.sequence
  ), outcome AS (
    SELECT tried.*, CASE WHEN due_ms IS NOT NULL THEN 'pending' WHEN delivered THEN 'delivered' ELSE 'failed' END AS status,
           (webhook_id, sequence) IN (SELECT * FROM done UNION ALL SELECT * FROM again) AS was_queued
      FROM tried
  )
  UPDATE webhook_messages AS message
     SET tries = message.tries || coalesce(logged, '[]'),
         status = CASE WHEN was_queued THEN outcome.status ELSE message.status END,
         failed = CASE WHEN was_queued THEN outcome.status = 'failed' ELSE failed END,
         finished = CASE WHEN NOT was_queued THEN finished WHEN due_ms IS NULL THEN to_timestamp($8::float8 / 1000) END
    FROM outcome WHERE message.id = outcome.id AND message.day = outcome.day`;

const NOTE_HEALTH = `
  UPDATE webhook_state AS state
     SET failures = health.failures, failing_since = to_timestamp(since_ms / 1000),
         open_until = CASE WHEN open_ms > 0 THEN clock_timestamp() + make_interval(secs => open_ms / 1000) END
    FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::float8[]) AS health (webhook_id, failures, since_ms, open_ms)
   WHERE state.webhook_id = health.webhook_id`;

/**
 * Records tries in the log, removes finished messages from the queue, reschedules the others, and updates the webhooks'
 * health. Atomic. A message that left the queue meanwhile, because another process also sent it, keeps its status.
 * @param nowMs the time of Laurel's clock
 */
export function recordTries(
  pool: Pool,
  { tries, health, nowMs }: { tries: readonly RecordedTry[]; health: readonly WebhookHealth[]; nowMs: number },
): Promise<void> {
  return transaction(pool, async (client) => {
    await client.query(SETTINGS);
    if (tries.length > 0) {
      await client.query(RECORD, [
        tries.map(({ webhookId }) => webhookId),
        tries.map(({ sequence }) => sequence),
        tries.map(({ day }) => day),
        tries.map(({ id }) => id),
        tries.map(({ logged }) => logged && storableJson(JSON.stringify([logged]))),
        tries.map(({ delivered }) => delivered),
        tries.map(({ dueMs }) => dueMs),
        nowMs,
      ]);
    }
    if (health.length > 0) {
      await client.query(NOTE_HEALTH, [
        health.map(({ webhookId }) => webhookId),
        health.map(({ failures }) => failures),
        health.map(({ failingSinceMs }) => failingSinceMs),
        health.map(({ openMs }) => openMs),
      ]);
    }
  });
}
