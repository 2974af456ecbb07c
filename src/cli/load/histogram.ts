/** Values below this have a bucket each; above, a power of two has half as many buckets, so a bucket is at most 1.6 % wide. */
const EXACT = 128;
const HALF = EXACT / 2;
const EXACT_BITS = 6;
/** About half an hour, in µs. Longer ones count as this long. */
const MOST = 2 ** 31 - 1;

/** Pairs of a bucket's number and its count, ascending, as one flat list. */
export type Buckets = number[];

/** Counts of durations by logarithmic buckets. Percentiles are at most 1.6 % too high, and never above the maximum. */
export class Histogram {
  private readonly counts: number[] = [];
  count = 0;
  sumMs = 0;
  maxMs = 0;

  static of(...parts: readonly Buckets[]): Histogram {
    const whole = new Histogram();
    for (const part of parts) whole.add(part);
    return whole;
  }

  record(ms: number): void {
    const bucket = bucketOf(Math.min(MOST, Math.max(0, Math.round(ms * 1000))));
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.count++;
    this.sumMs += ms;
    if (ms > this.maxMs) this.maxMs = ms;
  }

  /** Adds another one's buckets. Its sum and maximum are taken from the buckets' upper ends. */
  add(buckets: Buckets): void {
    for (let at = 0; at < buckets.length; at += 2) {
      const [bucket, count] = [buckets[at]!, buckets[at + 1]!];
      this.counts[bucket] = (this.counts[bucket] ?? 0) + count;
      this.count += count;
      const ms = upperMs(bucket);
      this.sumMs += ms * count;
      if (ms > this.maxMs) this.maxMs = ms;
    }
  }

  /** Milliseconds that this share of the values does not exceed; 0 without values. */
  percentile(share: number): number {
    const target = Math.max(1, Math.ceil(this.count * share));
    let seen = 0;
    for (const [bucket, count = 0] of this.counts.entries()) {
      seen += count;
      if (seen >= target) return Math.min(this.maxMs, upperMs(bucket));
    }
    return 0;
  }

  buckets(): Buckets {
    // Holes of the array are skipped.
    const pairs: Buckets = [];
    this.counts.forEach((count, bucket) => pairs.push(bucket, count));
    return pairs;
  }
}

function bucketOf(micros: number): number {
  if (micros < EXACT) return micros;
  const shift = 31 - Math.clz32(micros) - EXACT_BITS;
  return shift * HALF + (micros >> shift);
}

/** The longest duration of a bucket, ms. */
export function upperMs(bucket: number): number {
  if (bucket < EXACT) return bucket / 1000;
  const shift = Math.floor(bucket / HALF) - 1;
  return ((bucket - shift * HALF + 1) * 2 ** shift - 1) / 1000;
}
