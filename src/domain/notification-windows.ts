import { DAY_MS } from './periods.ts';

/** Shortest time between two notifications that are otherwise sent at once; ms. */
export const WINDOW_MS = 15 * 60_000;

/**
 * Windows end at multiples of this (ms), so that many end together: with 100,000 open windows, a few statements flush several
 * hundred of them every 5 s.
 */
const STEP_MS = 5_000;

/** When a window that begins at `beginMs` ends (epoch ms). */
export const windowEndMs = (beginMs: number): number => Math.ceil((beginMs + WINDOW_MS) / STEP_MS) * STEP_MS;

/**
 * A window whose end is further away than this was opened before the clock was set back, and is over. The limit far exceeds a
 * window's length because other processes' clocks may be ahead, and a test's clock by days.
 */
export const FURTHEST_END_MS = 30 * DAY_MS;
