/** A webhook that this process holds: its lanes and its health. */
import type { LeasedWebhook, WebhookTarget } from '../../postgres/webhooks/leases.ts';
import type { DueMessage, Wanted } from '../../postgres/webhooks/tries.ts';

/** After so many failures in a row nothing is sent for a while. */
export const OPENS_AFTER = 10;
const LAST_PAUSE_MS = 15 * 60_000;
/** A webhook for which every try failed for so long is disabled; ms of Laurel's clock. */
export const GIVEN_UP_AFTER_MS = 5 * 86_400_000;

interface HealthOptions {
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

/** A message that can be sent. */
export type ReadyMessage = DueMessage & { payload: string };

/**
 * The messages of a webhook that this process has taken and that are not settled, by lane. Of a lane one is under way at a
 * time, in the order of sequences. A lane whose last try is not recorded yet still counts as taken: the queue shows it as it was.
 */
export class Lanes {
  /** In the order in which they are to be sent; without those under way. */
  private readonly waiting = new Map<number, ReadyMessage[]>();
  private readonly underWay = new Set<number>();
  /** Lane → tries that are not recorded. */
  private readonly unrecorded = new Map<number, number>();
  private count = 0;

  /** Messages that wait to be sent. */
  get size(): number {
    return this.count;
  }

  /** Tries under way. */
  get inFlight(): number {
    return this.underWay.size;
  }

  /** Whether a message may be sent now. */
  get isReady(): boolean {
    for (const lane of this.waiting.keys()) if (!this.underWay.has(lane)) return true;
    return false;
  }

  /** Whether nothing is left: no message, no try, nothing to be recorded. */
  get isEmpty(): boolean {
    return this.count === 0 && this.underWay.size === 0 && this.unrecorded.size === 0;
  }

  /** Lanes of which messages are taken. */
  taken(): number[] {
    return [...new Set([...this.waiting.keys(), ...this.underWay, ...this.unrecorded.keys()])];
  }

  /** Adds a message, later in its lane than those that are there. */
  add(message: ReadyMessage): void {
    const lane = this.waiting.get(message.lane);
    if (lane === undefined) this.waiting.set(message.lane, [message]);
    else lane.push(message);
    this.count += 1;
  }

  /** The next message that may be sent, from now on under way; null: none may. */
  start(): ReadyMessage | null {
    for (const [lane, messages] of this.waiting) {
      if (this.underWay.has(lane)) continue;
      const message = messages.shift()!;
      // What is left of it comes after the other lanes.
      this.waiting.delete(lane);
      if (messages.length > 0) this.waiting.set(lane, messages);
      this.underWay.add(lane);
      this.count -= 1;
      return message;
    }
    return null;
  }

  /** A try of a lane has ended, or there was nothing to be sent: that is to be recorded. */
  ended(lane: number): void {
    this.underWay.delete(lane);
    this.unrecorded.set(lane, (this.unrecorded.get(lane) ?? 0) + 1);
  }

  /** The try of a lane was called off: there is nothing to be recorded. */
  calledOff(lane: number): void {
    this.underWay.delete(lane);
  }

  /** A try of a lane is recorded. */
  recorded(lane: number): void {
    const left = (this.unrecorded.get(lane) ?? 0) - 1;
    if (left > 0) this.unrecorded.set(lane, left);
    else this.unrecorded.delete(lane);
  }

  /** Forgets what waits to be sent: the queue has it. */
  clear(): void {
    this.waiting.clear();
    this.count = 0;
  }
}

/** Messages to one webhook under way at a time, while it takes them. */
export const MOST_AT_A_TIME = 16;

/** So many times as many messages as may be under way are taken ahead; a few times as many where one user has most of them. */
const AHEAD = 8;
const MOST_AHEAD = 4;
const MOST_AHEAD_BYTES = 262_144;
/** How long a message is taken for as long as none is known. */
const FIRST_BYTES = 8_192;

/** A webhook that this process holds the lease of. Times are of `performance.now()`. */
export class Endpoint {
  readonly webhookId: string;
  readonly tenantNo: number;
  readonly health: WebhookHealth;
  readonly lanes = new Lanes();
  /** Null: nothing may be sent at the moment. */
  target: WebhookTarget | null = null;
  /** Until when the lease holds. */
  heldUntilMs = 0;
  /** Whether the queue may have messages that can be taken. */
  mayHaveMore = true;
  /** When messages were last taken for it. */
  takenAtMs = 0;
  private bytes = FIRST_BYTES;

  constructor(leased: LeasedWebhook, firstPauseMs: number) {
    this.webhookId = leased.webhookId;
    this.tenantNo = leased.tenantNo;
    this.health = new WebhookHealth({ ...leased, firstPauseMs });
  }

  /** Whether a further message may be sent to it. */
  maySend(nowMs: number): boolean {
    const { lanes, health } = this;
    return !this.isShut(nowMs) && nowMs < this.heldUntilMs && lanes.inFlight < health.concurrency;
  }

  /** Whether its lease can be given back: there is nothing to be done for it, or nothing can be. */
  isNeedless(nowMs: number): boolean {
    return this.lanes.isEmpty && (!this.mayHaveMore || this.isShut(nowMs));
  }

  /** Whether messages are to be taken from the queue. */
  needsMore(nowMs: number): boolean {
    const { lanes } = this;
    if (!this.mayHaveMore || this.isShut(nowMs)) return false;
    return lanes.size <= this.ahead / 2 || (lanes.size < MOST_AHEAD * this.ahead && !lanes.isReady);
  }

  /** What is to be taken from the queue. */
  wanted(): Wanted {
    const { webhookId, lanes, ahead } = this;
    const most = Math.max(ahead / 2, ahead - lanes.size);
    const affordable = Math.floor(MOST_AHEAD_BYTES / this.bytes);
    return { webhookId, most: Math.max(1, Math.min(Math.ceil(most), affordable)), exceptLanes: lanes.taken() };
  }

  /** The queue is asked for all that it has now. */
  asked(): void {
    this.mayHaveMore = false;
    this.takenAtMs = performance.now();
  }

  /** Takes note of how long a message is: so many are taken ahead as are not too long together. */
  noteLength(bytes: number): void {
    this.bytes = Math.max(bytes, this.bytes * 0.9, 1);
  }

  /** Lets go of what waits to be sent: the queue has it. */
  forget(): void {
    this.lanes.clear();
    this.mayHaveMore = true;
  }

  /** Whether nothing may be sent to it for a while. */
  isShut(nowMs: number): boolean {
    return this.target === null || this.health.openUntilMs(nowMs) !== null;
  }

  private get ahead(): number {
    const { concurrency } = this.health;
    return concurrency === 1 ? 1 : AHEAD * concurrency;
  }
}
