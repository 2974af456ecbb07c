import type { Pool, PoolClient } from 'pg';
import { columns } from '../columns.ts';
import { transaction } from '../transaction.ts';
import { type SigningSecrets, signingSecrets } from './secrets.ts';

export interface LeasedWebhook {
  webhookId: string;
  tenantNo: number;
  /** Failed tries since the last successful one. */
  failures: number;
  /** Time of the first of them (epoch ms, Laurel's clock); `null` if there are none. */
  failingSinceMs: number | null;
}

/** Webhooks to which Laurel may send: existing and enabled, of an active tenant. */
const SENDABLE = `
  webhook_state AS state
  JOIN catalog_resources AS resource ON resource.id = state.webhook_id
   AND resource.deleted IS NULL AND (resource.doc ->> 'enabled')::boolean
  JOIN organisation ON multi_tenancy = (state.tenant_no > 0)`;

/**
 * Leases up to `most` webhooks with due messages for `leaseMs`, one holder each. `nowMs`: Laurel's clock. Such a webhook is
 * enabled, so the reason why Laurel once disabled it no longer applies.
 */
export async function leaseWebhooks(
  pool: Pool,
  { holder, nowMs, leaseMs, most }: { holder: string; nowMs: number; leaseMs: number; most: number },
): Promise<LeasedWebhook[]> {
  const { rows } = await pool.query<LeasedWebhook>(
    `UPDATE webhook_state AS leased SET holder = $1, held_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
            disabled_reason = NULL, disabled_at = NULL
      WHERE webhook_id = ANY (ARRAY(
              SELECT state.webhook_id FROM ${SENDABLE}
               WHERE (state.holder IS NULL OR state.held_until < clock_timestamp())
                 AND (state.open_until IS NULL OR state.open_until <= clock_timestamp())
                 AND EXISTS (SELECT FROM webhook_queue AS queued
                              WHERE queued.webhook_id = state.webhook_id AND queued.due_ms <= $2)
               LIMIT $4 FOR UPDATE OF state SKIP LOCKED))
    RETURNING webhook_id AS "webhookId", tenant_no AS "tenantNo", failures,
              (extract(epoch FROM failing_since) * 1000)::float8 AS "failingSinceMs"`,
    [holder, nowMs, leaseMs, most],
  );
  return rows;
}

