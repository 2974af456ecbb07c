import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { redisProcessIdOf } from '../../domain/shard-state.ts';
import { AppError } from '../../errors.ts';
import { readCursor, readStorageEpoch } from '../../postgres/shards.ts';
import { hasOpenMerge } from '../../postgres/users/merge-jobs.ts';
import { hasRowMove } from '../../postgres/users/row-moves.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { knownPart, knownParts, tenantParts } from '../../redis/parts.ts';
import { gateOf, RedisNotReady } from '../../redis/gate.ts';
import { holdMerges } from '../../redis/merge-permits.ts';
import { comparePositions, lastPosition, noteAwaited } from '../../redis/outbox.ts';
import { type Bill, currentBill, forAll, inOwnTurn } from '../../pacing/turns.ts';

/** How long to wait while the cursor stands still, and while it moves. */
const PATIENCE = { stillMs: 5_000, movingMs: 30_000 };

/** Waits, within `patience`, until Postgres holds everything that a shard's outbox holds now. Returns false if it does not. */
export async function isPersisted(
  { redis, pool }: { redis: Redis; pool: Pool },
  shard: number,
  patience = PATIENCE,
): Promise<boolean> {
  const position = await lastPosition(redis, shard);
  const { end } = await cursorReaches(pool, shard, { position, ...patience, onBehind: signalAwaited(redis, shard) });
  return end === 'reached';
}

/** The same for everything that was written about a tenant; then no rows of merged users are on their way. */
export async function isTenantPersisted(
  servers: { redis: Redis; pool: Pool },
  tenantNo: number,
  patience = PATIENCE,
): Promise<boolean> {
  if (!(await arePersisted(servers, knownParts(servers.redis, tenantNo), patience))) return false;
  return areRowsMoved(servers.pool, { tenantNo }, patience.movingMs);
}

async function arePersisted(
  servers: { redis: Redis; pool: Pool },
  parts: readonly TenantPart[],
  patience: typeof PATIENCE,
): Promise<boolean> {
  const persisted = await Promise.all(parts.map(({ shard }) => isPersisted(servers, shard, patience)));
  return !persisted.includes(false);
}

/** Interval between looks for rows that are being moved. */
const MOVES_LOOK_MS = 50;

/**
 * Waits until the rows of users who were merged into a user, or into any of a tenant, belong to that user, and those of deleted users with
 * the same ID are deleted. False if it takes longer.
 */
export async function areRowsMoved(
  pool: Pool,
  concerned: { tenantNo: number; userId?: string | undefined },
  waitMs: number,
): Promise<boolean> {
  const endMs = performance.now() + waitMs;
  while (await hasRowMove(pool, concerned)) {
    if (performance.now() > endMs) return false;
    await inOwnTurn(sleep(MOVES_LOOK_MS));
  }
  return true;
}

/** Signals once that a caller waits. A lost signal costs time only. */
export function signalAwaited(redis: Redis, shard: number): () => void {
  let said = false;
  return () => {
    if (said) return;
    said = true;
    noteAwaited(redis, shard).catch(() => undefined);
  };
}

/** Interval between reads of the cursor while a caller waits, in case a signal is lost (`cursorsMoved`). */
const LOOK_MS = 100;

interface CursorWait {
  /** The outbox position to wait for. */
  position: string;
  /** How long to wait while the cursor does not move, and while it does. */
  stillMs: number;
  movingMs: number;
  /** Called while the cursor is behind; `true` ends the wait. */
  onBehind?: (cursor: string) => boolean | void;
}

/** How a wait ended, and the cursor at that time. */
interface CursorSeen {
  end: 'reached' | 'still' | 'late' | 'given up';
  cursor: string;
}

interface Waiter extends CursorWait {
  bill: Bill | null;
  beganMs: number;
  movedMs: number;
  cursor: string | null;
  resolve: (seen: CursorSeen) => void;
  reject: (error: unknown) => void;
}

