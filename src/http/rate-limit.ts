import { AppError } from '../errors.ts';
import type { Caller } from '../operations/operation.ts';

/** Requests a second that one caller may make for ever; null: any number. */
export interface RateLimits {
  /** One user, with all application keys of theirs. */
  applicationPerSecond: number | null;
  /** One admin key. */
  adminPerSecond: number | null;
}

/** Counts a request: what its answer's headers say of the limit, null without one. Throws 429. */
export type RateLimit = (caller: Caller) => Readonly<Record<string, string>> | null;

/** A caller who was quiet may make this many seconds' requests at once. */
const BURST_S = 2;
/** So many callers are remembered before those who owe nothing any more are forgotten. */
const MANY = 10_000;

/**
 * A limit for each caller by itself, so that a flood of one takes nothing from the others. Each process counts what
 * reaches it: several together let through that much more. One number a caller: the time up to which what was let
 * through is paid off. Undefined where nothing is limited, so that it costs nothing then.
 * @param nowMs the machine's time, not the test clock's, from whenever; `wallMs`: the same as epoch ms
 */
export function createRateLimit(
  limits: RateLimits,
  nowMs: () => number = () => performance.now(),
  wallMs: () => number = () => Date.now(),
): RateLimit | undefined {
  const { applicationPerSecond, adminPerSecond } = limits;
  if (applicationPerSecond === null && adminPerSecond === null) return undefined;
  const paidUntil = new Map<string, number>();
  const forget = (now: number): void => {
    for (const [name, until] of paidUntil) if (until <= now) paidUntil.delete(name);
  };
  return (caller) => {
    const perSecond = caller.kind === 'admin' ? adminPerSecond : applicationPerSecond;
    // Nobody's requests, those of public operations, need no key and are not counted.
    if (perSecond === null || caller.prefix === '') return null;
    const name = caller.kind === 'admin' ? caller.prefix : `${caller.tenantNo}:${caller.userId}`;
    const now = nowMs();
    const costMs = 1000 / perSecond;
    const burst = Math.ceil(perSecond * BURST_S);
    const before = Math.max(paidUntil.get(name) ?? now, now);
    const waitMs = before + costMs - now - burst * costMs;
    const admitted = waitMs <= 1e-6;
    const after = admitted ? before + costMs : before;
    if (admitted) {
      if (paidUntil.size >= MANY && !paidUntil.has(name)) forget(now);
      paidUntil.set(name, after);
    }
    const headers = {
      'RateLimit-Limit': String(burst),
      'RateLimit-Remaining': String(Math.max(0, Math.floor(burst - (after - now) / costMs + 1e-6))),
      // Seconds until a whole burst may be made again.
      'RateLimit-Reset': String(Math.ceil((after - now) / 1000)),
      // The same as a time, epoch seconds: what generated clients wait for.
      'X-RateLimit-Reset': String(Math.ceil((wallMs() + after - now) / 1000)),
    };
    if (admitted) return headers;
    throw new AppError('too_many_requests', 'Too many requests; try again after the time in Retry-After', {
      ...headers,
      'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))),
    });
  };
}
