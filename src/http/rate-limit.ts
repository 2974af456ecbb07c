import { AppError } from '../errors.ts';
import type { Caller } from '../operations/operation.ts';

/** Requests a second that one caller may make for ever; 0: any number. */
export interface RateLimits {
  /** One user, with all application keys of theirs that have no limit of their own, where the organisation sets none. */
  applicationPerSecond: number;
  /** One admin key. */
  adminPerSecond: number;
  /** One address, for documents and pages that need no key. */
  filesPerSecond: number;
}

type Headers = Readonly<Record<string, string>>;

/** Counts a request: what its answer's headers say of the limit, null without one. Throws 429. */
export type RateLimit = (caller: Caller) => Headers | null;

/** Counts a request from an address (null: one that is not counted); the 429 to answer, or null. */
export type FileLimit = (network: string | null) => AppError | null;

/** A caller who was quiet may make this many seconds' requests at once. */
const BURST_S = 4;
const BURST_MS = BURST_S * 1000;

interface Spent {
  burst: number;
  /** How long until the request would be admitted, ms; 0: it is. */
  waitMs: number;
  /** How long until a whole burst may be made again, ms. */
  owedMs: number;
  remaining: number;
}

/**
 * A limit for each caller by itself. A caller is one number: the time up to which what was let through is paid off. Nobody owes more
 * than a burst, so callers who were last seen two bursts ago are forgotten by dropping a whole map.
 */
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
    headers: { ...headers, 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) },
  });

/**
 * Limits callers, so that a flood of one takes nothing from the others. Each process counts what reaches it: several together let
 * through that much more. An application key with a limit of its own is counted by itself; the other keys of its user are counted
 * together.
 * @param organisationPerSecond the organisation's limit of application keys; null: that of `limits`
 * @param nowMs the machine's time, not the test clock's, from whenever; `wallMs`: the same as epoch ms
 */
export function createRateLimit(
  limits: Pick<RateLimits, 'applicationPerSecond' | 'adminPerSecond'>,
  organisationPerSecond: () => number | null = () => null,
  nowMs: () => number = () => performance.now(),
  wallMs: () => number = () => Date.now(),
): RateLimit {
  const buckets = new Buckets(nowMs);
  return (caller) => {
    const { kind, prefix, rateLimit, tenantNo, userId } = caller;
    // Nobody's requests, those of public operations, need no key and are not counted here.
    if (prefix === '') return null;
    const perSecond =
      kind === 'admin' ? limits.adminPerSecond : (rateLimit ?? organisationPerSecond() ?? limits.applicationPerSecond);
    if (perSecond === 0) return null;
    const name = kind === 'admin' || rateLimit !== null ? prefix : `${tenantNo}:${userId}`;
    const { burst, waitMs, owedMs, remaining } = buckets.spend(name, perSecond);
    const headers = {
      'X-RateLimit-Limit': String(burst),
      'X-RateLimit-Remaining': String(remaining),
      // When a whole burst may be made again, epoch seconds: what generated clients wait for.
      'X-RateLimit-Reset': String(Math.ceil((wallMs() + owedMs) / 1000)),
    };
    if (waitMs === 0) return headers;
    throw tooMany(waitMs, headers);
  };
}

/** Limits addresses; undefined where nothing is limited. */
export function createFileLimit(
  perSecond: number,
  nowMs: () => number = () => performance.now(),
): FileLimit | undefined {
  if (perSecond === 0) return undefined;
  const buckets = new Buckets(nowMs);
  return (network) => {
    const waitMs = network === null ? 0 : buckets.spend(network, perSecond).waitMs;
    return waitMs === 0 ? null : tooMany(waitMs);
  };
}
