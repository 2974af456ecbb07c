/** Delays between attempts, which double with each failure in a row. */
export interface Backoff {
  firstMs: number;
  lastMs: number;
}

/** The delay after a number of failures in a row. */
export const delayMs = ({ firstMs, lastMs }: Backoff, failures: number): number =>
  Math.min(firstMs * 2 ** Math.max(0, failures - 1), lastMs);

/** Of scheduled work and of jobs. */
export const WORK_BACKOFF: Backoff = { firstMs: 250, lastMs: 30_000 };
