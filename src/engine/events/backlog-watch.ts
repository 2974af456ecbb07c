import type { Redis } from 'ioredis';
import { endpointsOf, shardsInUse } from '../../redis/endpoints.ts';
import { persistLagMs, wholeBacklog, wholeBacklogBytes } from '../../redis/outbox.ts';

/** Interval between measurements. Few events are accepted past the limit in between. */
const INTERVAL_MS = 200;
/** Interval between measurements of their bytes, which cost more: at most 1.4 % of Redis's time. */
const BYTES_INTERVAL_MS = 1_000;

export interface BacklogWatchOptions {
  redis: Redis;
  /** Maximum number of outbox entries over all shards. */
  backlogLimit: number;
  /** Maximum memory of the outboxes in Redis, over all shards. */
  backlogLimitBytes: number;
}

/**
 * Knows whether the backlog for Postgres is over its limit, without asking Redis for each event. Stops measuring while
 * nobody asks and the backlog is under the limit, which saves an idle Redis 40 commands a second. The first question
 * starts a measurement within 200 ms, so no more is accepted past the limit than with constant measurements.
 */
export class BacklogWatch {
  private readonly entries = new Measures();
  private readonly bytes = new Measures();
  private tooMany = false;
  private tooLarge = false;
  private bytesMeasuredMs = -Infinity;
  /** Whether anybody asked since the last measurement. */
  private asked = true;
  private started = false;
  /** Set while a measurement is scheduled or in progress, so that a Redis that hangs gets only one. */
  private timer: NodeJS.Timeout | null = null;
  private readonly options: BacklogWatchOptions;

  constructor(options: BacklogWatchOptions) {
    this.options = options;
  }

  start(): void {
    this.started = true;
    this.measureSoon();
  }

  stop(): void {
    this.started = false;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  readonly exceeded = (): boolean => {
    this.asked = true;
    if (this.timer === null) this.measureSoon();
    return this.tooMany || this.tooLarge;
  };

  /** The outbox entries of the last measurement. */
  readonly count = (): number => this.entries.sum;

  /** How long the oldest outbox entry has waited, in ms, without those of a Redis that is away. */
  async lagMs(): Promise<number> {
    const { redis } = this.options;
    const used = shardsInUse(redis);
    const lags = endpointsOf(redis).map((server) =>
      persistLagMs(
        server.redis,
        used.filter((shard) => server.shards.includes(shard)),
      ).catch(() => 0),
    );
    return Math.max(0, ...(await Promise.all(lags)));
  }

  /** Measures now. If Redis is away, the last measurement counts; events fail by themselves. Never rejects. */
  async measure(): Promise<void> {
    const { redis, backlogLimit, backlogLimitBytes } = this.options;
    this.asked = false;
    const used = shardsInUse(redis);
    // Includes servers without shards: their last measurement, from before the shards moved, must not count.
    const servers = endpointsOf(redis).map((server) => ({
      redis: server.redis,
      shards: used.filter((shard) => server.shards.includes(shard)),
    }));
    for (const measures of [this.entries, this.bytes]) measures.keep(servers.map((server) => server.redis));
    await Promise.all(servers.map((server) => this.entries.measure(server, wholeBacklog)));
    this.tooMany = this.entries.sum >= backlogLimit;
    if (performance.now() - this.bytesMeasuredMs < BYTES_INTERVAL_MS) return;
    await Promise.all(servers.map((server) => this.bytes.measure(server, wholeBacklogBytes)));
    this.tooLarge = this.bytes.sum >= backlogLimitBytes;
    this.bytesMeasuredMs = performance.now();
  }

  private measureSoon(): void {
    if (!this.started) return;
    this.timer = setTimeout(() => void this.measureAgain(), INTERVAL_MS).unref();
  }

  private async measureAgain(): Promise<void> {
    await this.measure();
    this.timer = null;
    if (this.asked || this.tooMany || this.tooLarge) this.measureSoon();
  }
}

class Measures {
  private readonly last = new Map<Redis, number>();

  get sum(): number {
    return [...this.last.values()].reduce((sum, measure) => sum + measure, 0);
  }

  keep(servers: readonly Redis[]): void {
    for (const redis of this.last.keys()) if (!servers.includes(redis)) this.last.delete(redis);
  }

  async measure(
    { redis, shards }: { redis: Redis; shards: readonly number[] },
    of: (redis: Redis, shards: readonly number[]) => Promise<number>,
  ): Promise<void> {
    const measure = await of(redis, shards).catch(() => null);
    if (measure !== null) this.last.set(redis, measure);
  }
}
