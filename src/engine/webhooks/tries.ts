import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import { signingAt } from '../../postgres/webhook-secrets.ts';
import type { DueMessage } from '../../postgres/webhooks/take-messages.ts';
import { MOST_AT_A_TIME, type Endpoint } from './endpoint.ts';
import { OPENS_AFTER } from './health.ts';
import type { ReadyMessage } from './lanes.ts';
import { retryDelayMs } from './retry-schedule.ts';
import type { Outcome, Sender, Try } from './sender.ts';
import type { TryRecorder } from './try-recorder.ts';

/** Why Laurel disables a webhook: it answered that it is gone, or has only failed for days. */
export type DisableReason = 'gone' | 'failing';

export interface TriesOptions {
  sender: Pick<Sender, 'send'>;
  recorder: TryRecorder;
  clock: Clock;
  log: Log;
  /** Called when messages can be taken from the queue, or tried, at some time. */
  onLater: (later: { atOnce?: true; dueMs?: number; openMs?: number }) => void;
  /** Called for a webhook that is to be disabled; nothing more is sent to it until its target is read again. */
  onHopeless: (endpoint: Endpoint, url: string, reason: DisableReason) => void;
  /** Called with every try. */
  onTried?: ((outcome: Outcome) => void) | undefined;
  /** Called when an answer is there: for tests, which stop the world there. */
  onAnswered?: (() => void | Promise<void>) | undefined;
}

/** Tries under way in this process: all of them, and those of webhooks whose last try failed. */
const MOST_UNDER_WAY = 2_048;
const MOST_FAILING_UNDER_WAY = 1_024;

/**
 * The tries under way: begins as many as each webhook, and this process, may have, and has recorded what became of them.
 */
export class Tries {
  private readonly options: TriesOptions;
  /** Webhooks that a bound of this process holds up. */
  private readonly heldUp = new Set<Endpoint>();
  private readonly calledOff = new AbortController();
  private underWay = 0;
  private failingUnderWay = 0;
  private ended = false;

  constructor(options: TriesOptions) {
    this.options = options;
    // One for each try.
    setMaxListeners(0, this.calledOff.signal);
  }

  /** Begins tries of messages that the webhook's lanes hold, as many as may be under way. */
  begin(endpoint: Endpoint): void {
    const { recorder, onLater } = this.options;
    const nowMs = performance.now();
    while (!this.ended && !recorder.isBehind && endpoint.maySend(nowMs)) {
      const failing = endpoint.health.failures > 0;
      if (this.underWay >= MOST_UNDER_WAY || (failing && this.failingUnderWay >= MOST_FAILING_UNDER_WAY)) {
        this.heldUp.add(endpoint);
        return;
      }
      const message = endpoint.lanes.start();
      if (message === null) break;
      void this.make(endpoint, message, failing);
    }
    if (endpoint.needsMore(nowMs)) onLater({ atOnce: true });
  }

  /** Takes a message from the queue that the log does not have: its user was deleted. */
  drop(endpoint: Endpoint, message: DueMessage): void {
    endpoint.lanes.ended(message.lane);
    const nothing = { ...message, logged: null, delivered: false, dueMs: null };
    this.options.recorder.add(nothing, null, () => this.recorded(endpoint, message.lane));
  }

  /** Begins no more tries; waits `graceMs` for those under way and calls the others off. */
  async end(graceMs: number): Promise<void> {
    this.ended = true;
    const endMs = performance.now() + graceMs;
    while (this.underWay > 0 && performance.now() < endMs) await sleep(5);
    this.calledOff.abort();
    while (this.underWay > 0) await sleep(1);
  }

  private async make(endpoint: Endpoint, message: ReadyMessage, failing: boolean): Promise<void> {
    const { sender, clock, onAnswered } = this.options;
    // What is known of a webhook may be older than the end of its previous secret.
    const target = signingAt(endpoint.target!, clock.now());
    const { url } = target;
    this.underWay += 1;
    if (failing) this.failingUnderWay += 1;
    const beganMs = performance.now();
    // Rejects when it is called off: what became of the message is not known then, so it is sent again.
    const tried = await sender.send(target, message, this.calledOff.signal).catch(() => null);
    this.underWay -= 1;
    if (failing) this.failingUnderWay -= 1;
    if (tried === null) endpoint.lanes.calledOff(message.lane);
    else {
      await onAnswered?.();
      this.settle(endpoint, message, { tried, beganMs, url });
    }
    this.begin(endpoint);
    const waiting = [...this.heldUp];
    this.heldUp.clear();
    for (const other of waiting) this.begin(other);
  }

  private settle(
    endpoint: Endpoint,
    message: ReadyMessage,
    { tried, beganMs, url }: { tried: Try; beganMs: number; url: string },
  ): void {
    const { recorder, clock, onLater, onTried, onHopeless } = this.options;
    const nowMs = clock.now();
    const delivered = tried.outcome === 'delivered';
    const { retryAfterMs } = tried;
    const delayMs = delivered ? null : retryDelayMs(message.tries + 1, { retryAfterMs, random: Math.random() });
    const dueMs = delayMs === null ? null : nowMs + delayMs;
    const health = this.judge(endpoint, tried, { beganMs, nowMs });
    const hopeless = tried.outcome === 'gone' ? 'gone' : endpoint.health.isGivenUp(nowMs) ? 'failing' : null;
    const { atMs: at, durationMs, status, error, answer } = tried;
    const logged = { at, durationMs, status, error, answer };
    // What is disabled begins with no failures once it is enabled.
    const noted = hopeless === null && endpoint.target !== null ? health : null;
    endpoint.lanes.ended(message.lane);
    recorder.add({ ...message, logged, delivered, dueMs }, noted, () => this.recorded(endpoint, message.lane));
    onTried?.(tried.outcome);
    if (dueMs !== null) onLater({ dueMs });
    if (hopeless === null || endpoint.target === null) return;
    endpoint.target = null;
    endpoint.forget();
    onHopeless(endpoint, url, hopeless);
  }

  /** How the webhook fares since a try; null: as before. */
  private judge(endpoint: Endpoint, tried: Try, { beganMs, nowMs }: { beganMs: number; nowMs: number }) {
    const { health, webhookId, tenantNo } = endpoint;
    const endedMs = performance.now();
    if (tried.outcome === 'delivered') {
      if (!health.succeeded(MOST_AT_A_TIME)) return null;
    } else health.failedTry({ beganMs, endedMs, nowMs });
    const openMs = health.openUntilMs(endedMs);
    if (openMs !== null) {
      endpoint.forget();
      this.options.onLater({ openMs });
      if (health.failures === OPENS_AFTER)
        this.options.log.warn(
          { webhookId, tenantNo, reason: tried.error },
          'a webhook takes no messages; it is tried now and then',
        );
    }
    const { failures, failingSinceMs } = health;
    return { webhookId, failures, failingSinceMs, openMs: openMs === null ? 0 : openMs - endedMs };
  }

  private recorded(endpoint: Endpoint, lane: number): void {
    endpoint.lanes.recorded(lane);
    endpoint.mayHaveMore = true;
    this.begin(endpoint);
  }
}
