import type { PoolClient } from 'pg';
import type { NewMessage } from '../../domain/notification.ts';
import { DAY_MS } from '../../domain/periods.ts';
import { storableText } from '../storable-json.ts';
import { LANE } from './lane.ts';

/** Reason in the log for messages that did not fit into the queue. */
export const TOO_MANY_WAIT = 'too many messages waited for this webhook';

/** Rows per statement. Serialising them blocks the event loop. */
const ROWS_AT_ONCE = 1_000;

const KNOW_WEBHOOKS = `
  INSERT INTO webhook_state (webhook_id, tenant_no)
  SELECT DISTINCT ON (webhook_id) * FROM unnest($1::uuid[], $2::int[]) AS new (webhook_id, tenant_no)
  ON CONFLICT DO NOTHING`;

/**
 * The primary key prevents a message from being stored twice on the same day. For other days, the statement probes an index per day, in a
 * subquery that no planner can turn into a scan of the whole log.
 */
const INSERT = `
  WITH new AS MATERIALIZED (
    SELECT ordered.*, nextval('webhook_sequences') AS sequence
      FROM (SELECT sent.*, is_full
              FROM unnest($3::uuid[], $4::uuid[], $5::int[], $6::text[], $7::text[], $8::float8[], $9::text[])
                     WITH ORDINALITY AS sent (id, webhook_id, tenant_no, type, user_id, at_ms, payload, place)
              JOIN webhook_state USING (webhook_id)
             WHERE (SELECT true FROM webhook_messages AS known WHERE known.id = sent.id LIMIT 1) IS NULL
             ORDER BY place) AS ordered
  ), made AS (
    INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, user_id, sequence, at, created, payload,
                                  status, failed, reason, finished)
    SELECT $1, id, webhook_id, tenant_no, type, user_id, sequence, to_timestamp(at_ms / 1000), to_timestamp($2::float8 / 1000), payload,
           CASE WHEN is_full THEN 'failed' ELSE 'pending' END, is_full,
           CASE WHEN is_full THEN $10 END, CASE WHEN is_full THEN to_timestamp($2::float8 / 1000) END
      FROM new
    ON CONFLICT DO NOTHING
    RETURNING webhook_id, sequence, id, user_id, status
  )
  INSERT INTO webhook_queue (webhook_id, sequence, day, id, lane, due_ms, created)
  SELECT webhook_id, sequence, $1, id, ${LANE}, 0, to_timestamp($2::float8 / 1000)
    FROM made WHERE status = 'pending'`;

/**
 * Adds messages to the log and to their webhooks' queues, in the caller's transaction, with sequences ascending in array order. Skips messages
 * whose ID is already in the log. If a webhook has `PENDING_LIMIT` waiting messages, its messages are logged as failed, with the
 * reason, and not queued.
 *
 * Sequences of messages about one user must follow the order of commits, so the caller holds the row of the user's shard in
 * `outbox_cursors`. After the commit, it wakes the delivery.
 * @param nowMs the time of Laurel's clock
 */
export async function insertMessages(
  client: PoolClient,
  messages: readonly NewMessage[],
  nowMs: number,
): Promise<void> {
  for (let from = 0; from < messages.length; from += ROWS_AT_ONCE) {
    const some = messages.slice(from, from + ROWS_AT_ONCE);
    const webhookIds = some.map(({ webhookId }) => webhookId);
    const tenantNos = some.map(({ tenantNo }) => tenantNo);
    await client.query(KNOW_WEBHOOKS, [webhookIds, tenantNos]);
    await client.query(INSERT, [
      Math.floor(nowMs / DAY_MS),
      nowMs,
      some.map(({ id }) => id),
      webhookIds,
      tenantNos,
      some.map(({ type }) => type),
      some.map(({ userId }) => userId && storableText(userId)),
      some.map(({ atMs }) => atMs),
      some.map(({ payload }) => storableText(payload)),
      TOO_MANY_WAIT,
    ]);
  }
}
