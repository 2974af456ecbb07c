import { AppError } from '../errors.ts';

/** Addresses remembered; the one that failed longest ago goes first. */
const ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/**
 * How many wrong keys may come from a client: so many at once, and as many a minute from then on. Further ones are answered 429
 * instead of 401. Only wrong keys are: a good key from the same address (an office, a proxy) is admitted at any time. Each process
 * counts what reaches it. Its memory is bounded, and a request with a good key costs nothing.
 */
export class FailedKeys {
  private readonly perMinute: number;
  private readonly nowMs: () => number;
  /** Up to when what failed is paid off, ms; the last to fail is the last. */
  private readonly paidUntilMs = new Map<string, number>();

  /** @param nowMs the machine's time, not the test clock's */
  constructor({ perMinute, nowMs = () => performance.now() }: { perMinute: number; nowMs?: () => number }) {
    this.perMinute = perMinute;
    this.nowMs = nowMs;
  }

  /** Counts a wrong key. Returns the 429 to answer; null while the address may have more, as no address always may. */
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
    // As long as one more, of a whole burst, fits into the coming minute.
    return (this.paidUntilMs.get(address) ?? nowMs) + costMs - nowMs - MINUTE_MS - 1e-6;
  }
}

const tooMany = (waitMs: number): AppError =>
  new AppError(
    'too_many_wrong_keys',
    'Too many wrong API keys came from this address; try again after the time in Retry-After',
    { headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1000))) } },
  );
