/** Pseudo-random numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A function that draws items in proportion to their weights. */
export function weighted<T>(items: readonly { item: T; weight: number }[], random: () => number): () => T {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  return () => {
    let left = random() * total;
    for (const { item, weight } of items) {
      left -= weight;
      if (left < 0) return item;
    }
    return items.at(-1)!.item;
  };
}
