import type { DueMessage, LeasedWebhook, TakeRequest, WebhookTarget } from '../../postgres/webhooks/tries.ts';
import { delayMs } from '../../pacing/backoff.ts';
import { addTo } from '../../grouped.ts';

/** Number of consecutive failures that opens the breaker. */
export const OPENS_AFTER = 10;
const LAST_PAUSE_MS = 15 * 60_000;
/** A webhook is disabled after failing for this long (ms of Laurel's clock). */
export const GIVEN_UP_AFTER_MS = 5 * 86_400_000;

interface HealthOptions {
  /** Failed tries since the last success. */
  failures: number;
  /** When the first of them was, in epoch ms of Laurel's clock; `null` if there are none. */
  failingSinceMs: number | null;
  firstPauseMs: number;
}

/**
 * A webhook's breaker and concurrency. The tenth consecutive failure opens the breaker. After a pause one try is let
 * through; each failure doubles the pause, up to 15 minutes, and a success closes the breaker. Times of the breaker are
 * of `performance.now()`.
 */
export class ServerHealth {
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

  /** Until when nothing may be sent; `null` if the breaker is closed or lets a try through. */
  openUntilMs(nowMs: number): number | null {
    return this.opened !== null && nowMs < this.opened.untilMs ? this.opened.untilMs : null;
  }

  get concurrency(): number {
    return this.atATime;
  }

  /** Notes a successful try. Returns whether anything but the concurrency changed. */
  succeeded(most: number): boolean {
    const wasFailing = this.failed > 0;
    this.failed = 0;
    this.since = null;
    this.opened = null;
    this.atATime = Math.min(most, this.atATime + 1);
    return wasFailing;
  }

  /** Notes a failed try. One that began before the breaker opened adds no information. */
  failedTry({ beganMs, endedMs, nowMs }: { beganMs: number; endedMs: number; nowMs: number }): void {
    this.since ??= nowMs;
    this.atATime = 1;
    if (this.opened !== null && beganMs < this.opened.atMs) return;
    this.failed += 1;
    if (this.failed < OPENS_AFTER) return;
    const pauseMs = delayMs({ firstMs: this.firstPauseMs, lastMs: LAST_PAUSE_MS }, this.failed - OPENS_AFTER + 1);
    this.opened = { atMs: endedMs, untilMs: endedMs + pauseMs };
  }

  isGivenUp(nowMs: number): boolean {
    return this.since !== null && nowMs - this.since >= GIVEN_UP_AFTER_MS;
  }
}

export type ReadyMessage = DueMessage & { payload: string };

/**
 * A webhook's unsettled messages that this process has taken, by lane. Each lane has at most one message in flight, in
 * the order of sequences. A lane whose last try is not recorded yet still counts as taken, because the queue does not
 * show the try.
 */
export class Lanes {
  /** In sending order, without those in flight. */
  private readonly waiting = new Map<number, ReadyMessage[]>();
  private readonly underWay = new Set<number>();
  /** Lane → number of unrecorded tries. */
  private readonly unrecorded = new Map<number, number>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  get inFlight(): number {
    return this.underWay.size;
  }

  get isReady(): boolean {
    for (const lane of this.waiting.keys()) if (!this.underWay.has(lane)) return true;
    return false;
  }

  get isEmpty(): boolean {
    return this.count === 0 && this.underWay.size === 0 && this.unrecorded.size === 0;
  }

  /** Lanes of which messages are taken. */
  taken(): number[] {
    return [...new Set([...this.waiting.keys(), ...this.underWay, ...this.unrecorded.keys()])];
  }

  add(message: ReadyMessage): void {
    addTo(this.waiting, message.lane, message);
    this.count += 1;
  }

  /** Starts the next message that may be sent; `null` if there is none. */
  start(): ReadyMessage | null {
    for (const [lane, messages] of this.waiting) {
      if (this.underWay.has(lane)) continue;
      const message = messages.shift()!;
      // The rest of the lane goes behind the other lanes.
      this.waiting.delete(lane);
      if (messages.length > 0) this.waiting.set(lane, messages);
      this.underWay.add(lane);
      this.count -= 1;
      return message;
    }
    return null;
  }

