import type { Redis } from 'ioredis';
import type { Client } from 'pg';
import type { Received } from '../engine/webhooks/receiver.ts';
import type { HttpClient } from './http.ts';
import type { Ledger } from './ledger.ts';
import { auditEvents, type StoredEvent } from './audit-events.ts';
import { auditDeadLetters } from './audit-dead-letters.ts';
import { auditWebhooks, readWebhooks } from './audit-webhooks.ts';
import { auditUser, type Stored } from './audit-user.ts';
import { auditBoards } from './audit-boards.ts';
import { ModelUser } from './model.ts';
import { microsOf } from './micros.ts';
import { batchesKey, outboxKey, SHARD_NUMBERS } from '../../src/redis/keys.ts';
import { eventually } from './processes.ts';
import type { EntryPosition } from './stack.ts';

export interface Evidence {
  app: HttpClient;
  sql: Client;
  redis: Redis;
  ledger: Ledger;
  /** The tenant of the events; by default the organisation's own. */
  tenantNo?: number;
  /** Messages that a webhook's receiver got; `null` without a webhook. */
  received: readonly Received[] | null;
  /** Damaged entries that were added to the outbox. Only these may be set aside. */
  planted: readonly EntryPosition[];
}

/** Results of an audit. */
export interface Findings {
  differences: string[];
  /** Acknowledged events that Postgres does not hold, and those that it holds more than once. */
  lost: number;
  duplicated: number;
  stored: number;
  /** Messages to the webhook; all of them arrived unless `differences` says otherwise. */
  messages: number;
}

const DRAIN_MS = 120_000;

/** Resolves when no webhook message is pending. */
export const sent = (sql: Client): Promise<void> =>
  eventually(
    'everything is sent to the webhook',
    async () => (await sql.query('SELECT FROM webhook_queue LIMIT 1')).rowCount === 0,
    DRAIN_MS,
  );

/** Resolves when nothing is pending: no batch, and nothing for Postgres. */
export async function drained(redis: Redis): Promise<void> {
  await eventually(
    'the queues are empty',
    async () => {
      const keys = SHARD_NUMBERS.flatMap((shard) => [outboxKey(shard), batchesKey(shard)]);
      const lengths = await Promise.all(keys.map((key) => redis.xlen(key))).catch(() => [1]);
      return lengths.every((length) => length === 0);
    },
    DRAIN_MS,
  );
}

/**
 * Compares the answers that clients got with what Postgres, Redis and the API hold. Shares no code with the engine:
 * `model.ts` computes the rules again. Call it when nothing is being sent and everything is drained.
 */
export async function audit({ app, sql, redis, ledger, tenantNo = 0, planted, received }: Evidence): Promise<Findings> {
  const differences = [...ledger.contradictions];
  const stored = await readStored(sql, tenantNo);
  const { lost, duplicated } = auditEvents(ledger, stored.events, differences);

  const users = new Set([...stored.events.map(({ userId }) => userId), ...ledger.tours]);
  for (const id of stored.states.keys())
    if (!users.has(id)) differences.push(`Postgres holds the user ${id} without events`);
  const models = new Map([...users].map((id) => [id, ledger.own.get(id)?.model ?? modelOf(id, ledger, stored.events)]));
  for (const [id, model] of models) await auditUser({ id, model, app, redis, tenantNo, stored }, differences);
  await auditBoards({ models, app, redis, tenantNo, numbers: stored.numbers }, differences);
  auditDeadLetters(planted, stored.deadLetters, differences);
  const messages = received === null ? 0 : auditWebhooks({ ...(await readWebhooks(sql)), received }, differences);
  return { differences, lost, duplicated, stored: stored.events.length, messages };
}

/** For a user whose events may be in any order. */
function modelOf(id: string, ledger: Ledger, events: readonly StoredEvent[]): ModelUser {
  const model = new ModelUser();
  if (ledger.tours.has(id)) model.tour();
  for (const { userId, value } of events) if (userId === id) model.event('cards', microsOf(value));
  return model;
}

async function readStored(sql: Client, tenantNo: number): Promise<Stored> {
  const rows = async <T>(statement: string, values = [tenantNo]): Promise<T[]> =>
    (await sql.query(statement, values)).rows as T[];
  const resources = await rows<{ no: number; key: string; kind: string }>(
    `SELECT no, kind, doc->>'key' AS key FROM catalog_resources WHERE tenant_no = $1 AND deleted IS NULL`,
  );
  const states = await rows<{ id: string; state: Buffer; points: Record<string, number> }>(
    'SELECT id, state, points FROM users WHERE tenant_no = $1',
  );
  return {
    numbers: new Map(resources.map(({ no, kind, key }) => [`${kind} ${key}`, no])),
    keys: new Map(resources.map(({ no, key }) => [no, key])),
    events: await rows<StoredEvent>(
      `SELECT id::text, user_id AS "userId", metric_no AS "metricNo", value::text, total::text, local_date::text AS date,
              coalesce(idempotency_key, attributes->>'deck') AS mark FROM events WHERE tenant_no = $1 ORDER BY id`,
    ),
    awards: await rows<{ userId: string; awarded: string }>(
      'SELECT user_id AS "userId", sum(awarded)::text AS awarded FROM awards WHERE tenant_no = $1 GROUP BY user_id',
    ),
    completions: await rows<{ userId: string; no: number }>(
      'SELECT user_id AS "userId", achievement_no AS no FROM completions WHERE tenant_no = $1',
    ),
    states: new Map(states.map((row) => [row.id, row])),
    deadLetters: await rows<EntryPosition>('SELECT shard, position FROM dead_letters', []),
  };
}
