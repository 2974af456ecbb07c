import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log/log.ts';
import { signingAt } from '../../postgres/webhooks/secrets.ts';
import type { DueMessage } from '../../postgres/webhooks/tries.ts';
import { MOST_AT_A_TIME, type Endpoint } from './endpoint.ts';
import { OPENS_AFTER } from './health.ts';
import type { ReadyMessage } from './lanes.ts';
import { retryDelayMs } from './retry-schedule.ts';
import type { Outcome, Sender, Try } from './sender.ts';
import { Slots } from './slots.ts';
import type { TryRecorder } from './try-recorder.ts';

/** Why Laurel disables a webhook: it answered that it is gone, or has only failed for days. */
export type DisableReason = 'gone' | 'failing';

export interface TriesOptions {
  sender: Pick<Sender, 'send'>;
  recorder: TryRecorder;
  clock: Clock;
  log: Log;
  /** Tries that may be under way in this process. */
  slots?: number | undefined;
  /** Called when messages can be taken from the queue, or tried, at some time. */
  onLater: (later: { atOnce?: true; dueMs?: number; openMs?: number }) => void;
  /** Called for a webhook that is to be disabled; nothing more is sent to it until its target is read again. */
  onHopeless: (endpoint: Endpoint, url: string, reason: DisableReason) => void;
  /** Called with every try. */
  onTried?: ((outcome: Outcome) => void) | undefined;
  /** Called when an answer is there: for tests, which stop the world there. */
  onAnswered?: (() => void | Promise<void>) | undefined;
}

const SLOTS = 2_048;

/**
 * The tries under way: begins as many as each webhook, its tenant and this process may have, and has recorded what became of
 * them. A slot that a try leaves goes to the webhook that has waited longest of those that may have one.
 */
export class Tries {
  private readonly options: TriesOptions;
  private readonly slots: Slots;
  private readonly calledOff = new AbortController();
  private ended = false;

  constructor(options: TriesOptions) {
    this.options = options;
    this.slots = new Slots(options.slots ?? SLOTS);
    // One for each try.
    setMaxListeners(0, this.calledOff.signal);
  }

  /** Begins tries of messages that the webhook's lanes hold, `most` of them at most; for the others it waits until slots are left. */
  begin(endpoint: Endpoint, most = Infinity): void {
    const { recorder, onLater } = this.options;
    const nowMs = performance.now();
    for (let begun = 0; !this.ended && !recorder.isBehind && endpoint.maySend(nowMs); begun += 1) {
      if (begun === most || !this.slots.isOpenTo(endpoint)) {
        if (endpoint.lanes.isReady) this.slots.wait(endpoint);
        break;
      }
      const message = endpoint.lanes.start();
      if (message === null) break;
      void this.make(endpoint, message, endpoint.health.failures > 0);
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
    while (this.slots.taken > 0 && performance.now() < endMs) await sleep(5);
    this.calledOff.abort();
    while (this.slots.taken > 0) await sleep(1);
  }

  private async make(endpoint: Endpoint, message: ReadyMessage, failing: boolean): Promise<void> {
    const { sender, clock, onAnswered } = this.options;
    // What is known of a webhook may be older than the end of its previous secret.
    const target = signingAt(endpoint.target!, clock.now());
    const { url } = target;
    this.slots.take(endpoint, failing);
    const beganMs = performance.now();
    // Rejects when it is called off: what became of the message is not known then, so it is sent again.
    const tried = await sender.send(target, message, this.calledOff.signal).catch(() => null);
    if (tried !== null) await onAnswered?.();
    this.slots.release(endpoint, failing);
    if (tried === null) endpoint.lanes.calledOff(message.lane);
    else this.settle(endpoint, message, { tried, beganMs, url });
    // Behind those that wait already: a webhook does not keep a slot because its try was the one that ended.
    this.slots.wait(endpoint);
    this.handOut();
  }

  /** Hands out the slots that are free, one at a time. */
  private handOut(): void {
    while (!this.ended && !this.options.recorder.isBehind) {
      const next = this.slots.next();
      if (next === null) return;
      this.begin(next, 1);
    }
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
    this.slots.wait(endpoint);
    this.handOut();
  }
}
