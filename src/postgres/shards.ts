import type { Pool, PoolClient } from 'pg';
import type { RebuildStep } from '../domain/administration/system.ts';
import { SHARD_NUMBERS, SHARDS } from '../redis/keys.ts';
import { OUTBOX_START } from '../redis/outbox.ts';
import type { Spread } from '../redis/parts.ts';
import { COUNT_REVISION, type Revisions } from './revisions.ts';
import { transaction } from './transaction.ts';

const READ = 'SELECT stream_id FROM outbox_cursors WHERE shard = $1';
const CREATE = 'INSERT INTO outbox_cursors (shard, stream_id) VALUES ($1, $2) ON CONFLICT DO NOTHING';

/** A shard's position in Postgres: everything in its outbox up to there is stored. Creates the cursor if needed. */
export async function readCursor(pool: Pool, shard: number): Promise<string> {
  const result = await pool.query<{ stream_id: string }>({ name: 'read_cursor', text: READ, values: [shard] });
  const row = result.rows[0];
  if (row !== undefined) return row.stream_id;
  await pool.query(CREATE, [shard, OUTBOX_START]);
  return readCursor(pool, shard);
}

/** A process that hangs in the transaction must not keep the shard forever. */
const IDLE_LIMIT_MS = 30_000;

/**
 * Forces lookups by key, regardless of the planner's estimates: for 12,000 users of a sweep it chose hash joins that spilled
 * to disk. The most frequent statements are named, so that a connection parses them once. They are still planned each time,
 * because a plan cached when there were ten users would scan a million.
 */
export const PLANNED_BY_KEYS =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL plan_cache_mode = force_custom_plan';

/** A cursor, with the revisions of catalogs and organisation that the transaction sees. */
interface LockedCursor {
  position: string;
  storageEpoch: string;
  revisions: Revisions;
}

interface CursorRow extends Revisions {
  position: string;
  storageEpoch: string;
}

/** Locks a shard's cursor for the transaction, in one round trip; `null` if another persister holds it. */
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

/** Like `lockCursor` for some shards, but waits for the persisters that hold the locks. */
export async function awaitCursors(client: PoolClient, shards: readonly number[]): Promise<void> {
  const list = shards.map(Math.trunc).join();
  await client.query(
    `${PLANNED_BY_KEYS}; SELECT FROM outbox_cursors WHERE shard IN (${list}) ORDER BY shard FOR UPDATE`,
  );
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

/** Position up to which Postgres holds a shard's outbox, and the shard's storage epoch. */
export interface StoredCursor {
  position: string;
  storageEpoch: string;
  batchProgress: string;
}

interface StoredCursors {
  /** UUID of this installation. */
  installation: string;
  cursors: StoredCursor[];
}

export async function readCursors(client: Pool | PoolClient): Promise<StoredCursors> {
  const { rows } = await client.query<StoredCursor & { installation: string }>({
    name: 'read_cursors',
    text: `SELECT installation_id AS installation, stream_id AS position, storage_epoch AS "storageEpoch",
            batch_progress AS "batchProgress"
       FROM redis_epoch, outbox_cursors WHERE shard < $1 ORDER BY shard`,
    values: [SHARDS],
  });
  if (rows.length === SHARDS) return { installation: rows[0]!.installation, cursors: rows };
  await client.query(
    'INSERT INTO outbox_cursors (shard, stream_id) SELECT no, $2 FROM generate_series(0, $1 - 1) AS no ON CONFLICT DO NOTHING',
    [SHARDS, OUTBOX_START],
  );
  return readCursors(client);
}

export async function readStorageEpoch(client: Pool | PoolClient, shard: number): Promise<string> {
  const { rows } = await client.query<{ storageEpoch: string }>({
    name: 'read_storage_epoch',
    text: 'SELECT storage_epoch AS "storageEpoch" FROM outbox_cursors WHERE shard = $1',
    values: [shard],
  });
  return rows[0]?.storageEpoch ?? '';
}

/** Locks cursors (by default, all) and waits for active persisters, none of which can store afterwards. */
export async function lockCursors(client: PoolClient, shards: readonly number[] = SHARD_NUMBERS): Promise<void> {
  await client.query('SELECT FROM outbox_cursors WHERE shard = ANY ($1) ORDER BY shard FOR UPDATE', [shards]);
}

/** Sets the storage epoch of some shards; with `from`, only if it is the current one. Returns whether all were set. */
export async function setStorageEpochs(
  client: Pool | PoolClient,
  shards: readonly number[],
  { storageEpoch, from = null }: { storageEpoch: string; from?: string | null },
): Promise<boolean> {
  const { rowCount } = await client.query(
    'UPDATE outbox_cursors SET storage_epoch = $1 WHERE shard = ANY ($2) AND storage_epoch = coalesce($3, storage_epoch)',
    [storageEpoch, shards, from],
  );
  return rowCount === shards.length;
}

/** Starts a new epoch and returns its number. All shards share one sequence. */
export async function nextEpoch(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ epoch: number }>('UPDATE redis_epoch SET epoch = epoch + 1 RETURNING epoch');
  return Number(rows[0]!.epoch);
}

