const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** How long after a failed try the next one is due: after the first try the first step, and so on. */
const STEPS_MS: readonly number[] = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];

/** A step is lengthened or shortened by up to so much of it, so that what failed together does not come back together. */
const JITTER = 0.2;

/** A receiver may ask for up to so many times the step. */
const PATIENCE = 2;

/**
 * How long to wait after the `failed`th try (from 1) that failed, ms; null: it was the last one. `retryAfterMs`: what the receiver asked for, null
 * if nothing; it is honoured where it is longer than the step, up to twice the step. `random`: from 0 to 1.
 */
export function retryDelayMs(
  failed: number,
  { retryAfterMs, random }: { retryAfterMs: number | null; random: number },
): number | null {
  const stepMs = STEPS_MS[failed - 1];
  if (stepMs === undefined) return null;
  const ownMs = stepMs * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.max(ownMs, Math.min(retryAfterMs ?? 0, PATIENCE * stepMs)));
}

/**
 * What a `Retry-After` header asks for, ms from now: seconds or a date (RFC 9110, 10.2.3). Null: nothing that can be read.
 * `nowMs`: real time, as the receiver's date is.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  // Dates of HTTP begin with the weekday: `Date.parse` takes much else for a date.
  const dateMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}
