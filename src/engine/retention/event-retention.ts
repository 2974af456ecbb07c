import type { Pool } from 'pg';
import { DAY_MS } from '../../domain/periods.ts';
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
import type { ScheduledWork } from '../schedule/due-work.ts';
import type { JobWork, RecordSlice } from '../schedule/job-runner.ts';

const KIND = 'event_retention';

/** A job that drops the partition of events and awards that begins on a day (epoch day). */
type PartitionDrop = Job<{ firstDay: number; endDay: number }>;

/**
 * Adds a job for the oldest partition past the retention period, unless late events may arrive, points earned then have not
 * expired, or keys lack an index.
 */
export class EventRetention implements ScheduledWork {
  readonly name = 'retention of events';
  readonly isUpkeep = true;
  private readonly pool: Pool;
  private readonly days: number | null;
  private readonly onAdded: () => void;
  /** The day (epoch day) for which everything is done. */
  private cleanDay: number | null = null;

  /** `days`: number of days that events are kept; `null`: for ever. `onAdded`: called when a job was added. */
  constructor({ pool, days, onAdded = () => undefined }: { pool: Pool; days: number | null; onAdded?: () => void }) {
    this.pool = pool;
    this.days = days;
    this.onAdded = onAdded;
  }

  async due(upToMs: number): Promise<number | null> {
    const today = dayOf(upToMs);
    if (this.days === null || this.cleanDay === today || (await openJobs(this.pool, { kind: KIND })) > 0) return null;
    if ((await this.oldest(today)) !== null) return today * DAY_MS;
    this.cleanDay = today;
    return null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    const day = dayOf(untilMs);
    return this.days === null || this.cleanDay === day ? null : day * DAY_MS;
  }

  async perform(_dueMs: number, _ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    const old = await this.oldest(dayOf(upToMs));
    if (old === null) return;
    const { firstDay, endDay } = old;
    await addJob(this.pool, { kind: KIND, tenantNo: null, parameters: { firstDay, endDay }, nowMs: upToMs });
    this.onAdded();
  }

  /** The oldest partition to drop; `null` if there is none. */
  private async oldest(today: number): Promise<EventPartition | null> {
    if (this.days === null) return null;
    const kept = (await readEventPartitions(this.pool)).find(({ isGone }) => !isGone);
    if (kept === undefined || !kept.keysIndexed) return null;
    const expiring = await expiringSystems(this.pool);
    const longest = Math.max(-1, ...expiring.map(({ afterDays }) => afterDays ?? -1));
    const days = Math.max(this.days, (await mostLateDays(this.pool)) + 1, longest + 2);
    return kept.endDay + days <= today ? kept : null;
  }
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

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
