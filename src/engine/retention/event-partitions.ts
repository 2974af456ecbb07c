import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
import {
  endOfDefaults,
  type EventPartition,
  indexUsedKeys,
  makeEventPartition,
  mostEventsOfADay,
  readEventPartitions,
} from '../../postgres/partitions/event-partitions.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** Days for which partitions are there ahead, so that nobody need make any for so long. */
const AHEAD = 7;
/** The most days of a partition: 13 a year, each of which every read without a time looks at. */
const MOST_DAYS = 28;
/** Events that a partition is to hold at most, as long as a day has no more: an index of theirs has some 1.5 GB. */
const EVENTS = 20_000_000;
/** The past week says how many events the next weeks have. */
const PAST_DAYS = 7;
/** Days after the end of a partition from which on hardly any event of it is still on its way. */
const SETTLED_AFTER = 1;

/**
 * Creates the partitions of events ahead of their days, and the index of used keys of each finished partition. Runs once a day
 * (UTC). Idempotent; after a crash the rest is still due.
 */
export class EventPartitionsAhead implements ScheduledWork {
  readonly name = 'partitions of events';
  readonly seesItself = true;
  private readonly pool: Pool;
  /** The day (epoch day) on which nothing is left to be done. */
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

  /** Makes one partition or one index. */
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
      // What is in a default partition stays there: days of which it holds something get none of their own.
      next: end <= today + AHEAD ? Math.max(end, await endOfDefaults(this.pool)) : null,
      over: isOver ? oldest : null,
    };
  }
}

/** How many days the next partition has, by the events of the busiest day lately. */
export function widthFor(eventsOfADay: number): number {
  return Math.max(1, Math.min(MOST_DAYS, Math.floor(EVENTS / Math.max(1, eventsOfADay))));
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
