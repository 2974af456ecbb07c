import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import type { NewMessage } from '../../domain/notifications/notification.ts';
import { epochDay } from '../../domain/periods.ts';
import { wholeDay } from '../partitions.ts';
import type { Revisions } from '../revisions.ts';
import { transaction } from '../transaction.ts';

/** SQL: a message's lane, within which messages are sent one after another. 0 if it is not about a single user. */
export const LANE = 'coalesce(hashtext(user_id), 0)';

/** Reason in the log for messages that did not fit into the queue. */
export const TOO_MANY_WAIT = 'too many messages waited for this webhook';

/** Rows per statement. Serialising them blocks the event loop. */
const ROWS_AT_ONCE = 1_000;

const KNOWN = columns<NewMessage>({ webhookId: 'uuid', tenantNo: 'int' });
const SENT = columns<NewMessage>({
  id: 'uuid',
  webhookId: 'uuid',
  tenantNo: 'int',
  type: 'text',
  userId: 'text',
  atMs: 'bigint',
  payload: 'text',
});

const KNOW_WEBHOOKS = `
  INSERT INTO webhook_state (webhook_id, tenant_no)
  SELECT DISTINCT ON (webhook_id) * FROM ${KNOWN.unnest('new')}
  ON CONFLICT DO NOTHING`;

/**
 * The primary key prevents a message from being stored twice on the same day. For other days, the statement probes an index
 * per day, in a subquery that no planner can turn into a scan of the whole log.
 */
const INSERT = `
  WITH new AS MATERIALIZED (
    SELECT ordered.*, nextval('webhook_sequences') AS sequence
      FROM (SELECT sent.*, is_full
              FROM ${SENT.unnest('sent', 4, 'place')}
              JOIN webhook_state USING (webhook_id)
             WHERE (SELECT true FROM webhook_messages AS known WHERE known.id = sent.id LIMIT 1) IS NULL
             ORDER BY place) AS ordered
  ), made AS (
    INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, user_id, sequence, at, created, payload,
                                  status, failed, reason, finished)
    SELECT $1, id, webhook_id, tenant_no, type, user_id, sequence, to_timestamp(at_ms / 1000.0), to_timestamp($2::float8 / 1000), payload,
           CASE WHEN is_full THEN 'failed' ELSE 'pending' END, is_full,
           CASE WHEN is_full THEN $3 END, CASE WHEN is_full THEN to_timestamp($2::float8 / 1000) END
      FROM new
    ON CONFLICT DO NOTHING
    RETURNING webhook_id, sequence, id, user_id, status
  )
  INSERT INTO webhook_queue (webhook_id, sequence, day, id, lane, due_ms, created)
  SELECT webhook_id, sequence, $1, id, ${LANE}, 0, to_timestamp($2::float8 / 1000)
    FROM made WHERE status = 'pending'`;

/**
 * Adds messages to the log and to their webhooks' queues, in the caller's transaction, with sequences ascending in array
 * order. Skips messages whose ID is already in the log. If a webhook has `PENDING_LIMIT` waiting messages, its messages are
 * logged as failed, with the reason, and not queued.
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
    await client.query(KNOW_WEBHOOKS, KNOWN.arrays(some));
    await client.query(INSERT, [epochDay(nowMs), nowMs, TOO_MANY_WAIT, ...SENT.arrays(some)]);
  }
}

/** How long a change of partitions waits for its locks, behind which all later users of the log wait. */
const LOCK_WAIT_MS = 1_000;

const NAME = /^webhook_messages_d(\d+)$/;

/** Days (epoch days) that have a partition. */
export async function messageDays(client: Pool | PoolClient): Promise<number[]> {
  const { rows } = await client.query<{ name: string }>({
    name: 'message_days',
    text: `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'webhook_messages'::regclass`,
  });
  return rows.flatMap(({ name }) => NAME.exec(name)?.[1] ?? []).map(Number);
}

/**
 * Creates the partition of a day, unless the default partition already holds messages of that day, which stay there. Creates
 * a table and attaches it, which locks only the default partition exclusively. Rejects without a change if it does not get
 * its lock within a second, or if another process creates the partition at the same time.
 */
