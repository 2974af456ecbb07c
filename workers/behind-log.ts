import type { Log } from '../src/log/log.ts';

/** Behind is who has left an entry waiting for so long; caught up again, who has none that waits for `CAUGHT_UP_MS`. */
const BEHIND_MS = 5_000;
const CAUGHT_UP_MS = 1_000;

/** Says, a line each, when the outbox of a shard falls behind, and when it has caught up. */
export class BehindLog {
  private readonly log: Log;
  /** Shard → since when it is behind, by `performance.now()`. */
  private readonly since = new Map<number, number>();

  constructor(log: Log) {
    this.log = log;
  }

  /** Takes note of how long a shard's oldest entry has waited; null: none waits. */
  note(shard: number, waitingMs: number | null): void {
    const nowMs = performance.now();
    const since = this.since.get(shard);
    if (since === undefined && waitingMs !== null && waitingMs > BEHIND_MS) {
      this.since.set(shard, nowMs - waitingMs);
      this.log.warn({ shard, waitingMs }, 'storing events in Postgres falls behind; nothing is lost');
    } else if (since !== undefined && (waitingMs ?? 0) < CAUGHT_UP_MS) {
      this.since.delete(shard);
      this.log.info({ shard, seconds: Math.round((nowMs - since) / 1000) }, 'storing events in Postgres has caught up');
    }
  }
}
