import type { Pool, PoolClient } from 'pg';
import { columns } from './columns.ts';
import type { EventRow } from './persist/events.ts';
import { storableText } from './storable-json.ts';
import { transaction } from './transaction.ts';

interface AskedKey {
  userId: string;
  /** The metric's number; for a change of a balance see `balance_changes`. */
  metricNo: number;
  key: string;
  /** The part of the event's ID that derives from the key, 16 hex digits. */
  idPart: string;
}

const FOUND_COLUMNS = `replace(id::text, '-', '') AS id, user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key`;
/** Whether the part of an ID that derives from a key is among the requested ones. */
const HAS_PART = 'substr(uuid_send(id), 7, 8) = ANY ($1::bytea[])';
/** The first ID whose partition of used keys has no index yet (`indexUsedKeys`). */
const UNINDEXED = 'SELECT end_id AS id FROM event_partitions WHERE keys_indexed ORDER BY end_day DESC LIMIT 1';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Parameters: parts of IDs, tenant number; users and metrics, as pairs; the first ID without an index. The latter is a value
 * so that partitions without an index are not planned for; their estimated cost made Postgres compile the plan. Keys newer
 * than the index are found through the user's events of the metric, by an index that contains their IDs; only events found
 * there are read.
 */
const FIND = `
  SELECT ${FOUND_COLUMNS} FROM used_keys
   WHERE tenant_no = $2 AND user_id = ANY ($3::text[]) AND ${HAS_PART} AND id < $5::uuid
  UNION ALL
  SELECT ${FOUND_COLUMNS} FROM events
   WHERE id >= $5::uuid AND idempotency_key IS NOT NULL AND id = ANY (ARRAY(
      SELECT id FROM unnest($3::text[], $4::int[]) AS asked (user_id, metric_no)
        JOIN events USING (user_id, metric_no)
       WHERE tenant_no = $2 AND id >= $5::uuid AND ${HAS_PART}
   ))
  UNION ALL
  SELECT ${FOUND_COLUMNS} FROM quarantine WHERE ${HAS_PART} AND idempotency_key IS NOT NULL AND tenant_no = $2
  UNION ALL
  SELECT ${FOUND_COLUMNS} FROM balance_changes
   WHERE tenant_no = $2 AND user_id = ANY ($3::text[]) AND ${HAS_PART} AND idempotency_key IS NOT NULL
  UNION ALL
  SELECT ${FOUND_COLUMNS} FROM merged_keys WHERE ${HAS_PART} AND tenant_no = $2`;

interface Row {
  id: string;
  userId: string;
  metricNo: number;
  key: string;
}

const firstUnindexed = async (pool: Pool): Promise<string> =>
  (await pool.query<{ id: string }>(UNINDEXED)).rows[0]?.id ?? FIRST_ID;

/**
 * For each key, the ID (32 hex digits) of the event or change of a balance that used it; `null` if none that is stored did,
 * including events in quarantine.
 */
export async function findUsedKeys(
  pool: Pool,
  tenantNo: number,
  asked: readonly AskedKey[],
): Promise<(string | null)[]> {
  const parts = asked.map(({ idPart }) => Buffer.from(idPart, 'hex'));
  const pairs = [...new Map(asked.map((each) => [`${each.metricNo} ${each.userId}`, each])).values()];
  const named = [pairs.map(({ userId }) => storableText(userId)), pairs.map(({ metricNo }) => metricNo)];
  const unindexed = await firstUnindexed(pool);
  const { rows } = await pool.query<Row>(FIND, [parts, tenantNo, ...named, unindexed]);
  // Events between the two IDs may have been dropped meanwhile; the index now contains their keys.
  if ((await firstUnindexed(pool)) !== unindexed) return findUsedKeys(pool, tenantNo, asked);
  return asked.map(({ userId, metricNo, key, idPart }) => {
    const used = rows.find(
      (row) =>
        row.id.slice(12, 28) === idPart &&
        row.metricNo === metricNo &&
        row.userId === storableText(userId) &&
        row.key === storableText(key),
    );
    return used?.id ?? null;
  });
}

const KEY = columns<EventRow>({ id: 'uuid', tenantNo: 'int', userId: 'text', metricNo: 'int', idempotencyKey: 'text' });

/** Adds the idempotency keys of events. As for events, an existing ID is an error (23505). */
export async function insertUsedKeys(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  const keyed = events.filter(({ idempotencyKey }) => idempotencyKey !== null);
  await KEY.copyInto(client, 'used_keys', keyed);
}

export interface UsedKey {
  tenantNo: number;
  userId: string;
  metricNo: number;
  key: string;
  /** ID of the event that used it, 32 hex digits. */
  eventId: string;
}

interface UsedKeyRow extends Omit<UsedKey, 'eventId'> {
  /** The ID in UUID format. */
  id: string;
}

const usedKeyOf = ({ id, ...row }: UsedKeyRow): UsedKey => ({ ...row, eventId: id.replaceAll('-', '') });

const USED_COLUMNS =
  'tenant_no AS "tenantNo", user_id AS "userId", metric_no AS "metricNo", idempotency_key AS key, id';