  /** A lane's try has ended, or there was nothing to send; the result is to be recorded. */
  ended(lane: number): void {
    this.underWay.delete(lane);
    this.unrecorded.set(lane, (this.unrecorded.get(lane) ?? 0) + 1);
  }

  /** A lane's try was aborted; there is nothing to record. */
  calledOff(lane: number): void {
    this.underWay.delete(lane);
  }

  recorded(lane: number): void {
    const unrecordedOfLane = (this.unrecorded.get(lane) ?? 0) - 1;
    if (unrecordedOfLane > 0) this.unrecorded.set(lane, unrecordedOfLane);
    else this.unrecorded.delete(lane);
  }

  /** Drops the waiting messages; they are still in the queue. */
  clear(): void {
    this.waiting.clear();
    this.count = 0;
  }
}

/** Maximum number of messages in flight to a healthy webhook. */
export const MOST_AT_A_TIME = 16;

/** Messages taken ahead, as a multiple of the concurrency; up to `MOST_AHEAD` times more if most of them are about one user. */
const AHEAD = 8;
const MOST_AHEAD = 4;
const MOST_AHEAD_BYTES = 262_144;
/** Assumed size of a message until one is known. */
const FIRST_BYTES = 8_192;

/** A webhook of which this process holds the lease. Times are of `performance.now()`. */
export class Endpoint {
  readonly webhookId: string;
  readonly tenantNo: number;
  readonly health: ServerHealth;
  readonly lanes = new Lanes();
  /** `null` if nothing may be sent at the moment. */
  target: WebhookTarget | null = null;
  heldUntilMs = 0;
  /** Whether the queue may have further messages to take. */
  mayHaveMore = true;
  /** When messages were last taken for it. */
  takenAtMs = 0;
  private bytes = FIRST_BYTES;

  constructor(leased: LeasedWebhook, firstPauseMs: number) {
    this.webhookId = leased.webhookId;
    this.tenantNo = leased.tenantNo;
    this.health = new ServerHealth({ ...leased, firstPauseMs });
  }

  maySend(nowMs: number): boolean {
    const { lanes, health } = this;
    return !this.isShut(nowMs) && nowMs < this.heldUntilMs && lanes.inFlight < health.concurrency;
  }

  /** Whether its lease can be given back because nothing is left to do, or nothing can be done. */
  isNeedless(nowMs: number): boolean {
    return this.lanes.isEmpty && (!this.mayHaveMore || this.isShut(nowMs));
  }

  needsMore(nowMs: number): boolean {
    const { lanes } = this;
    if (!this.mayHaveMore || this.isShut(nowMs)) return false;
    return lanes.size <= this.ahead / 2 || (lanes.size < MOST_AHEAD * this.ahead && !lanes.isReady);
  }

  wanted(): TakeRequest {
    const { webhookId, lanes, ahead } = this;
    const most = Math.max(ahead / 2, ahead - lanes.size);
    const affordable = Math.floor(MOST_AHEAD_BYTES / this.bytes);
    return { webhookId, most: Math.max(1, Math.min(Math.ceil(most), affordable)), exceptLanes: lanes.taken() };
  }

  /** Notes that the queue is being asked for all current messages. */
  asked(): void {
    this.mayHaveMore = false;
    this.takenAtMs = performance.now();
  }

  /** Notes a message's size, which limits how many are taken ahead. */
  noteLength(bytes: number): void {
    this.bytes = Math.max(bytes, this.bytes * 0.9, 1);
  }

  /** Drops the waiting messages; they are still in the queue. */
  forget(): void {
    this.lanes.clear();
    this.mayHaveMore = true;
  }

  isShut(nowMs: number): boolean {
    return this.target === null || this.health.openUntilMs(nowMs) !== null;
  }

  private get ahead(): number {
    const { concurrency } = this.health;
    return concurrency === 1 ? 1 : AHEAD * concurrency;
  }
}
