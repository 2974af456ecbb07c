import type { Redis } from 'ioredis';
import { endpointsOf, shardsInUse } from '../../redis/endpoints.ts';
import { wholeBacklog, wholeBacklogBytes } from '../../redis/outbox.ts';

/** How often the outboxes are measured: what is accepted past the limit meanwhile is small against the limit. */
const INTERVAL_MS = 200;
/** Their bytes are measured this often, which costs Redis more: in all 1.4 % of it where most waits. */
const BYTES_INTERVAL_MS = 1_000;

export interface BacklogWatchOptions {
  redis: Redis;
  /** Entries of the outbox, over all shards. */
  backlogLimit: number;
  /** Bytes of Redis that they take, over all shards. */
  backlogLimitBytes: number;
}

/**
 * Knows whether more waits for Postgres than may wait, without asking Redis for each event. While nobody asks, and the
 * last answer was no, nothing is measured (40 commands a second of a Redis at rest). The first question is followed by a
 * measure within 200 ms, so that no more is accepted past the limit than if there were always one.
 */
export class BacklogWatch {
  private readonly entries = new Measures();
  private readonly bytes = new Measures();
  private tooMany = false;
  private tooLarge = false;
  private bytesMeasuredMs = -Infinity;
  /** Whether anybody asked since the last measure. */
  private asked = true;
  private started = false;
  /** Set while a measure is to come, or under way: a Redis that hangs gets no more questions than one. */
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

  /** Whether no event may be taken now. */
  readonly exceeded = (): boolean => {
    this.asked = true;
    if (this.timer === null) this.measureSoon();
    return this.tooMany || this.tooLarge;
  };

  /** Measures now. Of a Redis that is away the last measure counts: events fail there by themselves. Never rejects. */
  async measure(): Promise<void> {
    const { redis, backlogLimit, backlogLimitBytes } = this.options;
    this.asked = false;
    const used = shardsInUse(redis);
    // Also those that hold none: what was measured of one before its shards were moved must not be counted on.
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

/** The last measures of some servers. */
class Measures {
  private readonly last = new Map<Redis, number>();

  get sum(): number {
    return [...this.last.values()].reduce((sum, measure) => sum + measure, 0);
  }

  /** Forgets the measures of all other servers. */
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
