import type { ListenedUsers } from '../../redis/live-streams.ts';

/** Who listens is asked again after so long. */
const LOOK_MS = 500;

/** The tenants whose live streams somebody listens to, for work that goes on many times a second. */
export class LiveAudience {
  private readonly ask: () => Promise<ReadonlyMap<number, ListenedUsers>>;
  private known: ReadonlyMap<number, ListenedUsers> = new Map();
  private askedAtMs = -Infinity;

  /** `ask`: the users of the tenants, by the tenants' numbers. */
  constructor(ask: () => Promise<ReadonlyMap<number, ListenedUsers>>) {
    this.ask = ask;
  }

  /**
   * The users whose streams are listened to, by their tenants' numbers, as they were half a second ago at most; longer ago
   * while they cannot be asked for. Never rejects.
   */
  async tenants(): Promise<ReadonlyMap<number, ListenedUsers>> {
    const nowMs = performance.now();
    if (nowMs - this.askedAtMs < LOOK_MS) return this.known;
    this.askedAtMs = nowMs;
    try {
      this.known = await this.ask();
    } catch {
      // What they would hear of is also stored without them.
    }
    return this.known;
  }
}
