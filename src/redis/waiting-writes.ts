/** A place in the history of writes of a master: of a run of Redis, as seen over one connection. */
export interface Place {
  run: string;
  connection: number;
  /** In bytes. */
  offset: number;
  /** When it was asked for, or known (`performance.now()`). */
  atMs: number;
}

interface Waiting {
  place: Place;
  sinceMs: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** What waits until replicas have the history of writes up to some place. */
export class WaitingWrites {
  private waiting: Waiting[] = [];
  private held: Place | null = null;

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** Resolves when the history is held up to a place; rejects where it became another one, and by `reject`. */
  wait(place: Place): Promise<void> {
    const { held } = this;
    // What was held before the write was sent cannot hold it, whatever the numbers say.
    if (held !== null && held.atMs >= place.atMs && covers(held, place)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.waiting.push({ place, sinceMs: performance.now(), resolve, reject });
    });
  }

  /** Whether something waits since before a time (`performance.now()`). */
  isSince(beforeMs: number): boolean {
    return this.waiting.some(({ sinceMs }) => sinceMs < beforeMs);
  }

  /** From now on the history is held up to a place. `otherwise`: the error for what is in another history. */
  settle(held: Place, otherwise: () => Error): void {
    // Of two rounds the one that began later may end first.
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

/** Whether two places are in one history, as far as one can see. */
const isSame = (one: Place, other: Place): boolean => one.run === other.run && one.connection === other.connection;

const covers = (held: Place, place: Place): boolean => isSame(held, place) && held.offset >= place.offset;
