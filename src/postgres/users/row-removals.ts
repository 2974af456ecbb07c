/**
 * Rows of a deleted user of whom there are too many for the transaction that stores the deletion, and places in snapshots of leaderboards if
 * there are too many to search. A job (`user_deletion`, with `rows`) deletes them in slices. A later user with the same ID has rows as well, so the transaction lists the IDs of the rows to delete.
 */
import type { PoolClient } from 'pg';
import { addJob, type Job } from '../jobs.ts';
import type { NamedUser } from '../../domain/user.ts';
import { type EventKey, LEFT_KEYS } from '../persist/events.ts';
import { lockCursors } from '../shards.ts';
import { storableText } from '../storable-json.ts';

/** A user with more rows than this in one of the tables is deleted by a job. */
const MOST_AT_ONCE = 2_000;
const SLICE = 2_000;
/** How long a slice waits for a row that is being stored. The persister must not wait for a slice, nor be ended by a deadlock. */
const LOCK_WAIT_MS = 100;

const OF_USER = 'tenant_no = $1 AND user_id = $2';

type ListedTable = 'webhook_messages' | 'events' | 'awards' | 'used_keys';

/** Which rows are listed, in the order in which they are deleted, and the column of `rows_to_delete.part`. Messages first: they may be sent. */
const LISTED: Readonly<Record<ListedTable, { where: string; part: string }>> = {
  webhook_messages: { where: OF_USER, part: 'day' },
  events: { where: OF_USER, part: 'NULL::int' },
  awards: { where: OF_USER, part: 'system_no' },
  // Those of stored events are deleted with their events.
  used_keys: { where: LEFT_KEYS, part: 'NULL::int' },
};
const NAMES = Object.keys(LISTED) as ListedTable[];

/** Whether a table's rows are deleted by the job. */
export const isListed = (table: string): boolean => Object.hasOwn(LISTED, table);

const OPEN = `FROM jobs WHERE tenant_no = $1 AND kind = 'user_deletion' AND result ->> 'from' = $2`;

const valuesOf = ({ tenantNo, userId }: NamedUser): unknown[] => [tenantNo, storableText(userId)];

/** Whether rows of a deleted user with this ID are still to be deleted. */
export async function hasRemoval(client: Pick<PoolClient, 'query'>, user: NamedUser): Promise<boolean> {
  const { rowCount } = await client.query(`SELECT ${OPEN} LIMIT 1`, valuesOf(user));
  return rowCount === 1;
}

/** Whether a job should delete a user's rows. */
export async function needsRemoval(client: PoolClient, user: NamedUser): Promise<boolean> {
  const many = NAMES.map(
    (table) => `EXISTS (SELECT FROM ${table} WHERE ${LISTED[table].where} OFFSET ${MOST_AT_ONCE})`,
  );
  const { rows } = await client.query<{ many: boolean }>(
    `SELECT ${many.join(' OR ')} OR EXISTS (SELECT ${OPEN}) AS many`,
    valuesOf(user),
  );
  return rows[0]!.many;
}

export interface DeletedUser extends NamedUser {
  generation?: number | undefined;
  /** The leaderboards whose snapshots are to be searched, by their numbers, with the last day on which the user may be in one. */
  lastSnapshots?: Readonly<Record<number, number>> | null;
}

/**
 * Adds the job and lists the rows of a user who has many (`isLarge`), in the transaction that stores the deletion, after the other rows are deleted. From now on, the ID has sums of days:
 * those of the next user. So the listed rows are not read as that user's history, nor summed.
 */
export async function addRemoval(
  client: PoolClient,
  user: DeletedUser,
  { isLarge }: { isLarge: boolean },
): Promise<void> {
  const { tenantNo, generation = null, lastSnapshots = null } = user;
  const { no } = await addJob(client, {
    kind: 'user_deletion',
    tenantNo,
    parameters: { rows: true, generation },
    // The user is in `result`, because logs have the parameters of jobs.
    result: { from: user.userId, ...(lastSnapshots !== null && { lastSnapshots }) },
  });
  if (!isLarge) return;
  for (const table of NAMES) {
    const { where, part } = LISTED[table];
    await client.query(
      `INSERT INTO rows_to_delete (job_no, rows_of, part, ids)
       SELECT $3, '${table}', part, array_agg(id ORDER BY id) FROM (
         SELECT id, ${part} AS part, (row_number() OVER (PARTITION BY ${part} ORDER BY id) - 1) / ${SLICE} AS slice FROM ${table}
          WHERE ${where} AND id NOT IN (SELECT unnest(ids) FROM rows_to_delete WHERE rows_of = '${table}')) AS own
        GROUP BY part, slice ORDER BY part, slice`,
      [...valuesOf(user), no],
    );
  }
  await client.query('INSERT INTO summed_users (tenant_no, user_id) VALUES ($1, $2)', valuesOf(user));
}

