import type { Pool } from 'pg';
import { type AttemptedChannel, type Attempts, recordAttempts } from '../../postgres/notifications/failing-channels.ts';
import { CUT_OFF } from './email-sender.ts';

/** They say nothing about the channel: other addresses and devices may work. */
const OF_RECIPIENT = new Set(['bad_address', 'token_gone']);

/** What the attempts of a turn say about a channel. */
export class AttemptRun {
  private succeeded = false;
  private failures = 0;
  private sinceMs: number | null = null;
  private reason: string | null = null;

  /** Notes how an attempt ended at `nowMs` of Laurel's clock. */
  note({ outcome, reason }: { outcome: string; reason: string | null }, nowMs: number): void {
    if (OF_RECIPIENT.has(outcome) || reason === CUT_OFF) return;
    if (outcome === 'sent') {
      this.succeeded = true;
      this.failures = 0;
      this.sinceMs = null;
      this.reason = null;
      return;
    }
    this.failures += 1;
    this.sinceMs ??= nowMs;
    this.reason = reason ?? outcome;
  }

  /** Records the attempts, which are forgotten here. */
  async record(pool: Pool, channel: AttemptedChannel): Promise<void> {
    const { succeeded, failures, sinceMs, reason } = this;
    this.succeeded = false;
    this.failures = 0;
    this.sinceMs = null;
    this.reason = null;
    const attempts: Attempts = { succeeded, failures, sinceMs, reason };
    if (succeeded || failures > 0) await recordAttempts(pool, channel, attempts);
  }
}

/** Opens a channel. If that fails, its secrets cannot be read, which counts as a failed attempt. */
export async function openedOrNoted<T>(
  open: () => T,
  { pool, nowMs, channel }: { pool: Pool; nowMs: number; channel: AttemptedChannel },
): Promise<T> {
  try {
    return open();
  } catch (error) {
    const run = new AttemptRun();
    run.note({ outcome: 'later', reason: (error as Error).message }, nowMs);
    await run.record(pool, channel);
    throw error;
  }
}
