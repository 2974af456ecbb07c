import type { Pool, PoolClient } from 'pg';
import { type Decimal, decimalText } from '../../domain/decimal.ts';
import { dateOf, isoTime } from '../../domain/periods.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { firstIdOf } from '../partitions.ts';
import { storableJson, storableText } from '../storable-json.ts';
import { copyRows, listOf, numericText, textsOf } from './row-text.ts';
import type { NamedUser } from '../../domain/user.ts';

export interface EventRow {
  /** 32 hex digits. */
  id: string;
  tenantNo: number;
  userId: string;
  metricNo: number;
  value: Decimal;
  /** The user's total of the metric after this event. */
  total: Decimal;
  atMs: number;
  /** When it happened (epoch ms); `null` if at `atMs`. */
  occurredMs: number | null;
  /** The user's local date when it happened, as an epoch day. */
  localDay: number;
  /** JSON text: attribute key → value. */
  attributes: string | null;
  idempotencyKey: string | null;
  /** Streak length that it caused; `null` if it did not extend the streak. */
  streak: number | null;
  /** Version of the catalog; `null` if the event had no consequences. */
  catalogVersion: number | null;
}

const FIELDS =
  'id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes, idempotency_key, streak, catalog_version';
const COPY = `COPY events (${FIELDS}) FROM STDIN`;
const COPY_OCCURRED = `COPY events (${FIELDS}, occurred_at) FROM STDIN`;

/** Adds events. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertEvents(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  const occurred = events.filter(({ occurredMs }) => occurredMs !== null);
  const present = occurred.length === 0 ? events : events.filter(({ occurredMs }) => occurredMs === null);
  await copyEvents(client, present, false);
  await copyEvents(client, occurred, true);
}

/** Events without a separate time are copied without that column, so that they cost no more. */
async function copyEvents(client: PoolClient, events: readonly EventRow[], withTime: boolean): Promise<void> {
  await copyRows(client, withTime ? COPY_OCCURRED : COPY, events, (event) => [
    event.id,
    event.tenantNo,
    event.userId,
    event.metricNo,
    numericText(event.value),
    numericText(event.total),
    isoTime(event.atMs),
    dateOf(event.localDay),
    event.attributes === null ? null : storableJson(event.attributes),
    event.idempotencyKey,
    event.streak,
    event.catalogVersion,
    ...(withTime ? [isoTime(event.occurredMs!)] : []),
  ]);
}

export interface ReversalRow {
  /** The opposite event. */
  event: Omit<EventRow, 'idempotencyKey'>;
  /** 32 hex digits. */
  root: string;
  reversed: string;
  /** False if a reversal was reversed, so that the root event counts again. */
  voids: boolean;
  awards: Compensated[];
  revoked: PackedCompletion[];
  restored: PackedCompletion[];
}

const INSERT_EVENT = `
  INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, attributes, reverses, occurred_at)
  VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7 / 1000.0), $8, $9, $10, to_timestamp($11 / 1000.0))`;

const INSERT_REVERSAL = `
  INSERT INTO reversals (id, tenant_no, user_id, root_id, reversed_id, in_force, awards, revoked, at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, to_timestamp($9 / 1000.0))`;

/** SQL: a row as COMPLETED. */
export const COMPLETION = `
  CASE WHEN period = 0 THEN json_build_array(achievement_no, epoch_ms(at), replace(caused_by::text, '-', ''))
       ELSE json_build_array(achievement_no, epoch_ms(at), replace(caused_by::text, '-', ''), period) END AS completion`;

const DELETE_COMPLETIONS = `
  DELETE FROM completions
   WHERE tenant_no = $1 AND user_id = $2
     AND (achievement_no, period) IN (SELECT no, its_period FROM unnest($3::int[], $4::int[]) AS gone (no, its_period))
  RETURNING ${COMPLETION}`;

/**
 * Adds reversals with their opposite events, in order. Deletes revoked completions and restores others unchanged. An
 * existing ID is an error (23505), because the cursor guarantees that each is new.
 */
