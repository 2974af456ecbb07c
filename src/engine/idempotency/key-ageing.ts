import type { Pool } from 'pg';
import type { Redis } from 'ioredis';
import { DAY_MS } from '../../domain/periods.ts';
import { moveAgeing, raiseAgeing, readAgeing } from '../../postgres/idempotency/ageing-progress.ts';
import { shardOf } from '../../redis/keys.ts';
import { ageKeys, findAgedKeys, scanBuckets } from '../../redis/old-keys.ts';
import { isPersisted } from '../persist/persisted.ts';
import type { DueWork } from '../schedule/due-work.ts';

export interface KeyAgeingOptions {
  redis: Redis;
  pool: Pool;
  /** Keys stay hot for so many days after their event. */
  hotDays: number;
  /** Called between the steps: for tests, which stop the world there. */
  onStep?: (step: 'found' | 'moved') => void | Promise<void>;
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** Keys of Redis that a piece of work looks at, and calls it takes for them. */
const LOOKED_A_CALL = 1_000;
const CALLS_A_PIECE = 20;

/**
 * Moves used idempotency keys that are older than `hotDays` into the compact form, once a day of the clock. Only keys
 * whose events stand in Postgres: it finds them, waits until Postgres holds what the outbox held then, and moves these.
 * So whoever meets a key there finds its event in Postgres. A crash, or two at once, change nothing: a key is in one of
 * both places at any moment. What a pass misses (Redis was started anew in between) the next day's finds.
 */
export class KeyAgeing implements DueWork {
  readonly name = 'ageing of idempotency keys';
  readonly seesItself = true;
  private readonly options: KeyAgeingOptions;

  constructor(options: KeyAgeingOptions) {
    this.options = options;
  }

  /** Nothing waits for this, so it is due only when nothing else is: always at the time that is asked for. */
  async due(upToMs: number): Promise<number | null> {
    return (await readAgeing(this.options.pool)).doneDay < dayOf(upToMs) ? upToMs : null;
  }

  async perform(dueMs: number, ending: AbortSignal): Promise<void> {
    const { redis, pool, hotDays, onStep } = this.options;
    const progress = await readAgeing(pool);
    if (progress.doneDay >= dayOf(dueMs)) return;
    const beforeMs = dueMs - hotDays * DAY_MS;
    await raiseAgeing(pool, beforeMs);
    let { cursor } = progress;
    for (let call = 0; call < CALLS_A_PIECE; call += 1) {
      if (ending.aborted) return;
      const { cursor: next, buckets } = await scanBuckets(redis, cursor, LOOKED_A_CALL);
      const aged = await findAgedKeys(redis, buckets, beforeMs);
      await onStep?.('found');
      for (const shard of new Set(aged.map(({ tenantNo }) => shardOf(tenantNo)))) {
        if (!(await isPersisted({ redis, pool }, shard))) throw new Error('The outbox is not being stored.');
      }
      if (ending.aborted) return;
      await ageKeys(redis, aged);
      await onStep?.('moved');
      cursor = next;
      if (cursor === '0') break;
    }
    await moveAgeing(pool, cursor === '0' ? { doneDay: dayOf(dueMs), cursor } : { doneDay: progress.doneDay, cursor });
  }
}
