/** The source of time. Code that needs the time receives a clock, so that tests can move it. */
export interface Clock {
  now(): number;
  /** Whether it should agree with the clocks of other machines. A test clock need not. */
  readonly isReal?: boolean;
}

/**
 * The machine's time, for dates that do not follow the test clock. Not for durations and deadlines: the machine's clock may be set back
 * at any moment, so they use `performance.now()`.
 */
export const systemClock: Clock = { now: () => Date.now(), isReal: true };

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
