/** A replication offset of a Redis process, as seen over one connection. */
export interface Place {
  redisProcessId: string;
  connection: number;
  /** In bytes. */
  offset: number;
  /** When it was asked for, or was reported (`performance.now()`). */
  atMs: number;
}

interface Waiting {
  place: Place;
  sinceMs: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** Writes that wait until replicas have them. */
export class WaitingWrites {
  private waiting: Waiting[] = [];
  private held: Place | null = null;

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** Resolves when the replicas have everything up to a place. Rejects if the history is another one by then, and through `reject`. */
  wait(place: Place): Promise<void> {
    const { held } = this;
    // What was reported before the write was sent cannot include it, whatever the offset.
    if (held !== null && held.atMs >= place.atMs && covers(held, place)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiting.push({ place, sinceMs: performance.now(), resolve, reject });
    });
  }

  /** Whether a write has waited since before a time (`performance.now()`). */
  isSince(beforeMs: number): boolean {
    return this.waiting.some(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** The replicas have everything up to a place. `otherwise`: the error for writes in another history. */
  settle(held: Place, otherwise: () => Error): void {
    // Of two rounds, the later one may end first.
    if (this.held === null || !covers(this.held, held)) this.held = held;
    const { waiting } = this;
    this.waiting = [];
    for (const one of waiting) {
      if (covers(held, one.place)) one.resolve();
      else if (isSame(held, one.place)) this.waiting.push(one);
      else one.reject(otherwise());
    }
  }

  reject(error: () => Error): void {
    for (const one of this.waiting.splice(0)) one.reject(error());
  }
}

/** Whether two places are known to be in one history. */
const isSame = (one: Place, other: Place): boolean =>
  one.redisProcessId === other.redisProcessId && one.connection === other.connection;

const covers = (held: Place, place: Place): boolean => isSame(held, place) && held.offset >= place.offset;