export function makeMessageDay(pool: Pool, day: number): Promise<void> {
  const name = `webhook_messages_d${wholeDay(day)}`;
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    const { rows } = await client.query('SELECT FROM webhook_messages_default WHERE day = $1 LIMIT 1', [day]);
    if (rows.length > 0) return;
    await client.query(
      `CREATE TABLE ${name} (LIKE webhook_messages INCLUDING ALL) WITH (fillfactor = 70);
       ALTER TABLE webhook_messages ATTACH PARTITION ${name} FOR VALUES FROM (${wholeDay(day)}) TO (${wholeDay(day) + 1})`,
    );
  });
}

/** Messages deleted from the default partition per step. */
const STEP = 5_000;

/** Whether the default partition or the queue holds messages from before a day. */
export async function hasMessagesBefore(pool: Pool, day: number): Promise<boolean> {
  const { rows } = await pool.query<{ some: boolean }>({
    name: 'has_messages_before',
    text: `SELECT EXISTS (SELECT FROM webhook_messages_default WHERE day < $1)
         OR EXISTS (SELECT FROM webhook_queue WHERE day < $1) AS some`,
    values: [day],
  });
  return rows[0]!.some;
}

/** Drops a day's partition at once. Rejects without a change if it does not get its lock within a second. */
export function dropMessageDay(pool: Pool, day: number): Promise<void> {
  return transaction(pool, async (client) => {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
    await client.query(`DROP TABLE IF EXISTS webhook_messages_d${wholeDay(day)}`);
  });
}

/** Deletes the health records of deleted webhooks without queued messages. */
export async function forgetDeletedWebhooks(pool: Pool): Promise<void> {
  await pool.query(
    `DELETE FROM webhook_state AS state USING catalog_resources AS resource
      WHERE resource.id = state.webhook_id AND resource.deleted IS NOT NULL
        AND NOT EXISTS (SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = state.webhook_id)`,
  );
}

export async function deleteMessagesBefore(pool: Pool, day: number): Promise<void> {
  for (const table of ['webhook_messages_default', 'webhook_queue']) {
    await pool.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE day < $1 LIMIT ${STEP}))`,
      [day],
    );
  }
}

/** Tenants whose changes are reported, as of certain revisions of the catalogs and the organisation. */
export interface Listening {
  revisions: Revisions;
  /** Share of users in the control group, 0 to 1. */
  controlShare: number;
  /**
   * Tenants with an enabled webhook or with messages about achievements: number → version of the tenant's catalog. Excludes
   * archived tenants.
   */
  tenants: ReadonlyMap<number, number>;
  /** Those of them with e-mails or push notifications about achievements: an enabled channel and a template. */
  messaged: ReadonlySet<number>;
}

interface Row extends Revisions {
  controlShare: number;
  tenants: [no: number, version: number][];
  messaged: number[];
}

/** The messages that changes of users cause. Those of other kinds only fall due by the clock. */
const OF_CHANGES: MessageKind = 'achievement_completed';

export async function readListening(pool: Pool): Promise<Listening> {
  const { rows } = await pool.query<Row>(
    `WITH messaged AS (
       SELECT no FROM message_channels JOIN tenants ON no = tenant_no WHERE enabled AND $1 = ANY (message_kinds)
        UNION
       SELECT no FROM push_senders JOIN tenants ON no = tenant_no WHERE enabled AND $1 = ANY (push_kinds)
     )
     SELECT revision AS organisation, catalogs_revision AS catalogs, control_share AS "controlShare",
            coalesce((
              SELECT json_agg(json_build_array(no, catalog_version)) FROM tenants
               WHERE status = 'active' AND no IN (
                 SELECT tenant_no FROM catalog_resources
                  WHERE kind = 'webhook' AND deleted IS NULL AND (doc->>'enabled')::boolean
                  UNION ALL SELECT no FROM messaged)), '[]') AS tenants,
            ARRAY(SELECT no FROM messaged) AS messaged
       FROM organisation`,
    [OF_CHANGES],
  );
  const { organisation, catalogs, controlShare, tenants, messaged } = rows[0]!;
  return {
    revisions: { organisation, catalogs },
    controlShare,
    tenants: new Map(tenants),
    messaged: new Set(messaged),
  };
}