/** Extends a process's leases to `leaseMs` from now. Returns the webhooks that it still holds. */
export async function renewLeases(pool: Pool, holder: string, leaseMs: number): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(
    `UPDATE webhook_state SET held_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
      WHERE holder = $1 RETURNING webhook_id AS id`,
    [holder, leaseMs],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function releaseLeases(pool: Pool, holder: string, webhookIds: readonly string[]): Promise<void> {
  await pool.query(
    'UPDATE webhook_state SET holder = NULL, held_until = NULL WHERE holder = $1 AND webhook_id = ANY ($2::uuid[])',
    [holder, webhookIds],
  );
}

/** Where a webhook's messages are sent, and the secrets that sign them. */
export interface WebhookTarget extends SigningSecrets {
  webhookId: string;
  name: string;
  url: string;
  /** Name of the signature header that uses the whole secret; `undefined` for the default. */
  header: string | undefined;
}

/** Targets of those webhooks to which Laurel may send. `nowMs`: Laurel's clock. */
export async function webhookTargets(
  pool: Pool,
  webhookIds: readonly string[],
  nowMs: number,
): Promise<Map<string, WebhookTarget>> {
  const { rows } = await pool.query<{ webhookId: string; name: string; url: string; header: string | null }>(
    `SELECT state.webhook_id AS "webhookId", doc ->> 'name' AS name, doc ->> 'url' AS url, doc ->> 'header' AS header
       FROM ${SENDABLE} WHERE state.webhook_id = ANY ($1::uuid[])`,
    [webhookIds],
  );
  const secrets = await signingSecrets(pool, webhookIds, nowMs);
  const targets = new Map<string, WebhookTarget>();
  for (const { header, ...row } of rows) {
    const signing = secrets.get(row.webhookId);
    // Nothing may be sent without a signature.
    if (signing !== undefined) targets.set(row.webhookId, { ...row, header: header ?? undefined, ...signing });
  }
  return targets;
}

/** When the next work is due that is not due yet. */
interface Upcoming {
  /** Next retry of a message (epoch ms, Laurel's clock), or `null`. */
  dueMs: number | null;
  /** When a due webhook becomes free of its breaker or another lease, in ms from now, or `null`. */
  freeInMs: number | null;
}

/** The next work for a holder of leases. One index probe per webhook. `nowMs`: Laurel's clock. */
export async function upcoming(pool: Pool, holder: string, nowMs: number): Promise<Upcoming> {
  const { rows } = await pool.query<Upcoming>(
    `SELECT min(next.due_ms) FILTER (WHERE next.due_ms > $1) AS "dueMs",
            (extract(epoch FROM min(free.at) FILTER (WHERE free.at > clock_timestamp() AND next.due_ms <= $1)
                                - clock_timestamp()) * 1000)::float8 AS "freeInMs"
       FROM ${SENDABLE}
      CROSS JOIN LATERAL (
              SELECT greatest(open_until, CASE WHEN state.holder <> $2 THEN held_until END) AS at) AS free
      CROSS JOIN LATERAL (
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id ORDER BY due_ms LIMIT 1)
              UNION ALL
              (SELECT due_ms FROM webhook_queue AS queued
                WHERE queued.webhook_id = state.webhook_id AND due_ms > $1 ORDER BY due_ms LIMIT 1)) AS next`,
    [nowMs, holder],
  );
  return rows[0]!;
}

/** Records whether at least `limit` messages wait for each webhook, so that no more are queued. */
export async function noteFullQueues(pool: Pool, limit: number): Promise<void> {
  await pool.query(
    `UPDATE webhook_state AS state SET is_full = measured.is_full
       FROM (SELECT webhook_id, EXISTS (SELECT FROM (
                      SELECT FROM webhook_queue AS queued WHERE queued.webhook_id = known.webhook_id
                       LIMIT 1 OFFSET $1) AS beyond) AS is_full
               FROM webhook_state AS known) AS measured
      WHERE measured.webhook_id = state.webhook_id AND state.is_full <> measured.is_full`,
    [limit - 1],
  );
}

/** Messages that wait for webhooks to which Laurel may send. */
interface WaitingMessages {
  count: number;
  /** Age of the oldest message, ms by Laurel's clock; 0 if none waits. */
  oldestMs: number;
}

export async function waitingMessages(pool: Pool, nowMs: number): Promise<WaitingMessages> {
  const { rows } = await pool.query<{ count: number; created: number | null }>(
    `SELECT count(*) AS count, (extract(epoch FROM min(queued.created)) * 1000)::float8 AS created
       FROM webhook_queue AS queued WHERE queued.webhook_id IN (SELECT state.webhook_id FROM ${SENDABLE})`,
  );
  const { count, created } = rows[0]!;
  return { count, oldestMs: created === null ? 0 : Math.max(0, nowMs - created) };
}

/** The number of webhooks, of all tenants, that Laurel disabled and nobody enabled again. */
export async function countDisabledByLaurel(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int AS count
       FROM webhook_state AS state
       JOIN catalog_resources AS resource ON resource.id = state.webhook_id
        AND resource.deleted IS NULL AND NOT (resource.doc ->> 'enabled')::boolean
       JOIN organisation ON multi_tenancy = (state.tenant_no > 0)
      WHERE state.disabled_reason IS NOT NULL`,
  );
  return rows[0]!.count;
}

/** Records that Laurel disabled a webhook, and why. Resets its failures for when it is enabled again. */
export async function noteDisabled(
  client: PoolClient,
  { webhookId, reason, nowMs }: { webhookId: string; reason: string; nowMs: number },
): Promise<void> {
  await client.query(
    `UPDATE webhook_state SET disabled_reason = $2, disabled_at = to_timestamp($3::float8 / 1000),
            failures = 0, failing_since = NULL, open_until = NULL
      WHERE webhook_id = $1`,
    [webhookId, reason, nowMs],
  );
}

/** A request for messages by the holder of a webhook's lease. */
export interface TakeRequest {
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
export async function takeMessages(pool: Pool, requests: readonly TakeRequest[], nowMs: number): Promise<DueMessage[]> {
  const json = requests.map(({ webhookId, most, exceptLanes }) => ({
    webhook_id: webhookId,
    most,
    lanes: exceptLanes,
  }));
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

export interface ServerHealth {
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

const TRIED = columns<Omit<RecordedTry, 'logged'> & { logged: string | null }>({
  webhookId: 'uuid',
  sequence: 'bigint',
  day: 'int',
  id: 'uuid',
  logged: 'jsonb',
  delivered: 'boolean',
  dueMs: 'float8',
});

const RECORD = `
  WITH tried AS MATERIALIZED (
    SELECT * FROM ${TRIED.unnest('tried', 2)}
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
         finished = CASE WHEN NOT was_queued THEN finished WHEN due_ms IS NULL THEN to_timestamp($1::float8 / 1000) END
    FROM outcome WHERE message.id = outcome.id AND message.day = outcome.day`;

const HEALTH = columns<ServerHealth>({
  webhookId: 'uuid',
  failures: 'int',
  failingSinceMs: ['float8', 'since_ms'],
  openMs: 'float8',
});

const NOTE_HEALTH = `
  UPDATE webhook_state AS state
     SET failures = health.failures, failing_since = to_timestamp(since_ms / 1000),
         open_until = CASE WHEN open_ms > 0 THEN clock_timestamp() + make_interval(secs => open_ms / 1000) END
    FROM ${HEALTH.unnest('health')}
   WHERE state.webhook_id = health.webhook_id`;

/**
 * Records tries in the log, removes finished messages from the queue, reschedules the others, and updates the webhooks'
 * health. Atomic. A message that left the queue meanwhile, because another process also sent it, keeps its status.
 * @param nowMs the time of Laurel's clock
 */
export function recordTries(
  pool: Pool,
  tries: readonly RecordedTry[],
  health: readonly ServerHealth[],
  nowMs: number,
): Promise<void> {
  return transaction(pool, async (client) => {
    await client.query(SETTINGS);
    const tried = tries.map((row) => ({ ...row, logged: row.logged && JSON.stringify([row.logged]) }));
    if (tries.length > 0) await client.query(RECORD, [nowMs, ...TRIED.arrays(tried)]);
    if (health.length > 0) await client.query(NOTE_HEALTH, HEALTH.arrays(health));
  });
}