export async function insertReversals(client: PoolClient, reversals: readonly ReversalRow[]): Promise<void> {
  for (const { event, root, reversed, voids, awards, revoked, restored } of reversals) {
    const { id, tenantNo, metricNo, atMs } = event;
    const userId = storableText(event.userId);
    const sums = [decimalText(event.value), decimalText(event.total)];
    const attributes = event.attributes === null ? null : storableJson(event.attributes);
    const when = [atMs, dateOf(event.localDay)];
    const values = [id, tenantNo, userId, metricNo, ...sums, ...when, attributes, reversed, event.occurredMs];
    await client.query(INSERT_EVENT, values);
    await client.query('UPDATE reversals SET in_force = false WHERE root_id = $1 AND in_force', [root]);
    const { rows } = await client.query<{ completion: PackedCompletion }>(DELETE_COMPLETIONS, [
      tenantNo,
      userId,
      revoked.map((each) => each[COMPLETED.achievement]),
      revoked.map((each) => each[COMPLETED.period] ?? 0),
    ]);
    const revocations = voids ? rows.map(({ completion }) => completion) : restored;
    const lists = [JSON.stringify(awards), JSON.stringify(revocations)];
    await client.query(INSERT_REVERSAL, [id, tenantNo, userId, root, reversed, voids, ...lists, atMs]);
    await client.query(
      `INSERT INTO completions (tenant_no, user_id, achievement_no, at, caused_by, period)
       SELECT $1, $2, no, to_timestamp(at_ms / 1000.0), caused_by, period
         FROM unnest($3::int[], $4::bigint[], $5::uuid[], $6::int[]) AS restored (no, at_ms, caused_by, period)
       ON CONFLICT DO NOTHING`,
      [
        tenantNo,
        userId,
        restored.map((each) => each[COMPLETED.achievement]),
        restored.map((each) => each[COMPLETED.atMs]),
        restored.map((each) => each[COMPLETED.causedBy] || null),
        restored.map((each) => each[COMPLETED.period] ?? 0),
      ],
    );
  }
}

export interface EventKey {
  metricNo: number;
  key: string;
}

/** Events per statement: a user may have very many, and their keys are passed on. */
const EVENTS = 10_000;

/** Tables with idempotency keys. */
const TABLES = ['events', 'quarantine', 'balance_changes', 'merged_keys'] as const;

/**
 * Deletes a user's events, including quarantined ones, and changes of balances, with their used keys, in the client's transaction. Passes the
 * idempotency keys to `onKeys`, some at a time. Identifies rows by ID, because their location (`ctid`) changes with
 * concurrent updates and is not unique across partitions. `isLarge`: a job deletes the events (`row-removals.ts`).
 */
export async function deleteEvents(
  client: PoolClient,
  { tenantNo, userId }: NamedUser,
  { onKeys, isLarge }: { onKeys: (keys: EventKey[]) => Promise<void>; isLarge: boolean },
): Promise<void> {
  for (const table of TABLES) {
    if (isLarge && table === 'events') continue;
    for (;;) {
      const page = await client.query<{ id: string }>(
        `SELECT id FROM ${table} WHERE tenant_no = $1 AND user_id = $2 LIMIT ${EVENTS}`,
        [tenantNo, storableText(userId)],
      );
      const ids = page.rows.map(({ id }) => id).toSorted();
      if (ids.length === 0) break;
      // The bounds avoid searching every partition for each ID.
      const range = [ids, ids[0], ids.at(-1)];
      const deleted = await client.query<{ metricNo: number; key: string | null }>(
        `DELETE FROM ${table} WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3
         RETURNING metric_no AS "metricNo", idempotency_key AS key`,
        range,
      );
      const keys = deleted.rows.filter((row): row is EventKey => row.key !== null);
      if (table === 'events')
        await client.query('DELETE FROM used_keys WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3', range);
      if (keys.length > 0) await onKeys(keys);
      if (ids.length < EVENTS) break;
    }
  }
  if (isLarge) return;
  const ofDroppedEvents = await client.query<EventKey>(DELETE_LEFT, [tenantNo, storableText(userId)]);
  if (ofDroppedEvents.rows.length > 0) await onKeys(ofDroppedEvents.rows);
}

