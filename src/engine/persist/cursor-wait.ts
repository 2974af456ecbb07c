/** Waits until Postgres holds a position of the outbox. */
import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { redisProcessIdOf } from '../../domain/shard-state.ts';
import { AppError } from '../../errors.ts';
import { readCursor, readStorageEpoch } from '../../postgres/shards.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { gateOf, RedisNotReady } from '../../redis/gate.ts';
import { shardOf } from '../../redis/keys.ts';
import { comparePositions, lastPosition, noteAwaited } from '../../redis/outbox.ts';

/** How long is waited while nothing moves, and while it does. */
const PATIENCE = { stillMs: 5_000, movingMs: 30_000 };

/** Waits, for as long as `patience` says, until Postgres holds what a shard's outbox holds now. False: it does not. */
export async function isPersisted(
  { redis, pool }: { redis: Redis; pool: Pool },
  shard: number,
  patience = PATIENCE,
): Promise<boolean> {
  const position = await lastPosition(redis, shard);
  const { end } = await cursorReaches(pool, shard, { position, ...patience, onBehind: sayAwaited(redis, shard) });
  return end === 'reached';
}

/** Says once that a caller waits. A hint: one that is lost costs time and nothing else. */
export function sayAwaited(redis: Redis, shard: number): () => void {
  let said = false;
  return () => {
    if (said) return;
    said = true;
    noteAwaited(redis, shard).catch(() => undefined);
  };
}

/** How often a cursor is read while anybody waits for it. */
const LOOK_MS = 10;

interface CursorWait {
  /** The position of the outbox that is waited for. */
  position: string;
  /** How long is waited while the cursor does not move, and while it does. */
  stillMs: number;
  movingMs: number;
  /** Asked when the cursor is not there yet: true ends the wait. */
  onBehind?: (cursor: string) => boolean | void;
}

/** How a wait ended, and where the cursor stood then. */
interface CursorSeen {
  end: 'reached' | 'still' | 'late' | 'given up';
  cursor: string;
}

interface Waiter extends CursorWait {
  beganMs: number;
  movedMs: number;
  cursor: string | null;
  resolve: (seen: CursorSeen) => void;
  reject: (error: unknown) => void;
}

/** Reads the cursor of one shard for everybody in the process who waits for it. */
class ShardWatch {
  private readonly pool: Pool;
  private readonly shard: number;
  private waiters: Waiter[] = [];
  private running = false;
  /** Somebody came since the last read began, whom it may not serve: the next one begins at once. */
  private newcomers = false;
  private wake = new AbortController();

  constructor(pool: Pool, shard: number) {
    this.pool = pool;
    this.shard = shard;
  }

  wait(wanted: CursorWait): Promise<CursorSeen> {
    const beganMs = performance.now();
    return new Promise((resolve, reject) => {
      this.waiters.push({ ...wanted, beganMs, movedMs: beganMs, cursor: null, resolve, reject });
      this.newcomers = true;
      if (this.running) this.wake.abort();
      else void this.run();
    });
  }

  private async run(): Promise<void> {
    this.running = true;
    // Those who come in the same turn are served by the same read.
    await Promise.resolve();
    while (this.waiters.length > 0) {
      this.newcomers = false;
      try {
        this.serve(await readCursor(this.pool, this.shard));
      } catch (error) {
        const failed = this.waiters;
        this.waiters = [];
        for (const { reject } of failed) reject(error);
      }
      if (this.waiters.length === 0 || this.newcomers) continue;
      this.wake = new AbortController();
      await sleep(LOOK_MS, undefined, { signal: this.wake.signal }).catch(() => undefined);
    }
    this.running = false;
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

/** How a wait ends by what the cursor is now; null: it goes on. */
function endOf(waiter: Waiter, cursor: string, nowMs: number): CursorSeen['end'] | null {
  if (comparePositions(cursor, waiter.position) >= 0) return 'reached';
  if (waiter.cursor !== null && waiter.cursor !== cursor) waiter.movedMs = nowMs;
  waiter.cursor = cursor;
  if (waiter.onBehind?.(cursor) === true) return 'given up';
  if (nowMs - waiter.movedMs > waiter.stillMs) return 'still';
  return nowMs - waiter.beganMs > waiter.movingMs ? 'late' : null;
}

// By pool: what is waited for is what its database holds, and a process has one pool for that.
const watches = new WeakMap<Pool, Map<number, ShardWatch>>();

/**
 * Waits until the cursor of a shard has reached a position, for as long as the caller's patience says. However many wait
 * in a process, the cursor is read by one loop a shard: 200 who wait for a tenth of a second cost some ten reads, where
 * each reading by itself cost 811. Rejects when Postgres does.
 */
export function cursorReaches(pool: Pool, shard: number, wanted: CursorWait): Promise<CursorSeen> {
  let byShard = watches.get(pool);
  if (byShard === undefined) watches.set(pool, (byShard = new Map()));
  let watch = byShard.get(shard);
  if (watch === undefined) byShard.set(shard, (watch = new ShardWatch(pool, shard)));
  return watch.wait(wanted);
}

const REQUEST_PATIENCE = { stillMs: 10_000, movingMs: 30_000 };

/**
 * Resolves when Postgres holds what was written for a tenant before the call. 503 if nothing moves for 10 s, or it takes
 * more than 30 s.
 */
export async function untilPersisted({ redis, pool }: { redis: Redis; pool: Pool }, tenantNo: number): Promise<void> {
  if (await isPersisted({ redis, pool }, shardOf(tenantNo), REQUEST_PATIENCE)) return;
  throw new AppError('unavailable', 'What was written before is not stored yet; try again in a moment.');
}

/**
 * Reads something of a shard that Postgres will keep. A shard that is being rebuilt, was moved away or came back empty looks as if
 * nobody ever had a score; functions are refused there, but reads are not. Throws RedisNotReady if the shard was not complete all
 * the while.
 */
export async function whileWhole<T>(
  client: Pool | PoolClient,
  { redis, shard }: { redis: Redis; shard: number },
  read: () => Promise<T>,
): Promise<T> {
  const before = await epochOfComplete(client, redis, shard);
  const answer = await read();
  // A rebuild sets another storage epoch before it removes anything, as does an inspection that accepts another Redis process.
  if ((await epochOfComplete(client, redis, shard)) !== before) throw new RedisNotReady();
  return answer;
}

/** The storage epoch of a complete shard, as Postgres has it; a guarded connection must have the same. */
async function epochOfComplete(client: Pool | PoolClient, redis: Redis, shard: number): Promise<string> {
  const storageEpoch = await readStorageEpoch(client, shard);
  const gate = gateOf(connectionOf(redis, shard));
  const isWhole =
    redisProcessIdOf(storageEpoch) !== '' && (gate === undefined || gate.storageEpochOf(shard) === storageEpoch);
  if (!isWhole) throw new RedisNotReady();
  return storageEpoch;
}
