/** A replication offset of a Redis process, observed over one connection. */
export interface Place {
  redisProcessId: string;
  connection: number;
  /** In bytes. */
  offset: number;
  /** When it was requested or reported (`performance.now()`). */
  atMs: number;
}

interface Waiting {
  place: Place;
  sinceMs: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

export class WaitingWrites {
  private waiting: Waiting[] = [];
  private held: Place | null = null;

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** Resolves when the replicas have everything up to a place. Rejects if the history has changed, or through `reject`. */
  wait(place: Place): Promise<void> {
    const { held } = this;
    // A report from before the write cannot include it, whatever its offset.
    if (held !== null && held.atMs >= place.atMs && covers(held, place)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiting.push({ place, sinceMs: performance.now(), resolve, reject });
    });
  }

  /** Whether a write has been waiting since before a time (`performance.now()`). */
  isSince(beforeMs: number): boolean {
    return this.waiting.some(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** Resolves writes up to `held`, which the replicas have. `otherwise` creates the error for writes of another history. */
  settle(held: Place, otherwise: () => Error): void {
    // The later of two rounds may end first.
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

/** Whether two places are known to belong to the same history. */
const isSame = (one: Place, other: Place): boolean =>
  one.redisProcessId === other.redisProcessId && one.connection === other.connection;

const covers = (held: Place, place: Place): boolean => isSame(held, place) && held.offset >= place.offset;