/** Reads the cursor of one shard for all waiting callers in the process. */
class ShardWatch {
  private readonly pool: Pool;
  private readonly shard: number;
  private waiters: Waiter[] = [];
  private running = false;
  /** The last read may have begun too early for a caller; the next one starts at once. */
  private isOutdated = false;
  private wake = new AbortController();

  constructor(pool: Pool, shard: number) {
    this.pool = pool;
    this.shard = shard;
  }

  wait(wanted: CursorWait): Promise<CursorSeen> {
    const beganMs = performance.now();
    return new Promise((resolve, reject) => {
      this.waiters.push({ ...wanted, bill: currentBill(), beganMs, movedMs: beganMs, cursor: null, resolve, reject });
      this.readAgain();
      if (!this.running) void this.run();
    });
  }

  /** Reads the cursor for the waiting callers as soon as the read under way has ended. */
  readAgain(): void {
    this.isOutdated = true;
    this.wake.abort();
  }

  private async run(): Promise<void> {
    this.running = true;
    // Callers of the same turn of the event loop share a read.
    await Promise.resolve();
    while (this.waiters.length > 0) {
      this.isOutdated = false;
      try {
        const beganMs = performance.now();
        // Without the bill of the caller whose turn it still is: all who wait are charged.
        const cursor = await forAll(() => readCursor(this.pool, this.shard));
        this.charge(performance.now() - beganMs);
        this.serve(cursor);
      } catch (error) {
        const failed = this.waiters;
        this.waiters = [];
        for (const { reject } of failed) reject(error);
      }
      if (this.waiters.length === 0 || this.isOutdated) continue;
      this.wake = new AbortController();
      // A caller with little patience looks sooner.
      const pauseMs = Math.min(LOOK_MS, ...this.waiters.map(({ stillMs }) => stillMs));
      await sleep(pauseMs, undefined, { signal: this.wake.signal }).catch(() => undefined);
    }
    this.running = false;
  }

  /** Those who wait share the cost of a read. */
  private charge(ms: number): void {
    for (const { bill } of this.waiters) bill?.tookFromPostgres(0, ms / this.waiters.length);
  }

  private serve(cursor: string): void {
    const nowMs = performance.now();
    this.waiters = this.waiters.filter((waiter) => {
      const end = endOf(waiter, cursor, nowMs);
      if (end !== null) waiter.resolve({ end, cursor });
      return end === null;
    });
  }
}

/** How a wait ends, given the cursor; `null` if it goes on. */
function endOf(waiter: Waiter, cursor: string, nowMs: number): CursorSeen['end'] | null {
  if (comparePositions(cursor, waiter.position) >= 0) return 'reached';
  if (waiter.cursor !== null && waiter.cursor !== cursor) waiter.movedMs = nowMs;
  waiter.cursor = cursor;
  if (waiter.onBehind?.(cursor) === true) return 'given up';
  if (nowMs - waiter.movedMs > waiter.stillMs) return 'still';
  return nowMs - waiter.beganMs > waiter.movingMs ? 'late' : null;
}

// By pool: a process has one pool for each database.
const watches = new WeakMap<Pool, Map<number, ShardWatch>>();

/**
 * Waits, within the caller's patience, until the cursor of a shard reaches a position. A single loop for each shard
 * reads the cursor for all callers in the process. Rejects if Postgres does.
 */
export function cursorReaches(pool: Pool, shard: number, wanted: CursorWait): Promise<CursorSeen> {
  let byShard = watches.get(pool);
  if (byShard === undefined) watches.set(pool, (byShard = new Map()));
  let watch = byShard.get(shard);
  if (watch === undefined) byShard.set(shard, (watch = new ShardWatch(pool, shard)));
  return inOwnTurn(watch.wait(wanted));
}

