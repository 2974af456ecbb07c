import type { Pool, PoolClient } from 'pg';
import { OUTBOX_START } from '../../redis/outbox.ts';
import type { Revisions } from '../revisions.ts';

const READ = 'SELECT stream_id FROM outbox_cursors WHERE shard = $1';
const CREATE = 'INSERT INTO outbox_cursors (shard, stream_id) VALUES ($1, $2) ON CONFLICT DO NOTHING';

/** A shard's position in Postgres: everything in its outbox up to there is stored. Creates the cursor if needed. */
export async function readCursor(pool: Pool, shard: number): Promise<string> {
  const found = await pool.query<{ stream_id: string }>(READ, [shard]);
  const row = found.rows[0];
  if (row !== undefined) return row.stream_id;
  await pool.query(CREATE, [shard, OUTBOX_START]);
  return readCursor(pool, shard);
}

/** A process that hangs in the transaction must not keep the shard forever. */
const IDLE_LIMIT_MS = 30_000;

/**
 * Forces lookups by key, regardless of the planner's estimates: for 12,000 users of a sweep it chose hash joins that spilled to disk. The most
 * frequent statements are named, so that a connection parses them once. They are still planned each time, because a plan cached when there
 * were ten users would scan a million.
 */
const PLANNED_BY_KEYS =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL plan_cache_mode = force_custom_plan';

/** A cursor, with the revisions of catalogs and organisation that the transaction sees. */
export interface LockedCursor {
  position: string;
  storageEpoch: string;
  revisions: Revisions;
}

interface CursorRow extends Revisions {
  position: string;
  storageEpoch: string;
}

/**
 * Locks a shard's cursor, which excludes other persisters of the shard until the transaction ends. `null` if another one holds it. One round trip;
 * `shard` is a number, so it can be part of the text.
 */
export async function lockCursor(client: PoolClient, shard: number): Promise<LockedCursor | null> {
  const results = (await client.query(
    `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_LIMIT_MS}; ${PLANNED_BY_KEYS}; ` +
      'SELECT stream_id AS position, storage_epoch AS "storageEpoch", (SELECT revision FROM organisation) AS organisation, ' +
      '(SELECT catalogs_revision FROM organisation) AS catalogs ' +
      `FROM outbox_cursors WHERE shard = ${Math.trunc(shard)} FOR UPDATE SKIP LOCKED`,
  )) as unknown as { rows: CursorRow[] }[];
  const row = results.at(-1)?.rows[0];
  if (row === undefined) return null;
  const { position, storageEpoch, organisation, catalogs } = row;
  return { position, storageEpoch, revisions: { organisation, catalogs } };
}

/** Like `lockCursor`, but waits for the persister that holds the lock. */
export async function awaitCursor(client: PoolClient, shard: number): Promise<void> {
  await client.query(`${PLANNED_BY_KEYS}; SELECT FROM outbox_cursors WHERE shard = ${Math.trunc(shard)} FOR UPDATE`);
}

/** Moves the locked cursor and, unless it is `null`, the progress of the shard's batches. */
export async function moveCursor(
  client: PoolClient,
  shard: number,
  { position, batchProgress }: { position: string; batchProgress: string | null },
): Promise<void> {
  await client.query({
    name: 'persist_cursor',
    text: 'UPDATE outbox_cursors SET stream_id = $2, batch_progress = coalesce($3, batch_progress) WHERE shard = $1',
    values: [shard, position, batchProgress],
  });
}
