import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { deleteAuditBefore, oldestAuditMs } from '../../postgres/access/audit.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** Entries deleted in a step: about 30 ms of Postgres. */
const STEP = 5_000;

/** Deletes audit log entries older than the retention period, daily at midnight UTC. Idempotent. */
export class AuditRetention implements ScheduledWork {
  readonly name = 'old entries of the audit log';
  readonly isUpkeep = true;
  private readonly pool: Pool;
  private readonly days: number;
  private readonly step: number;
  /** The day (epoch day) for which everything is deleted. New entries are not old before the next day. */
  private cleanDay: number | null = null;

  constructor({ pool, days, step = STEP }: { pool: Pool; days: number; step?: number }) {
    this.pool = pool;
    this.days = days;
    this.step = step;
  }

  async due(upToMs: number): Promise<number | null> {
    const today = dayOf(upToMs);
    if (this.cleanDay === today) return null;
    const oldestMs = await oldestAuditMs(this.pool);
    const dueMs = oldestMs === null ? Infinity : (dayOf(oldestMs) + 1 + this.days) * DAY_MS;
    if (dueMs <= upToMs) return dueMs;
    this.cleanDay = today;
    return null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const day = dayOf(untilMs);
    return this.cleanDay === day ? null : day * DAY_MS;
  }

  async perform(_dueMs: number, _ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const beforeMs = (dayOf(upToMs) - this.days) * DAY_MS;
    await deleteAuditBefore(this.pool, { beforeMs, most: this.step });
  }
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
