import type { Pool, PoolClient } from 'pg';
import { type Decimal, decimalText } from '../../domain/decimal.ts';
import { dateOf } from '../../domain/periods.ts';
import { COMPLETED } from '../../packed/record-fields.ts';
import type { Compensated, PackedCompletion } from '../../packed/record.ts';
import { columns } from '../columns.ts';
import { firstIdOf } from '../partitions.ts';
import { storableJson, storableText } from '../storable-json.ts';
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

const EVENT = {
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  metricNo: 'int',
  value: 'numeric',
  total: 'numeric',
  atMs: ['time', 'at'],
  localDay: ['day', 'local_date'],
  attributes: 'jsonb',
  idempotencyKey: 'text',
  streak: 'int',
  catalogVersion: 'bigint',
} as const;
const PRESENT = columns<EventRow>(EVENT);
const OCCURRED = columns<EventRow>({ ...EVENT, occurredMs: ['time', 'occurred_at'] });

/**
 * Adds events. An existing ID is an error (23505), because the cursor guarantees that each is new. Events without a separate time
 * are copied without that column, so that they cost no more.
 */
export async function insertEvents(client: PoolClient, events: readonly EventRow[]): Promise<void> {
  const occurred = events.filter(({ occurredMs }) => occurredMs !== null);
  const present = occurred.length === 0 ? events : events.filter(({ occurredMs }) => occurredMs === null);
  await PRESENT.copyInto(client, 'events', present);
  await OCCURRED.copyInto(client, 'events', occurred);
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
    await restoreCompletions(
      client,
      restored.map((completion) => ({ tenantNo, userId, completion })),
    );
  }
}

interface UserCompletion extends NamedUser {
  completion: PackedCompletion;
}

const RESTORED = columns<
  Omit<CompletionRow, 'causedBy' | 'catalogVersion' | 'backdated'> & { causedBy: string | null }
>({
  tenantNo: 'int',
  userId: 'text',
  achievementNo: 'int',
  atMs: ['time', 'at'],
  causedBy: 'uuid',
  period: 'int',
});
const RESTORE = `${RESTORED.insertInto('completions')} ON CONFLICT DO NOTHING`;

/** Adds revoked completions again, unchanged. */
export async function restoreCompletions(client: PoolClient, restored: readonly UserCompletion[]): Promise<void> {
  if (restored.length === 0) return;
  const rows = restored.map(({ tenantNo, userId, completion }) => ({
    tenantNo,
    userId,
    achievementNo: completion[COMPLETED.achievement],
    atMs: completion[COMPLETED.atMs],
    causedBy: completion[COMPLETED.causedBy] || null,
    period: completion[COMPLETED.period] ?? 0,
  }));
  await client.query(RESTORE, RESTORED.arrays(rows));
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

const DATED = columns<DatedRow>({ id: 'uuid', localDay: ['int', 'day'] });
const NOTE = `
  UPDATE event_partitions AS part SET ahead_to = greatest(part.ahead_to, ahead.day)
    FROM (SELECT (SELECT first_day FROM event_partitions WHERE end_id > row.id ORDER BY end_id LIMIT 1) AS first_day, max(day) AS day
            FROM ${DATED.unnest('row')} GROUP BY 1) AS ahead
   WHERE part.first_day = ahead.first_day`;

/**
 * Records, by partition, rows that count for a day later than the one after their ID's. Reads of that day would not look
 * there (`readSinceDay`). Call it in the transaction that stores the rows. There are almost never any; then it costs a text
 * comparison per row.
 */
export async function noteDatedAhead(client: PoolClient, lists: readonly (readonly DatedRow[])[]): Promise<void> {
  const ahead = lists.flatMap(datedAhead);
  if (ahead.length === 0) return;
  await client.query(NOTE, DATED.arrays(ahead));
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

const AWARD = columns<AwardRow>({
  id: 'uuid',
  tenantNo: 'int',
  userId: 'text',
  systemNo: 'int',
  triggerNo: 'int',
  awarded: 'bigint',
  total: 'bigint',
  boostNos: 'int[]',
  atMs: ['time', 'at'],
  localDay: ['day', 'local_date'],
  catalogVersion: 'bigint',
});

/** Adds awards of points. An existing ID is an error (23505), because the cursor guarantees that each is new. */
export const insertAwards = (client: PoolClient, awards: readonly AwardRow[]): Promise<void> =>
  AWARD.copyInto(client, 'awards', awards);

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

const COMPLETED_ROW = columns<CompletionRow>({
  tenantNo: 'int',
  userId: 'text',
  achievementNo: 'int',
  atMs: ['time', 'at'],
  causedBy: 'uuid',
  catalogVersion: 'bigint',
  backdated: 'boolean',
  period: 'int',
});
const INSERT_COMPLETIONS = `${COMPLETED_ROW.insertInto('completions')} ON CONFLICT DO NOTHING`;

/** Adds completions. An achievement is completed only once, or once a period, so an earlier completion is kept. */
export async function insertCompletions(client: PoolClient, completions: readonly CompletionRow[]): Promise<void> {
  if (completions.length === 0) return;
  const values = COMPLETED_ROW.arrays(completions);
  await client.query({ name: 'persist_completions', text: INSERT_COMPLETIONS, values });
}

/** Number shown, and at least kept, per tenant. */
const NEWEST_KEPT = 20;
/** One transaction in this many also deletes old rows, which takes 0.5 ms. */
const DROPPED_EVERY = 64;

const NEWEST = columns<CompletionRow>({ tenantNo: 'int', userId: 'text', achievementNo: 'int', atMs: ['time', 'at'] });
const ADD_NEWEST = `${NEWEST.insertInto('newest_completions')} RETURNING no`;

const DROP_OLDER = `
  DELETE FROM newest_completions USING unnest($1::int[]) AS tenant (tenant_no)
   WHERE newest_completions.tenant_no = tenant.tenant_no
     AND no <= (SELECT no FROM newest_completions AS kept WHERE kept.tenant_no = tenant.tenant_no
                 ORDER BY no DESC OFFSET ${NEWEST_KEPT} LIMIT 1)`;

/** Stores the latest completions of each tenant for quick access, and sometimes deletes older ones. `rows`: in order of time. */
export async function keepNewestCompletions(client: PoolClient, rows: readonly CompletionRow[]): Promise<void> {
  if (rows.length === 0) return;
  const newest = lastOfEach(rows);
  const added = await client.query<{ no: string }>(ADD_NEWEST, NEWEST.arrays(newest));
  if (added.rows.some(({ no }) => Number(no) % DROPPED_EVERY === 0))
    await client.query(DROP_OLDER, [[...new Set(newest.map(({ tenantNo }) => tenantNo))]]);
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
