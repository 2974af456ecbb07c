import type { Ledger } from '../ledger.ts';

/** The longest time between two consecutive acknowledgements in ms, both ends of the span included: the longest outage. */
export function longestGapMs(
  acknowledgements: Ledger['acknowledgements'],
  { beganMs, endMs }: { beganMs: number; endMs: number },
): number {
  const within = acknowledgements.map(({ atMs }) => atMs).filter((atMs) => atMs > beganMs && atMs < endMs);
  const times = [beganMs, ...within.toSorted((a, b) => a - b), endMs];
  return Math.max(...times.slice(1).map((atMs, at) => atMs - times[at]!));
}

/** Time of the first acknowledgement at or after a moment; Infinity if there is none. */
export const firstAfter = (acknowledgements: Ledger['acknowledgements'], ms: number): number =>
  Math.min(...acknowledgements.map(({ atMs }) => atMs).filter((atMs) => atMs >= ms));
