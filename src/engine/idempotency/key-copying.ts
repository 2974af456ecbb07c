import type { Pool } from 'pg';
import type { Log } from '../../log/log.ts';
import { copyKeys, nextKeyCopy } from '../../postgres/idempotency/key-copies.ts';
import type { ScheduledWork } from '../schedule/due-work.ts';

/** A piece of work takes not much longer than this. */
const WORK_MS = 1_000;
/** Progress is reported once in this time. */
const REPORT_MS = 30_000;

/** Logs how far it is. */
export const sayHowFarKeysAre = (log: Pick<Log, 'info'>, upToMs: number | null): void =>
  upToMs === null
    ? log.info({}, 'idempotency keys of earlier versions: a pass is done')
    : log.info({ eventsUpTo: new Date(upToMs).toISOString() }, 'idempotency keys of earlier versions are being copied');

export interface KeyCopyingOptions {
  pool: Pool;
  /** Called now and then with the time (epoch ms) up to which the keys of events are copied; null: of all that there are. */
  onProgress?: (upToMs: number | null) => void;
}

/**
 * Copies the idempotency keys of events that an earlier version stored into the table of used keys, once after the upgrade, and
 * once more a day later for what its last workers stored. In slices: a crash anywhere goes on where it was. Until it is
 * done, keys are read from both.
 */
export class KeyCopying implements ScheduledWork {
  readonly name = 'copying of idempotency keys';
  readonly seesItself = true;
  private readonly options: KeyCopyingOptions;
  private isDone = false;
  private reportedMs = -Infinity;

  constructor(options: KeyCopyingOptions) {
    this.options = options;
  }

  /** Nothing waits for this, so it is due only when nothing else is: always at the time that is asked for. */
  async due(upToMs: number): Promise<number | null> {
    if (this.isDone) return null;
    const next = await nextKeyCopy(this.options.pool);
    this.isDone = next === null;
    return next !== null && next.notBeforeMs <= next.nowMs ? upToMs : null;
  }

  /** While the second pass waits it names no time, which would be of the server's clock: each pass of the schedule asks `due`. */
  async upcoming(untilMs: number): Promise<number | null> {
    return this.due(untilMs);
  }

  async perform(_dueMs: number, ending: AbortSignal): Promise<void> {
    const endMs = performance.now() + WORK_MS;
    while (!ending.aborted && performance.now() < endMs) {
      const upTo = await copyKeys(this.options.pool);
      if (upTo === null) return this.options.onProgress?.(null);
      this.report(parseInt(upTo.replaceAll('-', '').slice(0, 12), 16));
    }
  }

  private report(upToMs: number): void {
    const nowMs = performance.now();
    if (nowMs - this.reportedMs < REPORT_MS) return;
    this.reportedMs = nowMs;
    this.options.onProgress?.(upToMs);
  }
}
