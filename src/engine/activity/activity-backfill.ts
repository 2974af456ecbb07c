import type { Pool } from 'pg';
import { lockBackfill, moveBackfill } from '../../postgres/activity/backfill.ts';
import { COUNT_SLICE } from '../../postgres/activity/count-slices.ts';
import { readCounted } from '../../postgres/activity/read-days.ts';
import { transaction } from '../../postgres/transaction.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** A piece of work takes not much longer than this. */
const WORK_MS = 1_000;

/**
 * Counts what happened before days were counted as they are stored, once after the upgrade: the last 90 days, in slices of
 * seconds at most. A slice and how far it goes are one transaction, so that a crash anywhere counts nothing twice. Where nothing is
 * left it asks Postgres no more.
 */
export class ActivityBackfill implements ScheduledWork {
  readonly name = 'counts of earlier days';
  readonly seesItself = true;
  private readonly pool: Pool;
  private readonly onSlice: () => void | Promise<void>;
  private isDone = false;

  /** @param onSlice called before the commit of each slice: for tests, which stop the world there */
  constructor({ pool, onSlice = () => undefined }: { pool: Pool; onSlice?: () => void | Promise<void> }) {
    this.pool = pool;
    this.onSlice = onSlice;
  }

  /** Nothing waits for this, so it is due only when nothing else is: always at the time that is asked for. */
  async due(upToMs: number): Promise<number | null> {
    if (!this.isDone) this.isDone = (await readCounted(this.pool)).complete;
    return this.isDone ? null : upToMs;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(_dueMs: number, ending: AbortSignal): Promise<void> {
    const endMs = performance.now() + WORK_MS;
    while (!ending.aborted && performance.now() < endMs && (await this.slice()));
  }

  /** Counts a slice; false: there is none. */
  private slice(): Promise<boolean> {
    return transaction(this.pool, async (client) => {
      const backfill = await lockBackfill(client);
      if (backfill === null) return false;
      await moveBackfill(client, backfill.source, await COUNT_SLICE[backfill.source](client, backfill));
      await this.onSlice();
      return true;
    });
  }
}
