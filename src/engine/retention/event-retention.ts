import type { Pool } from 'pg';
import { DAY_MS, epochDay } from '../../domain/periods.ts';
import { addJob, type Job, openJobs, type Progress } from '../../postgres/jobs.ts';
import {
  dropEvents,
  type EventPartition,
  eventsLeft,
  mostLateDays,
  moveNextUsers,
  readEventPartitions,
} from '../../postgres/partitions.ts';
import { expiringSystems } from '../../postgres/expiries.ts';
import { periodicUpkeep, type ScheduledWork } from '../schedule/due-work.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';

const KIND = 'event_retention';

/** A job that drops the partition of events and awards that begins on a day (epoch day). */
type PartitionDrop = Job<{ firstDay: number; endDay: number }>;

/**
 * Adds a job for the oldest partition past the retention period, unless late events may arrive, points earned then have not
 * expired, or keys lack an index. `days`: number of days that events are kept; `null`: for ever.
 */
export const createEventRetention = (pool: Pool, days: number | null, onAdded?: () => void): ScheduledWork =>
  periodicUpkeep('retention of events', DAY_MS, {
    dueMs: async (upToMs) => {
      if (days === null) return null;
      if ((await openJobs(pool, { kind: KIND })) > 0) return 'waits';
      const today = epochDay(upToMs);
      return (await oldestToDrop(pool, days, today)) === null ? null : today * DAY_MS;
    },
    perform: async (upToMs) => {
      const old = days === null ? null : await oldestToDrop(pool, days, epochDay(upToMs));
      if (old === null) return;
      const { firstDay, endDay } = old;
      await addJob(pool, { kind: KIND, tenantNo: null, parameters: { firstDay, endDay }, nowMs: upToMs });
      onAdded?.();
    },
  });

async function oldestToDrop(pool: Pool, keptDays: number, today: number): Promise<EventPartition | null> {
  const oldest = (await readEventPartitions(pool)).find(({ isGone }) => !isGone);
  if (oldest === undefined || !oldest.keysIndexed) return null;
  const expiring = await expiringSystems(pool);
  const longest = Math.max(-1, ...expiring.map(({ afterDays }) => afterDays ?? -1));
  const days = Math.max(keptDays, (await mostLateDays(pool)) + 1, longest + 2);
  return oldest.endDay + days <= today ? oldest : null;
}

/** Drops partitions of events and awards, after adding them to daily sums in slices. */
export function createPartitionDropping(pool: Pool, onDropped: () => void = () => undefined): JobWork {
  const kinds = [KIND] as const;
  const title = 'retention of events';

  function onRecorded({ end }: Progress): void {
    if (end !== undefined) onDropped();
  }

  async function slice({ total, parameters: { firstDay } }: PartitionDrop, record: RecordSlice): Promise<void> {
    const left = total === null ? await eventsLeft(pool, firstDay) : null;
    await record(async (client) => {
      const moved = await moveNextUsers(client, firstDay);
      if (moved !== null) return { done: moved, ...(left !== null && { total: left }) };
      return (await dropEvents(client, firstDay)) ? { end: 'done' } : {};
    });
  }

  return { kinds, title, onRecorded, slice };
}