/** SQL: whether a row of `used_keys` is not one of a deleted user (`users/row-removals.ts`). */
const IS_KEPT_KEY = `id NOT IN (SELECT unnest(ids) FROM rows_to_delete WHERE rows_of IN ('events', 'used_keys'))`;

const usedKeysWhere = (where: string, { withDeleted = false } = {}): string =>
  `SELECT ${USED_COLUMNS} FROM used_keys WHERE ${where}${withDeleted ? '' : ` AND ${IS_KEPT_KEY}`}
   UNION ALL SELECT ${USED_COLUMNS} FROM quarantine WHERE idempotency_key IS NOT NULL AND ${where}
   UNION ALL SELECT ${USED_COLUMNS} FROM balance_changes WHERE idempotency_key IS NOT NULL AND ${where}
   UNION ALL SELECT ${USED_COLUMNS} FROM merged_keys WHERE NOT is_listed AND ${where}`;

export async function readIdempotencyKeys(
  pool: Pool,
  pageSize: number,
  tenants: readonly number[] | null,
  take: (keys: UsedKey[]) => Promise<void>,
): Promise<void> {
  const ofTenants = tenants === null ? 'true' : `tenant_no = ANY ('{${tenants.map(Math.trunc).join()}}')`;
  await transaction(pool, async (client) => {
    await client.query(`DECLARE used NO SCROLL CURSOR FOR ${usedKeysWhere(ofTenants)}`);
    const fetch = async (): Promise<UsedKeyRow[]> =>
      (await client.query<UsedKeyRow>(`FETCH ${Math.trunc(pageSize)} FROM used`)).rows;
    let page = await fetch();
    while (page.length > 0) {
      const next = fetch();
      next.catch(() => undefined);
      await take(page.map(usedKeyOf));
      page = await next;
    }
  });
}

/** The next used keys of all tenants after an event's ID (32 hex digits, or '' for the first), in the order of IDs. */
export async function usedKeysAfter(pool: Pool, after: string, limit: number): Promise<UsedKey[]> {
  const { rows } = await pool.query<UsedKeyRow>(`${usedKeysWhere('id > $1')} ORDER BY id LIMIT $2`, [
    after === '' ? FIRST_ID : after,
    limit,
  ]);
  return rows.map(usedKeyOf);
}

const SELECT_SPANS = `
  SELECT used.* FROM unnest($1::uuid[], $2::uuid[]) AS span (first, last)
   CROSS JOIN LATERAL (${usedKeysWhere('id BETWEEN span.first AND span.last', { withDeleted: true })}) AS used`;

/**
 * Used keys of events whose IDs contain one of some times (epoch ms, each once). A key may be returned twice. Includes keys of deleted users
 * whose rows are being deleted, because Redis may have them as long.
 */
export async function usedKeysAt(pool: Pool, idTimesMs: readonly number[]): Promise<UsedKey[]> {
  if (idTimesMs.length === 0) return [];
  const heads = idTimesMs.map((ms) => ms.toString(16).padStart(12, '0'));
  const spans = ['0', 'f'].map((digit) => heads.map((head) => head.padEnd(32, digit)));
  const { rows } = await pool.query<UsedKeyRow>(SELECT_SPANS, spans);
  return rows.map(usedKeyOf);
}

/** Progress of moving used idempotency keys into the compact form. */
interface AgeingProgress {
  /** The last epoch day that is complete; −1 for none. */
  doneDay: number;
  /** Cursor of SCAN for the next day. */
  cursor: string;
  /** Keys of events before this time (epoch ms) may be in the compact form; later ones are not. */
  beforeMs: number;
}

export async function readAgeing(pool: Pool): Promise<AgeingProgress> {
  const { rows } = await pool.query<{ doneDay: number; cursor: string; beforeMs: string }>({
    name: 'read_ageing',
    text: 'SELECT done_day AS "doneDay", scan_cursor AS cursor, before_ms AS "beforeMs" FROM key_ageing',
  });
  const { doneDay, cursor, beforeMs } = rows[0]!;
  return { doneDay, cursor, beforeMs: Number(beforeMs) };
}

/** Records, before any key is moved, that keys of events before a time may be in the compact form. */
export async function raiseAgeing(pool: Pool, beforeMs: number): Promise<void> {
  await pool.query('UPDATE key_ageing SET before_ms = $1 WHERE before_ms < $1', [beforeMs]);
}

export async function moveAgeing(pool: Pool, { doneDay, cursor }: Omit<AgeingProgress, 'beforeMs'>): Promise<void> {
  await pool.query('UPDATE key_ageing SET done_day = $1, scan_cursor = $2', [doneDay, cursor]);
}

/** The secret (32 bytes, permanent) from which IDs of events with an idempotency key are derived. Must never be logged. */
export async function readEventIdSecret(pool: Pool | PoolClient): Promise<Buffer> {
  const { rows } = await pool.query<{ secret: Buffer }>('SELECT secret FROM event_id_secret');
  return rows[0]!.secret;
}