/** SQL: used keys of a user's dropped events. They have an index by user. */
export const LEFT_KEYS = `tenant_no = $1 AND user_id = $2
     AND id < (SELECT end_id FROM event_partitions WHERE is_dropped ORDER BY end_day DESC LIMIT 1)`;

const DELETE_LEFT = `
  DELETE FROM used_keys WHERE ${LEFT_KEYS}
  RETURNING metric_no AS "metricNo", idempotency_key AS key`;

interface DatedRow {
  /** 32 hex digits. */
  id: string;
  localDay: number;
}

const NOTE = `
  UPDATE event_partitions AS part SET ahead_to = greatest(part.ahead_to, ahead.day)
    FROM (SELECT (SELECT first_day FROM event_partitions WHERE end_id > row.id ORDER BY end_id LIMIT 1) AS first_day, max(day) AS day
            FROM unnest($1::uuid[], $2::int[]) AS row (id, day) GROUP BY 1) AS ahead
   WHERE part.first_day = ahead.first_day`;

/**
 * Records, by partition, rows that count for a day later than the one after their ID's. Reads of that day would not look
 * there (`readSinceDay`). Call it in the transaction that stores the rows. There are almost never any; then it costs a text
 * comparison per row.
 */
export async function noteDatedAhead(client: PoolClient, lists: readonly (readonly DatedRow[])[]): Promise<void> {
  const ahead = lists.flatMap(datedAhead);
  if (ahead.length === 0) return;
  await client.query(NOTE, [ahead.map(({ id }) => id), ahead.map(({ localDay }) => localDay)]);
}

/** Rows that count for a day later than the one after their ID's. */
function datedAhead(rows: readonly DatedRow[]): DatedRow[] {
  // Users in different zones have two local days at a time, in alternation.
  const firstIds = new Map<number, string>();
  return rows.filter(({ id, localDay }) => {
    let firstId = firstIds.get(localDay);
    if (firstId === undefined) {
      firstId = firstIdOf(Math.max(0, localDay - 1)).replaceAll('-', '');
      firstIds.set(localDay, firstId);
    }
    return id < firstId;
  });
}

export interface AwardRow {
  /** 32 hex digits: the event's ID, with the award's ordinal in the last four. */
  id: string;
  tenantNo: number;
  userId: string;
  systemNo: number;
  triggerNo: number;
  awarded: number;
  /** The system's total after this award. */
  total: number;
  boostNos: readonly number[];
  atMs: number;
  localDay: number;
  /** Version of the catalog; `null` if not recorded. */
  catalogVersion: number | null;
}

const COPY_AWARDS =
  'COPY awards (id, tenant_no, user_id, system_no, trigger_no, awarded, total, boost_nos, at, local_date, ' +
  'catalog_version) FROM STDIN';

/** Adds awards of points. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export async function insertAwards(client: PoolClient, awards: readonly AwardRow[]): Promise<void> {
  await copyRows(client, COPY_AWARDS, awards, (award) => [
    award.id,
    award.tenantNo,
    award.userId,
    award.systemNo,
    award.triggerNo,
    award.awarded,
    award.total,
    award.boostNos.length === 0 ? null : listOf(award.boostNos),
    isoTime(award.atMs),
    dateOf(award.localDay),
    award.catalogVersion,
  ]);
}

export interface CompletionRow {
  tenantNo: number;
  userId: string;
  achievementNo: number;
  /** 0 unless the achievement repeats. */
  period: number;
  atMs: number;
  /** The cause: an event, or something else with an ID (32 hex digits). */
  causedBy: string;
  /** Version of the catalog; `null` if not recorded. */
  catalogVersion: number | null;
  backdated: boolean;
}

