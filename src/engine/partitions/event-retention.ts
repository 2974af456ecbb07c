import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import { dropEvents, moveNextUsers } from '../../postgres/partitions/drop-events.ts';
import { readEventPartitions, type EventPartition } from '../../postgres/partitions/event-partitions.ts';
import { mostLateDays } from '../../postgres/partitions/late-days.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** A piece of work takes not much longer than this. */
const WORK_MS = 1_000;

/**
 * Drops events and awards that are older than they are kept, a partition at a time, when all of it is: first they are moved to
 * the sums of their days, in slices. Nothing is dropped on whose days an event may still come late or whose used keys have no index of
 * their own yet. A crash leaves the rest due.
 */
export class EventRetention implements ScheduledWork {
  readonly name = 'retention of events';
  readonly seesItself = true;
  private readonly pool: Pool;
  private readonly days: number | null;
  /** The day (epoch day) on which nothing is left to be done. */
  private cleanDay: number | null = null;

  /** @param options.days that events are kept; null: for ever */
  constructor({ pool, days }: { pool: Pool; days: number | null }) {
    this.pool = pool;
    this.days = days;
  }

  async due(upToMs: number): Promise<number | null> {
    const today = dayOf(upToMs);
    if (this.days === null || this.cleanDay === today) return null;
    if ((await this.oldest(today)) !== null) return today * DAY_MS;
    this.cleanDay = today;
    return null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const day = dayOf(untilMs);
    return this.days === null || this.cleanDay === day ? null : day * DAY_MS;
  }

  async perform(_dueMs: number, ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const old = await this.oldest(dayOf(upToMs));
    if (old === null) return;
    const endMs = performance.now() + WORK_MS;
    while (!ending.aborted && performance.now() < endMs)
      if (!(await moveNextUsers(this.pool, old.firstDay))) {
        await dropEvents(this.pool, old.firstDay);
        return;
      }
  }

  /** The oldest stretch that is to be dropped; null: there is none. */
  private async oldest(today: number): Promise<EventPartition | null> {
    if (this.days === null) return null;
    const kept = (await readEventPartitions(this.pool)).find(({ isGone }) => !isGone);
    if (kept === undefined || !kept.keysIndexed) return null;
    const days = Math.max(this.days, (await mostLateDays(this.pool)) + 1);
    return kept.endDay + days <= today ? kept : null;
  }
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
