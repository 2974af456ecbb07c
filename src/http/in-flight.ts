/** Counts operations in progress and reports when there are none. */
export class InFlight {
  private running = 0;
  private waiting: (() => void)[] = [];

  get count(): number {
    return this.running;
  }

  begun(): void {
    this.running += 1;
  }

  ended(): void {
    this.running -= 1;
    if (this.running > 0 || this.waiting.length === 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when nothing is in progress, or after `timeoutMs`. */
  async idle(timeoutMs: number): Promise<void> {
    if (this.running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
