import { DAY_MS } from './periods.ts';

/** How long what goes out at once is held back after that, at least; ms. */
export const WINDOW_MS = 15 * 60_000;

/**
 * Windows end at multiples of this (ms), so that many end together: with 100,000 of them open, a few hundred are flushed by a
 * few statements every 5 s instead of one by one.
 */
const STEP_MS = 5_000;

/** The end of a window that begins at a time; both epoch ms. */
export const windowEndMs = (beginMs: number): number => Math.ceil((beginMs + WINDOW_MS) / STEP_MS) * STEP_MS;

/**
 * A window that ends later than this from now was opened before the clock was set back: it is over. By far more than a window
 * lasts: the clock of another process may be ahead of ours, that of a test by days.
 */
export const FURTHEST_END_MS = 30 * DAY_MS;
