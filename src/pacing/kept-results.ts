import { inOwnTurn } from './turns.ts';

/** How long a result is kept, in multiples of the time that it took. */
const KEPT = 20;

interface Kept<T> {
  made: Promise<T>;
  /** 0 until it is known. */
  weight: number;
}

/** Reuses results that take long: each is made at most a twentieth of the time, once for all requests that wait for it. */
export class KeptResults<T> {
  private readonly weightOf: (result: T) => number;
  private readonly mostWeight: number;
  private readonly leastMs: (result: T) => number;
  /** Oldest first. */
  private readonly kept = new Map<string, Kept<T>>();

  /** `leastMs`: how long a result is kept at least. `mostWeight`: of all results that are kept together. */
  constructor({
    leastMs = () => 0,
    mostWeight = Infinity,
    weightOf = () => 1,
  }: { leastMs?: (result: T) => number; mostWeight?: number; weightOf?: (result: T) => number } = {}) {
    this.leastMs = leastMs;
    this.mostWeight = mostWeight;
    this.weightOf = weightOf;
  }

  /** The result that `make` made for this name, a moment ago or now. Rejects as it does. */
  of(name: string, make: () => Promise<T>): Promise<T> {
    let kept = this.kept.get(name);
    if (kept === undefined) {
      this.kept.set(name, (kept = { made: make(), weight: 0 }));
      void this.forgetLater(name, kept);
    }
    return inOwnTurn(kept.made);
  }

  private async forgetLater(name: string, kept: Kept<T>): Promise<void> {
    const begunMs = performance.now();
    const forget = (): void => {
      if (this.kept.get(name) === kept) this.kept.delete(name);
    };
    try {
      const result = await kept.made;
      kept.weight = this.weightOf(result);
      setTimeout(forget, Math.max(this.leastMs(result), KEPT * (performance.now() - begunMs))).unref();
      this.makeRoomFor(name);
    } catch {
      forget();
    }
  }

  private makeRoomFor(newest: string): void {
    let sum = 0;
    for (const { weight } of this.kept.values()) sum += weight;
    for (const [name, { weight }] of this.kept) {
      if (sum <= this.mostWeight) return;
      if (weight === 0 || name === newest) continue;
      this.kept.delete(name);
      sum -= weight;
    }
  }
}
