/** Who listens is asked again after so long. */
const LOOK_MS = 500;

/** The tenants whose live streams somebody listens to, for work that goes on many times a second. */
export class LiveAudience {
  private readonly ask: () => Promise<readonly number[]>;
  private known: ReadonlySet<number> = new Set();
  private askedAtMs = -Infinity;

  /** `ask`: the tenants' numbers. */
  constructor(ask: () => Promise<readonly number[]>) {
    this.ask = ask;
  }

  /** Their numbers as they were half a second ago at most; longer ago while they cannot be asked for. Never rejects. */
  async tenants(): Promise<ReadonlySet<number>> {
    const nowMs = performance.now();
    if (nowMs - this.askedAtMs < LOOK_MS) return this.known;
    this.askedAtMs = nowMs;
    try {
      this.known = new Set(await this.ask());
    } catch {
      // What they would hear of is also stored without them.
    }
    return this.known;
  }
}
