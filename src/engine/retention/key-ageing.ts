import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { moveAgeing, raiseAgeing, readAgeing } from '../../postgres/used-keys.ts';
import { fieldOfDigest, wideBucket } from '../../redis/idempotency.ts';
import { idempotencyKey, shardOfKey } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { ageKeys, type BucketKeys, findAgedKeys, scanBuckets } from '../../redis/old-keys.ts';
import { idempotencyDigest } from '../ids.ts';
import { isPersisted } from '../persist/cursor-wait.ts';
import { type OnPieceFailed, type Piece, Pieces, tenantPiece } from '../schedule/pieces.ts';
import { groupedBy } from '../../grouped.ts';
import { isUnavailable } from '../unavailable.ts';
import { waitingKeys } from './waiting-keys.ts';

export interface KeyAgeingOptions {
  redis: Redis;
  pool: Pool;
  /** Number of days that keys stay in the hot form after their event. */
  hotDays: number;
  onFailed?: OnPieceFailed;
  /** Called between the steps, so that tests can stop there. */
  onStep?: (step: 'found' | 'moved') => void | Promise<void>;
}

type Bucket = Parameters<typeof findAgedKeys>[1][number];

/** Redis keys that each call scans, and calls in a piece of work. */
const LOOKED_A_CALL = 1_000;
const CALLS_A_PIECE = 20;

/**
 * Moves used idempotency keys that are older than `hotDays` to the compact form, once a day of the clock. It finds
 * them, waits until Postgres holds everything that the outbox held then, and moves all but those of events in dead
 * letters. So the event of a key in the compact form is in Postgres. Crashes and concurrent runs do no harm: at any
 * moment a key is in exactly one of the two forms. The next day's run finds keys that a run missed because Redis was
 * restarted, a shard's outbox was stuck, or a tenant's keys could not be moved.
 */
export function createKeyAgeing(options: KeyAgeingOptions) {
  const { pool, redis, hotDays, onStep } = options;
  const name = 'ageing of idempotency keys';
  const isUpkeep = true;
  const pieces = new Pieces({ kind: name, onFailed: options.onFailed });

  async function due(upToMs: number): Promise<number | null> {
    return (await readAgeing(pool)).doneDay < epochDay(upToMs) ? upToMs : null;
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    const today = epochDay(untilMs);
    return (await readAgeing(pool)).doneDay < today ? today * DAY_MS : null;
  }

  async function perform(dueMs: number, ending: AbortSignal): Promise<void> {
    const progress = await readAgeing(pool);
    if (progress.doneDay >= epochDay(dueMs)) return;
    const beforeMs = dueMs - hotDays * DAY_MS;
    await raiseAgeing(pool, beforeMs);
    let { cursor } = progress;
    for (let call = 0; call < CALLS_A_PIECE; call += 1) {
      if (ending.aborted) return;
      const { cursor: next, buckets } = await scanBuckets(redis, cursor, LOOKED_A_CALL);
      if (!(await age(buckets, beforeMs, ending))) return;
      cursor = next;
      if (cursor === '0') break;
    }
    await moveAgeing(
      pool,
      cursor === '0' ? { doneDay: epochDay(dueMs), cursor } : { doneDay: progress.doneDay, cursor },
    );
  }

  /** Moves the old keys of some buckets, all together or, if that fails, tenant by tenant. Returns false if it was aborted. */
  async function age(buckets: readonly Bucket[], beforeMs: number, ending: AbortSignal): Promise<boolean> {
    try {
      return await move(buckets, beforeMs, ending);
    } catch (error) {
      if (isUnavailable(error) || ending.aborted) throw error;
    }
    const byTenant = groupedBy(buckets, (bucket) => bucket.tenantNo);
    const pieceOf = ([tenantNo]: [number, unknown]): Piece => tenantPiece(tenantNo);
    await pieces.attemptEach(byTenant, pieceOf, ending, ([, own], signal) => move(own, beforeMs, signal));
    return !ending.aborted;
  }

  async function move(buckets: readonly Bucket[], beforeMs: number, ending: AbortSignal): Promise<boolean> {
    const aged = await findAgedKeys(redis, buckets, beforeMs);
    await onStep?.('found');
    const persisted = new Set<number>();
    for (const shard of new Set(aged.map(({ bucket }) => shardOfKey(bucket))))
      if (await isShardStored(shard, ending)) persisted.add(shard);
    if (ending.aborted) return false;
    const stored = aged.filter(({ bucket }) => persisted.has(shardOfKey(bucket)));
    await ageKeys(redis, stored.length === 0 ? [] : await withoutWaiting({ redis, pool }, stored));
    await onStep?.('moved');
    return true;
  }

  /** Whether Postgres holds everything that a shard's outbox holds now. A shard that stands still is waited for once only. */
  async function isShardStored(shard: number, ending: AbortSignal): Promise<boolean> {
    const piece = { key: `shard ${shard}`, name: `shard ${shard}`, detail: { shard } };
    if (pieces.isAside(piece.key)) return false;
    const persisted = await pieces.attempt(piece, ending, async () => {
      if (!(await isPersisted(options, shard))) throw new Error('The outbox is not being stored.');
    });
    return persisted !== undefined;
  }

  return { name, isUpkeep, due, upcoming, perform };
}

/** Removes keys whose events are in dead letters: Postgres holds those events, but not where keys are looked up. */
async function withoutWaiting(
  servers: { redis: Redis; pool: Pool },
  keys: readonly BucketKeys[],
): Promise<BucketKeys[]> {
  const waiting = new Set<string>();
  for await (const { tenantNo, userId, metricNo, key } of waitingKeys(servers)) {
    const { bucket, field } = idempotencyDigest(userId, metricNo, key);
    waiting.add(`${idempotencyKey(userPart(servers.redis, tenantNo, userId), bucket)} ${field}`);
  }
  const isStored = (bucket: string, field: string): boolean =>
    !waiting.has(`${wideBucket(bucket)} ${fieldOfDigest(field)}`);
  return keys.map((some) => ({ ...some, fields: some.fields.filter((field) => isStored(some.bucket, field)) }));
}
