import { systemClock } from '../../clock.ts';
import { AppError, retryAfter } from '../../errors.ts';
import type { Caller } from '../../operations/operation.ts';

/** Requests per second that a caller may make continuously; 0 for no limit. */
export interface RateLimits {
  /** Limit per user, over all application keys without a limit of their own, unless the organisation sets one. */
  applicationPerSecond: number;
  adminPerSecond: number;
  /** Limit per address, for documents and pages that need no key. */
  filesPerSecond: number;
}

type Headers = Readonly<Record<string, string>>;

/** Under which name a caller's requests are counted, and how many per second it may make; 0 for no limit. */
interface CallerLimit {
  name: string;
  perSecond: number;
}

export type LimitOf = (caller: Caller) => CallerLimit;

/**
 * Limits of callers. Application keys with their own limit are counted separately; a user's other keys are counted together.
 * @param organisationPerSecond the organisation's limit for application keys; `null` for that of `limits`
 */
export const callerLimits =
  (
    limits: Pick<RateLimits, 'applicationPerSecond' | 'adminPerSecond'>,
    organisationPerSecond: () => number | null = () => null,
  ): LimitOf =>
  ({ kind, prefix, rateLimit, tenantNo, userId }) => {
    if (kind === 'admin') return { name: prefix, perSecond: limits.adminPerSecond };
    return {
      name: rateLimit === null ? `${tenantNo}:${userId}` : prefix,
      perSecond: rateLimit ?? organisationPerSecond() ?? limits.applicationPerSecond,
    };
  };

/** Counts a request and returns its rate limit headers, or `null` if there is no limit. Throws 429. */
export type RateLimit = (caller: Caller) => Headers | null;

/** Counts something of a network (`null`: not counted), and returns the refusal if it is too much. */
export type NetworkLimit = (network: string | null) => AppError | null;

/** After a pause, a caller may make this many seconds' worth of requests at once. */
const BURST_S = 4;
const BURST_MS = BURST_S * 1000;

interface Spent {
  burst: number;
  /** Time until the request would be admitted, in ms; 0 if it is. */
  waitMs: number;
  /** Time until a whole burst is available again, in ms. */
  owedMs: number;
  remaining: number;
}

/** A limit per caller: the time until which its requests are paid for. Nobody owes more than one burst. */
class Buckets {
  private readonly nowMs: () => number;
  private paidUntil = new Map<string, number>();
  private before = new Map<string, number>();
  private sinceMs = 0;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
  }

  spend(name: string, perSecond: number): Spent {
    const now = this.nowMs();
    if (now - this.sinceMs >= BURST_MS) {
      this.before = this.paidUntil;
      this.paidUntil = new Map();
      this.sinceMs = now;
    }
    const costMs = 1000 / perSecond;
    const owed = Math.max((this.paidUntil.get(name) ?? this.before.get(name) ?? now) - now, 0);
    const overMs = owed + costMs - BURST_MS;
    const waitMs = overMs <= 1e-6 ? 0 : overMs;
    const owedMs = waitMs === 0 ? owed + costMs : owed;
    this.paidUntil.set(name, now + owedMs);
    const burst = perSecond * BURST_S;
    return { burst, waitMs, owedMs, remaining: Math.max(0, Math.floor(burst - owedMs / costMs + 1e-6)) };
  }
}

const tooMany = (waitMs: number, headers: Headers = {}): AppError =>
  new AppError('too_many_requests', 'Too many requests; try again after the time in Retry-After', {
    headers: { ...headers, ...retryAfter(waitMs) },
  });

/**
 * Limits callers, so that a flood from one does not affect others. Each process counts its own requests, so several processes together admit
 * that many times more. See `callerLimits`.
 * @param nowMs the machine's time, not the test clock's, with any origin; `wallMs`: the same as epoch ms
 */
export function createRateLimit(
  limits: Pick<RateLimits, 'applicationPerSecond' | 'adminPerSecond'>,
  organisationPerSecond: () => number | null = () => null,
  nowMs: () => number = () => performance.now(),
  wallMs: () => number = () => systemClock.now(),
): RateLimit {
  const buckets = new Buckets(nowMs);
  const limitOf = callerLimits(limits, organisationPerSecond);
  return (caller) => {
    // Requests without a key, of public operations, are not counted here.
    if (caller.prefix === '') return null;
    const { name, perSecond } = limitOf(caller);
    if (perSecond === 0) return null;
    const { burst, waitMs, owedMs, remaining } = buckets.spend(name, perSecond);
    const headers = {
      'X-RateLimit-Limit': String(burst),
      'X-RateLimit-Remaining': String(remaining),
      // When a whole burst is available again, in epoch seconds; generated clients wait until then.
      'X-RateLimit-Reset': String(Math.ceil((wallMs() + owedMs) / 1000)),
    };
    if (waitMs === 0) return headers;
    throw tooMany(waitMs, headers);
  };
}

/** Limits requests for files by their networks; `undefined` if there is no limit. */
export const createFileLimit = (perSecond: number): NetworkLimit | undefined =>
  perSecond === 0 ? undefined : createNetworkLimit(perSecond);

/** Limits what each network does. */
export function createNetworkLimit(perSecond: number): NetworkLimit {
  const buckets = new Buckets(() => performance.now());
  return (network) => {
    const waitMs = network === null ? 0 : buckets.spend(network, perSecond).waitMs;
    return waitMs === 0 ? null : tooMany(waitMs);
  };
}
