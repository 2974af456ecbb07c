import type { Ledger } from '../ledger.ts';

/**
 * The longest time between two acknowledgements that came one after the other, both ends of a span included: how long nobody was
 * served at worst. In ms.
 */
export function longestGapMs(
  acknowledgements: Ledger['acknowledgements'],
  { beganMs, endMs }: { beganMs: number; endMs: number },
): number {
  const within = acknowledgements.map(({ atMs }) => atMs).filter((atMs) => atMs > beganMs && atMs < endMs);
  const times = [beganMs, ...within.toSorted((a, b) => a - b), endMs];
  return Math.max(...times.slice(1).map((atMs, at) => atMs - times[at]!));
}

/** When the first acknowledgement came at or after a moment. Infinity: none did. */
export const firstAfter = (acknowledgements: Ledger['acknowledgements'], ms: number): number =>
  Math.min(...acknowledgements.map(({ atMs }) => atMs).filter((atMs) => atMs >= ms));