/** How many shards of a cluster hold the users of the first tenant, unless an administrator chose another number. */
export const SPREAD_ON_CLUSTER = 16;

/** Spreads the first tenant over the shards of a cluster, before anything was ever written to Redis. Does nothing later. */
export async function spreadAtFirst(pool: Pool): Promise<void> {
  await transaction(pool, async (client) => {
    const { rowCount } = await client.query(
      'UPDATE redis_epoch SET epoch = 1 FROM tenants WHERE epoch = 0 AND tenants.no = 0 AND spread_epoch = 0',
    );
    if (rowCount === 1)
      await setSpread(client, { tenantNo: 0, spread: SPREAD_ON_CLUSTER, epoch: 1, converting: false });
  });
}

/** Joins `tenants` with the shard of each of their parts (`part.shard`); the rule of `partsOfSpread` (src/redis/parts.ts). */
export const PARTS = `generate_series(0, tenants.spread - 1) AS nth,
  LATERAL (SELECT (tenants.no + nth * (${SHARDS} / tenants.spread)) % ${SHARDS} AS shard) AS part`;

/** How tenants are spread that are wide, were wide, or are being converted. The others have one part. */
export async function readSpreads(client: Pool | PoolClient): Promise<Spread[]> {
  const { rows } = await client.query<Spread>({
    name: 'read_spreads',
    text: `SELECT no AS "tenantNo", spread, spread_epoch AS epoch, converting FROM tenants
            WHERE spread > 1 OR spread_epoch > 0 OR converting`,
  });
  return rows.map((row) => ({ ...row, epoch: Number(row.epoch) }));
}

/** How a tenant is spread. */
export async function readSpread(client: Pool | PoolClient, tenantNo: number): Promise<Spread> {
  const { rows } = await client.query<Spread>(
    'SELECT no AS "tenantNo", spread, spread_epoch AS epoch, converting FROM tenants WHERE no = $1',
    [tenantNo],
  );
  return { ...rows[0]!, epoch: Number(rows[0]!.epoch) };
}

/** Locks a tenant's row until the transaction ends. */
export async function lockTenant(client: PoolClient, tenantNo: number): Promise<void> {
  await client.query('SELECT FROM tenants WHERE no = $1 FOR UPDATE', [tenantNo]);
}

/** Changes how a tenant is spread, and counts it as a change of the organisation, so that no process misses it. */
export async function setSpread(client: PoolClient, { tenantNo, spread, epoch, converting }: Spread): Promise<void> {
  await client.query(
    `WITH counted AS (${COUNT_REVISION})
     UPDATE tenants SET spread = $2, spread_epoch = $3, converting = $4 WHERE no = $1`,
    [tenantNo, spread, epoch, converting],
  );
}

/** Shards that hold tenants, including archived ones, in order. */
export async function usedShards(pool: Pool): Promise<number[]> {
  const { rows } = await pool.query<{ shard: number }>({
    name: 'used_shards',
    text: `SELECT DISTINCT part.shard FROM tenants, ${PARTS} ORDER BY shard`,
  });
  return rows.map(({ shard }) => shard);
}

/** Number of tenants with a part on each shard, including archived ones; empty shards are omitted. */
export async function tenantsByShard(pool: Pool): Promise<Map<number, number>> {
  const { rows } = await pool.query<{ shard: number; tenants: number }>(
    `SELECT part.shard, count(*)::int AS tenants FROM tenants, ${PARTS} GROUP BY 1`,
  );
  return new Map(rows.map(({ shard, tenants }) => [shard, tenants]));
}

/** A rebuild in progress. `seen`: when its process last reported. */
export interface RunningRebuild {
  shards: number[];
  step: RebuildStep;
  done: number;
  total: number | null;
  began: Date;
  seen: Date;
}

/** Notes the progress of a rebuild by its epoch. The first note replaces those of earlier rebuilds of its shards. */
export async function noteRebuild(
  pool: Pool,
  { epoch, shards, step, done, total }: Omit<RunningRebuild, 'began' | 'seen'> & { epoch: number },
): Promise<void> {
  await pool.query(
    `WITH earlier AS (DELETE FROM rebuilds WHERE epoch < $1 AND shards && $2::int[])
     INSERT INTO rebuilds (epoch, shards, step, done, total, seen) VALUES ($1, $2, $3, $4, $5, clock_timestamp())
     ON CONFLICT (epoch) DO UPDATE
       SET step = EXCLUDED.step, done = EXCLUDED.done, total = EXCLUDED.total, seen = EXCLUDED.seen`,
    [epoch, shards, step, done, total],
  );
}

export async function endRebuild(pool: Pool, epoch: number): Promise<void> {
  await pool.query('DELETE FROM rebuilds WHERE epoch = $1', [epoch]);
}

/** Rebuilds in progress, oldest first. */
export async function runningRebuilds(pool: Pool): Promise<RunningRebuild[]> {
  const { rows } = await pool.query<RunningRebuild>(
    'SELECT shards, step, done::float8, total::float8, began, seen FROM rebuilds ORDER BY epoch',
  );
  return rows;
}