/** A job that deletes rows. */
export type RemovalJob = Job<
  { rows: true; generation: number | null },
  { from: string; lastSnapshots?: Record<number, number> }
> & { tenantNo: number };

interface Slice {
  no: number;
  rowsOf: ListedTable;
  part: number | null;
  ids: string[];
}

const DELETE_KEYS = `DELETE FROM used_keys WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3
                     RETURNING metric_no AS "metricNo", idempotency_key AS key`;
// The bounds avoid searching every partition for each ID.
const DELETE_EVENTS = DELETE_KEYS.replace('used_keys', 'events');
const DELETE_AWARDS = `DELETE FROM awards WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2 AND $3
                        AND tenant_no = $4 AND user_id = $5 AND system_no = $6`;
const DELETE_MESSAGES = 'DELETE FROM webhook_messages WHERE id = ANY ($1::uuid[]) AND day = $2';

/** For a slice: it waits only briefly for rows that are being stored. */
export const giveWay = (client: PoolClient): Promise<unknown> =>
  client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);

/** Deletes the next rows of the job, in the client's transaction. Returns their number and idempotency keys; `null` if there are none left. */
export async function removeNextRows(
  client: PoolClient,
  { no, tenantNo, result: { from: userId } }: RemovalJob,
): Promise<{ rows: number; keys: EventKey[] } | null> {
  const { rows } = await client.query<Slice>(
    'SELECT no::float8, rows_of AS "rowsOf", part, ids FROM rows_to_delete WHERE job_no = $1 ORDER BY rows_to_delete.no LIMIT 1',
    [no],
  );
  const slice = rows[0];
  if (slice === undefined) return null;
  const keys = await deleteSlice(client, slice, { tenantNo, userId });
  await client.query('DELETE FROM rows_to_delete WHERE no = $1', [slice.no]);
  return { rows: slice.ids.length, keys };
}

async function deleteSlice(client: PoolClient, { rowsOf, part, ids }: Slice, user: NamedUser): Promise<EventKey[]> {
  if (rowsOf === 'webhook_messages') {
    await client.query(DELETE_MESSAGES, [ids, part]);
    return [];
  }
  const range = [ids, ids[0], ids.at(-1)];
  if (rowsOf === 'awards') {
    await client.query(DELETE_AWARDS, [...range, ...valuesOf(user), part]);
    return [];
  }
  const used = await client.query<EventKey>(DELETE_KEYS, range);
  if (rowsOf === 'used_keys') return used.rows;
  // The event may have been dropped since; a key of a user who was merged into this one is only here.
  const events = await client.query<{ metricNo: number; key: string | null }>(DELETE_EVENTS, range);
  const keys = new Map([...used.rows, ...events.rows].map((row) => [`${row.metricNo} ${row.key}`, row]));
  return [...keys.values()].filter((row): row is EventKey => row.key !== null);
}

/** Ends a job whose rows are deleted. If there is no new user, nothing is left of the ID. */
export async function endRemoval(
  client: PoolClient,
  { no, tenantNo, result: { from: userId } }: RemovalJob,
): Promise<void> {
  const { rowCount } = await client.query(`SELECT FROM summed_users WHERE ${OF_USER}`, valuesOf({ tenantNo, userId }));
  // So that nobody stores rows of a new user meanwhile.
  if (rowCount !== 0) await lockCursors(client);
  await client.query('DELETE FROM jobs WHERE no = $1', [no]);
  await client.query(
    `DELETE FROM summed_users AS summed WHERE ${OF_USER} AND NOT EXISTS (SELECT ${OPEN})
        AND NOT EXISTS (SELECT FROM jobs WHERE tenant_no = $1 AND kind = 'user_merge' AND result ->> 'from' = $2)
        AND NOT EXISTS (SELECT FROM users WHERE users.tenant_no = $1 AND users.id = $2)`,
    valuesOf({ tenantNo, userId }),
  );
}

/** Deletes all listed rows of former users with an ID, in the client's transaction: the present user is merged into another. */
export async function finishRemovals(
  client: PoolClient,
  user: NamedUser,
  onKeys: (keys: EventKey[], generation: number | undefined) => Promise<void>,
): Promise<void> {
  const { rows: jobs } = await client.query<RemovalJob>(
    `SELECT no::float8, tenant_no AS "tenantNo", parameters, result ${OPEN} ORDER BY jobs.no FOR UPDATE`,
    valuesOf(user),
  );
  for (const job of jobs) {
    for (;;) {
      const removed = await removeNextRows(client, job);
      if (removed === null) break;
      await onKeys(removed.keys, job.parameters.generation ?? undefined);
    }
    await client.query('DELETE FROM jobs WHERE no = $1', [job.no]);
  }
}
