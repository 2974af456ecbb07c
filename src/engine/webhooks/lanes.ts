import type { DueMessage } from '../../postgres/webhooks/tries.ts';

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
