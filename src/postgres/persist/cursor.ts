import type { Pool, PoolClient } from 'pg';
import { OUTBOX_START } from '../../redis/outbox.ts';
import type { Revisions } from '../revisions.ts';

const READ = 'SELECT stream_id FROM outbox_cursors WHERE shard = $1';
const CREATE = 'INSERT INTO outbox_cursors (shard, stream_id) VALUES ($1, $2) ON CONFLICT DO NOTHING';

/** How far the outbox of a shard is in Postgres: an outbox position. The cursor is there afterwards. */
export async function readCursor(pool: Pool, shard: number): Promise<string> {
  const found = await pool.query<{ stream_id: string }>(READ, [shard]);
  const row = found.rows[0];
  if (row !== undefined) return row.stream_id;
  await pool.query(CREATE, [shard, OUTBOX_START]);
  return readCursor(pool, shard);
}

/** A process that hangs inside the transaction must not keep the shard for ever. */
const IDLE_LIMIT_MS = 30_000;

/**
 * The rows of a batch are looked up by their keys, whatever the planner thinks of it: for 12,000 users of a sweep it chose
 * hash joins that spilled to disk.
 */
const ONE_BY_ONE = 'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off';

/** A cursor, with the revisions of catalogs and organisation that the transaction sees. */
export interface LockedCursor {
  position: string;
  fence: string;
  revisions: Revisions;
}

interface CursorRow extends Revisions {
  position: string;
  fence: string;
}

/**
 * Locks the shard's cursor, which excludes every other persister of the shard until the transaction ends. Null while
 * another one has it. One round trip; `shard` is a number, so it is part of the text.
 */
export async function lockCursor(client: PoolClient, shard: number): Promise<LockedCursor | null> {
  const results = (await client.query(
    `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_LIMIT_MS}; ${ONE_BY_ONE}; ` +
      'SELECT stream_id AS position, fence, (SELECT revision FROM organisation) AS organisation, ' +
      '(SELECT catalogs_revision FROM organisation) AS catalogs ' +
      `FROM outbox_cursors WHERE shard = ${Math.trunc(shard)} FOR UPDATE SKIP LOCKED`,
  )) as unknown as { rows: CursorRow[] }[];
  const row = results.at(-1)?.rows[0];
  if (row === undefined) return null;
  const { position, fence, organisation, catalogs } = row;
  return { position, fence, revisions: { organisation, catalogs } };
}

/** The same, but waits for the persister that has it. */
export async function awaitCursor(client: PoolClient, shard: number): Promise<void> {
  await client.query(`${ONE_BY_ONE}; SELECT FROM outbox_cursors WHERE shard = ${Math.trunc(shard)} FOR UPDATE`);
}

/** Moves the locked cursor, and with it the progress of the shard's batches, if that is not null. */
export async function moveCursor(
  client: PoolClient,
  shard: number,
  { position, batchProgress }: { position: string; batchProgress: string | null },
): Promise<void> {
  await client.query(
    'UPDATE outbox_cursors SET stream_id = $2, batch_progress = coalesce($3, batch_progress) WHERE shard = $1',
    [shard, position, batchProgress],
  );
}
