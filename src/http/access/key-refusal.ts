import { AppError, retryAfter } from '../../errors.ts';

/** Refused keys: reasons, and the limit of failures per address. */

/** Why a key or session was not authenticated (401) or not authorised (403). */
const REFUSAL_REASONS = {
  missing: 'missing_key',
  malformed: 'invalid_key',
  unknown: 'invalid_key',
  wrong_secret: 'invalid_key',
  inactive: 'invalid_key',
  expired: 'invalid_key',
  session: 'unauthorized',
  sign_in: 'invalid_key',
  csrf: 'forbidden',
  scope: 'insufficient_scope',
  tenant: 'forbidden',
  user: 'forbidden',
  surface: 'forbidden',
} as const;
type RefusalReason = keyof typeof REFUSAL_REASONS;

const IN_HEADER = 'Send the key in the header X-API-KEY.';
/** The form of keys is public. */
const WHOLE_KEY =
  'A key is letters and digits with one dot, such as adm_….…: send all of it, without quotes or Bearer.';

/** A key was refused. A 401 says whether a key was sent, but not why it is invalid: that would help somebody who guesses keys. */
export class KeyRefusal extends AppError {
  readonly reason: RefusalReason;
  /** The key's readable part; `null` if there is none. */
  readonly prefix: string | null;

  constructor(
    reason: RefusalReason,
    { prefix, message, hint }: { prefix: string | null; message?: string; hint?: string } = { prefix: null },
  ) {
    const code = REFUSAL_REASONS[reason];
    const isMissing = code === 'missing_key';
    super(code, message ?? (isMissing ? 'The API key is missing' : 'The API key is not valid'), {
      hint: hint ?? (isMissing ? IN_HEADER : reason === 'malformed' ? WHOLE_KEY : undefined),
    });
    this.reason = reason;
    this.prefix = prefix;
  }
}

const ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/**
 * Limits the wrong keys of a client: this many at once, then as many per minute. Further ones get 429 instead of 401. Valid keys from the same
 * address (an office, a proxy) are always accepted. Each process counts its own requests. Memory is bounded, and requests with a valid key
 * cost nothing.
 */
export class FailedKeys {
  private readonly perMinute: number;
  private readonly nowMs: () => number;
  /** Time in ms until which each address's failures are paid for, ordered by last failure. */
  private readonly paidUntilMs = new Map<string, number>();

  /** @param nowMs the machine's time, not the test clock's */
  constructor({ perMinute, nowMs = () => performance.now() }: { perMinute: number; nowMs?: () => number }) {
    this.perMinute = perMinute;
    this.nowMs = nowMs;
  }

  /** Counts a wrong key. Returns the 429 to send, or `null` if the address is within its limit or unknown. */
  failed(address: string | null): AppError | null {
    if (address === null) return null;
    const nowMs = this.nowMs();
    const waitMs = this.waitMs(address, nowMs);
    if (waitMs > 0) return tooMany(waitMs);
    const untilMs = Math.max(this.paidUntilMs.get(address) ?? nowMs, nowMs) + MINUTE_MS / this.perMinute;
    this.paidUntilMs.delete(address);
    if (this.paidUntilMs.size >= ADDRESSES) {
      const [oldest] = this.paidUntilMs.keys();
      this.paidUntilMs.delete(oldest!);
    }
    this.paidUntilMs.set(address, untilMs);
    return null;
  }

  private waitMs(address: string, nowMs: number): number {
    const costMs = MINUTE_MS / this.perMinute;
    // Positive when one more failure would exceed a burst within the coming minute.
    return (this.paidUntilMs.get(address) ?? nowMs) + costMs - nowMs - MINUTE_MS - 1e-6;
  }
}

const tooMany = (waitMs: number): AppError =>
  new AppError(
    'too_many_wrong_keys',
    'Too many wrong API keys came from this address; try again after the time in Retry-After',
    { headers: retryAfter(waitMs) },
  );
