/** After so many failures in a row nothing is sent for a while. */
export const OPENS_AFTER = 10;
const LAST_PAUSE_MS = 15 * 60_000;
/** A webhook for which every try failed for so long is disabled; ms of Laurel's clock. */
export const GIVEN_UP_AFTER_MS = 5 * 86_400_000;

export interface HealthOptions {
  /** Failed tries since the last one that succeeded. */
  failures: number;
  /** When the first of them was, epoch ms of Laurel's clock; null: there are none. */
  failingSinceMs: number | null;
  /** How long the breaker is open for the first time; ms. */
  firstPauseMs: number;
}

/**
 * How a webhook fares: its breaker, and how many messages are sent to it at a time. The breaker opens with the tenth
 * failure in a row; after a while one try is let through, and with each that fails it stays open for twice as long, up to 15
 * minutes. One that succeeds closes it. Times of the breaker are of `performance.now()`.
 */
export class WebhookHealth {
  private readonly firstPauseMs: number;
  private failed: number;
  private since: number | null;
  private opened: { atMs: number; untilMs: number } | null = null;
  private atATime = 1;

  constructor({ failures, failingSinceMs, firstPauseMs }: HealthOptions) {
    this.failed = failures;
    this.since = failingSinceMs;
    this.firstPauseMs = firstPauseMs;
  }

  get failures(): number {
    return this.failed;
  }

  get failingSinceMs(): number | null {
    return this.since;
  }

  /** Until when nothing may be sent; null: the breaker is closed, or lets a try through. */
  openUntilMs(nowMs: number): number | null {
    return this.opened !== null && nowMs < this.opened.untilMs ? this.opened.untilMs : null;
  }

  /** How many messages may be under way. */
  get concurrency(): number {
    return this.atATime;
  }

  /** Takes note of a try that succeeded; whether anything but the concurrency changed. */
  succeeded(most: number): boolean {
    const wasFailing = this.failed > 0;
    this.failed = 0;
    this.since = null;
    this.opened = null;
    this.atATime = Math.min(most, this.atATime + 1);
    return wasFailing;
  }

  /**
   * Takes note of a try that failed. One that began before the breaker opened says nothing new.
   * @param times when it began and ended (`performance.now()`), and the time of Laurel's clock
   */
  failedTry({ beganMs, endedMs, nowMs }: { beganMs: number; endedMs: number; nowMs: number }): void {
    this.since ??= nowMs;
    this.atATime = 1;
    if (this.opened !== null && beganMs < this.opened.atMs) return;
    this.failed += 1;
    if (this.failed < OPENS_AFTER) return;
    const pauseMs = Math.min(LAST_PAUSE_MS, this.firstPauseMs * 2 ** (this.failed - OPENS_AFTER));
    this.opened = { atMs: endedMs, untilMs: endedMs + pauseMs };
  }

  /** Whether all tries failed for so long that the webhook is to be disabled. */
  isGivenUp(nowMs: number): boolean {
    return this.since !== null && nowMs - this.since >= GIVEN_UP_AFTER_MS;
  }
}