const INSERT_COMPLETIONS = `
  INSERT INTO completions (tenant_no, user_id, achievement_no, at, caused_by, catalog_version, backdated, period)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0), caused_by, catalog_version, backdated, period
  FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[], $5::uuid[], $6::bigint[], $7::boolean[], $8::int[])
    AS completed (tenant_no, user_id, achievement_no, at_ms, caused_by, catalog_version, backdated, period)
  ON CONFLICT DO NOTHING`;

/** Adds completions. An achievement is completed only once, or once a period, so an earlier completion is kept. */
export async function insertCompletions(client: PoolClient, completions: readonly CompletionRow[]): Promise<void> {
  if (completions.length === 0) return;
  await client.query({
    name: 'persist_completions',
    text: INSERT_COMPLETIONS,
    values: [
      listOf(completions.map((row) => row.tenantNo)),
      textsOf(completions.map((row) => row.userId)),
      listOf(completions.map((row) => row.achievementNo)),
      listOf(completions.map((row) => row.atMs)),
      listOf(completions.map((row) => row.causedBy)),
      listOf(completions.map((row) => row.catalogVersion)),
      completions.map((row) => row.backdated),
      listOf(completions.map((row) => row.period)),
    ],
  });
}

/** Number shown, and at least kept, per tenant. */
const NEWEST_KEPT = 20;
/** One transaction in this many also deletes old rows, which takes 0.5 ms. */
const DROPPED_EVERY = 64;

const ADD_NEWEST = `
  INSERT INTO newest_completions (tenant_no, user_id, achievement_no, at)
  SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) AS completed (tenant_no, user_id, achievement_no, at_ms)
  RETURNING no`;

const DROP_OLDER = `
  DELETE FROM newest_completions USING unnest($1::int[]) AS tenant (tenant_no)
   WHERE newest_completions.tenant_no = tenant.tenant_no
     AND no <= (SELECT no FROM newest_completions AS kept WHERE kept.tenant_no = tenant.tenant_no
                 ORDER BY no DESC OFFSET ${NEWEST_KEPT} LIMIT 1)`;

/** Stores the latest completions of each tenant for quick access, and sometimes deletes older ones. `rows`: in order of time. */
export async function keepNewestCompletions(client: PoolClient, rows: readonly CompletionRow[]): Promise<void> {
  if (rows.length === 0) return;
  const newest = lastOfEach(rows);
  const tenants = newest.map(({ tenantNo }) => tenantNo);
  const added = await client.query<{ no: string }>(ADD_NEWEST, [
    tenants,
    newest.map(({ userId }) => storableText(userId)),
    newest.map(({ achievementNo }) => achievementNo),
    newest.map(({ atMs }) => atMs),
  ]);
  if (added.rows.some(({ no }) => Number(no) % DROPPED_EVERY === 0))
    await client.query(DROP_OLDER, [[...new Set(tenants)]]);
}

/** The last `NEWEST_KEPT` rows of each tenant, in order. */
function lastOfEach(rows: readonly CompletionRow[]): CompletionRow[] {
  if (rows.length <= NEWEST_KEPT) return [...rows];
  const counts = new Map<number, number>();
  const newest = rows.toReversed().filter(({ tenantNo }) => {
    const count = (counts.get(tenantNo) ?? 0) + 1;
    counts.set(tenantNo, count);
    return count <= NEWEST_KEPT;
  });
  return newest.toReversed();
}

interface NewestCompletion {
  userId: string;
  achievementNo: number;
  at: Date;
}

export async function newestCompletions(pool: Pool, tenantNo: number): Promise<NewestCompletion[]> {
  const { rows } = await pool.query<NewestCompletion>(
    `SELECT user_id AS "userId", achievement_no AS "achievementNo", at FROM newest_completions
      WHERE tenant_no = $1 ORDER BY no DESC LIMIT ${NEWEST_KEPT}`,
    [tenantNo],
  );
  return rows;
}
