import type { LeasedWebhook, WebhookTarget } from '../../postgres/webhooks/leases.ts';
import type { Wanted } from '../../postgres/webhooks/tries.ts';
import { WebhookHealth } from './health.ts';
import { Lanes } from './lanes.ts';

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