/** Postgres holds more of these shards: looks whether that is what callers in the process wait for. */
export function cursorsMoved(pool: Pool, shards: Iterable<number>): void {
  const byShard = watches.get(pool);
  for (const shard of shards) byShard?.get(shard)?.readAgain();
}

const REQUEST_PATIENCE = { stillMs: 10_000, movingMs: 30_000 };

/**
 * Resolves when Postgres holds a tenant's writes so far, and all rows of merged users belong to the remaining ones; with `userId`, those
 * about this user, for which it asks only the user's server. Throws 503 after 10 s without progress, or 30 s. `movesMs`: how long to wait
 * for rows; work for many tenants must not wait for those of one.
 */
export async function untilPersisted(
  servers: { redis: Redis; pool: Pool },
  tenantNo: number,
  userId?: string,
  movesMs = REQUEST_PATIENCE.movingMs,
): Promise<void> {
  const { redis, pool } = servers;
  const parts = userId === undefined ? knownParts(redis, tenantNo) : [knownPart(redis, tenantNo, userId)];
  const isStored = await arePersisted(servers, parts, REQUEST_PATIENCE);
  if (isStored && (await areRowsMoved(pool, { tenantNo, userId }, movesMs))) return;
  throw new AppError('unavailable', 'Earlier writes are not stored yet; try again in a moment.');
}

/**
 * Reads something of a tenant that will be stored in Postgres. A shard that is being rebuilt, was moved away or came
 * back empty looks as if nobody ever had a score; functions are refused there, but plain reads are not. A merge across shards has both
 * users on leaderboards for a moment: waits for its end. Throws RedisNotReady if a shard of the tenant was not complete throughout, or
 * merges do not end.
 */
export async function whileWhole<T>(
  client: Pool | PoolClient,
  { redis, tenantNo }: { redis: Redis; tenantNo: number },
  read: () => Promise<T>,
): Promise<T> {
  const epochs = async (): Promise<string> => {
    const ofShards: string[] = [];
    // One after another: the client may be in a transaction.
    for (const { shard } of tenantParts(redis, tenantNo)) ofShards.push(await epochOfComplete(client, redis, shard));
    return ofShards.join();
  };
  await untilMerged(client, { redis, tenantNo, waitMs: MERGES_MS });
  const before = await epochs();
  const answer = await read();
  await untilMerged(client, { redis, tenantNo, waitMs: 0 });
  // A rebuild sets another storage epoch before it removes anything; so does accepting another Redis process.
  if ((await epochs()) !== before) throw new RedisNotReady();
  return answer;
}

/** Usually a merge takes less than a second. */
const MERGES_MS = 3_000;
const MERGES_LOOK_MS = 50;

/** Waits until no merge across a tenant's shards is under way, and lets no further one begin. Throws RedisNotReady if that takes longer. */
async function untilMerged(
  client: Pool | PoolClient,
  { redis, tenantNo, waitMs }: { redis: Redis; tenantNo: number; waitMs: number },
): Promise<void> {
  if (tenantParts(redis, tenantNo).length === 1 || !(await hasOpenMerge(client, tenantNo))) return;
  // Without that, a tenant that merges users all the time would never have final runs.
  await holdMerges(redis, tenantNo);
  const endMs = performance.now() + waitMs;
  while (performance.now() < endMs) {
    await sleep(MERGES_LOOK_MS);
    if (!(await hasOpenMerge(client, tenantNo))) return;
  }
  throw new RedisNotReady();
}

/** The storage epoch of a complete shard in Postgres; a guarded connection must have the same. */
async function epochOfComplete(client: Pool | PoolClient, redis: Redis, shard: number): Promise<string> {
  const storageEpoch = await readStorageEpoch(client, shard);
  const gate = gateOf(connectionOf(redis, shard));
  const isWhole =
    redisProcessIdOf(storageEpoch) !== '' && (gate === undefined || gate.storageEpochOf(shard) === storageEpoch);
  if (!isWhole) throw new RedisNotReady();
  return storageEpoch;
}
