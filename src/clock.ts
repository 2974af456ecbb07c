/** The source of time. Code that needs the time receives a clock, so that tests can move it. */
export interface Clock {
  now(): number;
  /** Whether it should agree with the clocks of other machines. A test clock need not. */
  readonly isReal?: boolean;
}

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
