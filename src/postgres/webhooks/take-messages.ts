import type { Pool } from 'pg';

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
  /** Number of tries so far. */
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
 * Due messages of webhooks, ordered by sequence. They stay in the queue until a try is recorded, so only the holder of a webhook's lease may call this.
 * Skips lanes in `exceptLanes`; of other lanes, returns the first messages without gaps.
 * @param nowMs the time of Laurel's clock
 */
export async function takeMessages(pool: Pool, wanted: readonly Wanted[], nowMs: number): Promise<DueMessage[]> {
  const json = wanted.map(({ webhookId, most, exceptLanes }) => ({ webhook_id: webhookId, most, lanes: exceptLanes }));
  const { rows } = await pool.query<DueMessage>(TAKE, [JSON.stringify(json), nowMs]);
  return rows;
}
