import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import {
  endOfDefaults,
  type EventPartition,
  indexUsedKeys,
  makeEventPartition,
  mostEventsOfADay,
  readEventPartitions,
} from '../../postgres/partitions.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** Number of days for which partitions exist in advance. No partition need be created for that long. */
const AHEAD = 7;
/** Maximum number of days in a partition. That makes 13 a year, and every read without a time visits each. */
const MOST_DAYS = 28;
/** Target maximum of events in a partition, unless a single day has more; one of their indexes takes about 1.5 GB. */
const EVENTS = 20_000_000;
/** The past week predicts the number of events in the next weeks. */
const PAST_DAYS = 7;
/** Days after the end of a partition until almost no events for it can arrive. */
const SETTLED_AFTER = 1;

/** Creates partitions in advance, and the index of used keys of each finished one. Runs daily. Idempotent. */
export class EventPartitionsAhead implements ScheduledWork {
  readonly name = 'partitions of events';
  readonly isUpkeep = true;
  private readonly pool: Pool;
  private cleanDay: number | null = null;

  constructor({ pool }: { pool: Pool }) {
    this.pool = pool;
  }

  async due(upToMs: number): Promise<number | null> {
    const today = dayOf(upToMs);
    if (this.cleanDay === today) return null;
    const { next, over } = await this.work(today);
    if (next !== null || over !== null) return today * DAY_MS;
    this.cleanDay = today;
    return null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const day = dayOf(untilMs);
    return this.cleanDay === day ? null : day * DAY_MS;
  }

  /** Creates one partition or one index. */
  async perform(_dueMs: number, _ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const today = dayOf(upToMs);
    const { next, over } = await this.work(today);
    if (next !== null) {
      const days = { fromDay: today - PAST_DAYS, toDay: today - 1 };
      const width = widthFor(await mostEventsOfADay(this.pool, days));
      await makeEventPartition(this.pool, { firstDay: next, endDay: Math.max(next, today) + width });
    } else if (over !== null) await indexUsedKeys(this.pool, over.firstDay);
  }

  /** The first day of the next missing partition, and the oldest finished partition without an index of used keys. */
  private async work(today: number): Promise<{ next: number | null; over: EventPartition | null }> {
    const made = await readEventPartitions(this.pool);
    const end = made.at(-1)?.endDay ?? 0;
    const oldest = made.find(({ keysIndexed }) => !keysIndexed);
    const isOver = oldest !== undefined && oldest.endDay + SETTLED_AFTER <= today;
    return {
      // Rows in a default partition stay there: days with such rows get no partition of their own.
      next: end <= today + AHEAD ? Math.max(end, await endOfDefaults(this.pool)) : null,
      over: isOver ? oldest : null,
    };
  }
}

/** The number of days for the next partition, by the number of events on the busiest recent day. */
export function widthFor(eventsOfADay: number): number {
  return Math.max(1, Math.min(MOST_DAYS, Math.floor(EVENTS / Math.max(1, eventsOfADay))));
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
