import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { type RecordedTry, recordTries, type WebhookHealth } from '../../postgres/webhooks/tries.ts';

interface Entry {
  tried: RecordedTry;
  onRecorded: () => void;
}

export interface TryRecorderOptions {
  pool: Pool;
  clock: Clock;
  /** Called when Postgres did not take tries; they are tried again. */
  onFailed: (error: unknown) => void;
  /** Called when Postgres has taken some, before anything follows from it: for tests. */
  onRecorded?: (() => void | Promise<void>) | undefined;
}

/** Tries that are recorded together come within this time; a statement takes them at a third of what single ones cost. */
const TOGETHER_MS = 10;
const MOST_TOGETHER = 250;
/** So many tries that are not recorded hold further ones up. */
const MOST_WAITING = 2_000;
const RETRY_MS = 500;

/**
 * Records tries in Postgres, some at a time. While Postgres is away they wait in memory: until they are recorded the messages
 * count as under way, and a process that dies has them sent once more.
 */
export class TryRecorder {
  private readonly options: TryRecorderOptions;
  private waiting: Entry[] = [];
  private health = new Map<string, WebhookHealth>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> | null = null;
  private failed = false;

  constructor(options: TryRecorderOptions) {
    this.options = options;
  }

  /** Whether so much waits that nothing further should be sent. */
  get isBehind(): boolean {
    return this.waiting.length >= MOST_WAITING;
  }

  /** Has a try recorded. `health`: how its webhook fares since, if that changed. `onRecorded` is called when it is. */
  add(tried: RecordedTry, health: WebhookHealth | null, onRecorded: () => void): void {
    this.waiting.push({ tried, onRecorded });
    if (health !== null) this.health.set(health.webhookId, health);
    if (this.writing === null && !this.failed && this.waiting.length >= MOST_TOGETHER) this.begin();
    else this.timer ??= setTimeout(() => this.begin(), TOGETHER_MS);
  }

  /** Records what waits; false: Postgres did not take it. To be called when no try is under way. */
  async close(): Promise<boolean> {
    await this.writing;
    this.failed = false;
    while (this.waiting.length > 0 && !this.failed) await this.write();
    if (this.timer !== null) clearTimeout(this.timer);
    return this.waiting.length === 0;
  }

  private begin(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.writing ??= this.write().finally(() => {
      this.writing = null;
      if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.begin(), this.failed ? RETRY_MS : 0);
    });
  }

  private async write(): Promise<void> {
    const { pool, clock, onFailed, onRecorded: onWritten } = this.options;
    const entries = this.waiting.slice(0, MOST_TOGETHER);
    const { health } = this;
    this.health = new Map();
    const tries = entries.map(({ tried }) => tried);
    try {
      await recordTries(pool, { tries, health: [...health.values()], nowMs: clock.now() });
    } catch (error) {
      this.failed = true;
      this.health = new Map([...health, ...this.health]);
      onFailed(error);
      return;
    }
    await onWritten?.();
    this.failed = false;
    this.waiting.splice(0, entries.length);
    for (const { onRecorded } of entries) onRecorded();
  }
}
