import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import {
  deleteMessagesBefore,
  dropMessageDay,
  forgetDeletedWebhooks,
  hasMessagesBefore,
  makeMessageDay,
  messageDays,
} from '../../postgres/webhooks/messages.ts';
import { eraseEndedSecrets, nextSecretEndMs } from '../../postgres/webhooks/secrets.ts';
import type { DueWork } from '../schedule/due-work.ts';

/** Days whose partitions are created in advance. A worker may be away for that long. */
const AHEAD = 2;

/**
 * Manages the log of webhook messages: creates the partitions of the coming days, and drops those that are older than
 * the retention period, including messages that still wait. Runs once a day at the start of the UTC day. Idempotent;
 * after a crash the rest is still due.
 */
export class MessageLog implements DueWork {
  readonly name = 'log of webhooks';
  readonly isUpkeep = true;
  private readonly pool: Pool;
  private readonly days: number;
  /** The day (epoch day) for which everything is done. */
  private cleanDay: number | null = null;

  /** @param days number of days that the log is kept */
  constructor(pool: Pool, days: number) {
    this.pool = pool;
    this.days = days;
  }

  async due(upToMs: number): Promise<number | null> {
    const today = dayOf(upToMs);
    if (this.cleanDay === today) return null;
    const { missing, old, leftovers } = await this.work(today);
    if (missing.length > 0 || old.length > 0 || leftovers) return today * DAY_MS;
    this.cleanDay = today;
    return null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const day = dayOf(untilMs);
    return this.cleanDay === day ? null : day * DAY_MS;
  }

  async perform(_dueMs: number, ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const today = dayOf(upToMs);
    const { missing, old, leftovers } = await this.work(today);
    for (const day of missing) await makeMessageDay(this.pool, day);
    for (const day of old) if (!ending.aborted) await dropMessageDay(this.pool, day);
    if (leftovers) await deleteMessagesBefore(this.pool, today - this.days);
    await forgetDeletedWebhooks(this.pool);
    // A day with messages in the default partition gets no partition of its own.
    if (old.length === 0 && !leftovers) this.cleanDay = today;
  }

  private async work(today: number): Promise<{ missing: number[]; old: number[]; leftovers: boolean }> {
    const made = await messageDays(this.pool);
    const wanted = Array.from({ length: AHEAD + 1 }, (_, n) => today + n);
    return {
      missing: wanted.filter((day) => !made.includes(day)),
      old: made.filter((day) => day < today - this.days),
      leftovers: await hasMessagesBefore(this.pool, today - this.days),
    };
  }
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** Erases the previous secret of a webhook after the 24 hours in which it also signs. */
export function createSecretErasure(pool: Pool) {
  const name = 'previous secrets of webhooks';
  const isUpkeep = true;

  async function due(upToMs: number): Promise<number | null> {
    const endMs = await nextSecretEndMs(pool);
    return endMs !== null && endMs <= upToMs ? endMs : null;
  }

  async function upcoming(untilMs: number): Promise<number | null> {
    return due(untilMs);
  }

  async function perform(_dueMs: number, _ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    await eraseEndedSecrets(pool, upToMs);
  }

  return { name, isUpkeep, due, upcoming, perform };
}
