import type { Pool } from 'pg';
import { type AttemptedChannel, type Attempts, recordAttempts } from '../../postgres/notifications/failing-channels.ts';
import { CUT_OFF } from './email-sender.ts';

/** They say nothing about the channel: other addresses and devices may work. */
const OF_RECIPIENT = new Set(['bad_address', 'token_gone']);

const SUCCEEDED: Attempts = { succeeded: true, failures: 0, sinceMs: null, reason: null };

/** What the attempts of a turn say about a channel. */
export class AttemptRun {
  private attempts: Attempts = { ...SUCCEEDED, succeeded: false };

  /** Notes how an attempt ended at `nowMs` of Laurel's clock. */
  note({ outcome, reason }: { outcome: string; reason: string | null }, nowMs: number): void {
    if (OF_RECIPIENT.has(outcome) || reason === CUT_OFF) return;
    const { succeeded, failures, sinceMs } = this.attempts;
    this.attempts =
      outcome === 'sent'
        ? SUCCEEDED
        : { succeeded, failures: failures + 1, sinceMs: sinceMs ?? nowMs, reason: reason ?? outcome };
  }

  /** Records the attempts. Call this once, at the end of the turn. */
  async record(pool: Pool, channel: AttemptedChannel): Promise<void> {
    const { succeeded, failures } = this.attempts;
    if (succeeded || failures > 0) await recordAttempts(pool, channel, this.attempts);
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
