import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import {
  endOfDefaults,
  type EventPartition,
  indexUsedKeys,
  makeEventPartition,
  mostEventsOfADay,
  readEventPartitions,
} from '../../postgres/partitions.ts';
import { periodicUpkeep, type ScheduledWork } from '../schedule/due-work.ts';

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
export const createEventPartitionsAhead = (pool: Pool): ScheduledWork =>
  periodicUpkeep('partitions of events', DAY_MS, {
    dueMs: async (upToMs) => {
      const today = epochDay(upToMs);
      const { next, over } = await partitionWork(pool, today);
      return next === null && over === null ? null : today * DAY_MS;
    },
    /** Creates one partition or one index. */
    perform: async (upToMs) => {
      const today = epochDay(upToMs);
      const { next, over } = await partitionWork(pool, today);
      if (next !== null) {
        const days = { fromDay: today - PAST_DAYS, toDay: today - 1 };
        const width = widthFor(await mostEventsOfADay(pool, days));
        await makeEventPartition(pool, { firstDay: next, endDay: Math.max(next, today) + width });
      } else if (over !== null) await indexUsedKeys(pool, over.firstDay);
    },
  });

/** The first day of the next missing partition, and the oldest finished partition without an index of used keys. */
async function partitionWork(pool: Pool, today: number): Promise<{ next: number | null; over: EventPartition | null }> {
  const partitions = await readEventPartitions(pool);
  const end = partitions.at(-1)?.endDay ?? 0;
  const oldest = partitions.find(({ keysIndexed }) => !keysIndexed);
  const isOver = oldest !== undefined && oldest.endDay + SETTLED_AFTER <= today;
  return {
    // Rows in a default partition stay there: days with such rows get no partition of their own.
    next: end <= today + AHEAD ? Math.max(end, await endOfDefaults(pool)) : null,
    over: isOver ? oldest : null,
  };
}

/** The number of days for the next partition, by the number of events on the busiest recent day. */
export function widthFor(eventsOfADay: number): number {
  return Math.max(1, Math.min(MOST_DAYS, Math.floor(EVENTS / Math.max(1, eventsOfADay))));
}
