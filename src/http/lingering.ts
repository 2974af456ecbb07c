/** A client that sends too large a body gets its answer after a pause of this length, or after the second time limit in any case. */
const QUIET_MS = 500;
const LONGEST_MS = 30_000;

/** Holds the answer to too large a body until the body was read or the client pauses. Closing earlier would hide the answer. */
export class Lingering {
  private readonly untilMs = performance.now() + LONGEST_MS;
  private readonly answer: () => void;
  private readonly timer: NodeJS.Timeout;

  constructor(answer: () => void) {
    this.answer = answer;
    this.timer = setTimeout(answer, QUIET_MS);
  }

  /** Notes that more of the body arrived. */
  received(isAll: boolean): void {
    if (!isAll && performance.now() < this.untilMs) return void this.timer.refresh();
    this.stop();
    this.answer();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
