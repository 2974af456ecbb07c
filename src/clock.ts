/** Where the time comes from. Everything that needs it is handed a clock, so that a test can see tomorrow. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Whether it should show the same time as the clocks of other machines. One that a test sets need not. */
  readonly isReal?: boolean;
}

/** The machine's own time. */
export const systemClock: Clock = { now: () => Date.now(), isReal: true };

/** A clock that stands still until it is set. */
export class FixedClock implements Clock {
  private nowMs: number;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  set(nowMs: number): void {
    this.nowMs = nowMs;
  }
}
