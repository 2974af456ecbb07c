import type { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import type { RedisState } from '../domain/administration/system.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { endpointsOf } from './endpoints.ts';

/** The Redis is a replica: it accepts no writes, and its data may be older than its master's. */
export class RedisIsReplica extends Error {
  constructor() {
    super('The Redis at REDIS_URL is a replica, not a master.');
    this.name = 'RedisIsReplica';
  }
}

/**
 * Identifies a Redis process and its history of writes: `<run_id>.<master_replid>`. The first part changes with every start, the
 * second whenever a replica becomes a master. A Redis that was a replica meanwhile may hold another master's writes. `onTime`
 * receives Redis's time (epoch ms), which the reply contains. Throws RedisIsReplica.
 */
export async function readRedisProcessId(redis: Redis, onTime?: (redisMs: number) => void): Promise<string> {
  const info = (await redis.call('INFO', 'SERVER', 'REPLICATION')) as string;
  const micros = Number(fieldOf(info, 'server_time_usec'));
  if (micros > 0) onTime?.(micros / 1_000);
  if (fieldOf(info, 'role') !== 'master') throw new RedisIsReplica();
  return `${fieldOf(info, 'run_id')}.${fieldOf(info, 'master_replid')}`;
}

/** Whether the Redis is a replica that took over from an earlier master. Throws errors of Redis. */
export async function tookOverFrom(redis: Redis, redisProcessId: string): Promise<boolean> {
  const info = await redis.info('replication');
  return fieldOf(info, 'master_replid2') === redisProcessId.split('.')[1];
}

/** The server's kind, version and memory. Throws errors of Redis. */
export async function redisState(redis: Redis): Promise<RedisState> {
  const info = (await redis.call('INFO', 'SERVER', 'MEMORY')) as string;
  const server = fieldOf(info, 'server_name') || 'redis';
  const maxMemoryBytes = Number(fieldOf(info, 'maxmemory'));
  return {
    server,
    version: fieldOf(info, `${server}_version`) || fieldOf(info, 'redis_version'),
    memoryBytes: Number(fieldOf(info, 'used_memory')),
    maxMemoryBytes: maxMemoryBytes === 0 ? null : maxMemoryBytes,
  };
}

/**
 * The share of `maxmemory` that a Redis uses, as it compares them itself: above 1 it refuses writes. `null` without a
 * limit. Throws errors of Redis.
 */
export async function memoryUsedRatio(redis: Redis): Promise<number | null> {
  const info = (await redis.call('INFO', 'MEMORY')) as string;
  const limit = Number(fieldOf(info, 'maxmemory'));
  if (limit === 0) return null;
  return (Number(fieldOf(info, 'used_memory')) - Number(fieldOf(info, 'mem_not_counted_for_evict'))) / limit;
}

/** A field of a reply to INFO, or `''`. Avoids a regular expression, which each call would compile. */
function fieldOf(info: string, name: string): string {
  const before = `\n${name}:`;
  const at = info.indexOf(before);
  if (at < 0) return '';
  const from = at + before.length;
  const end = info.indexOf('\r', from);
  return info.slice(from, end < 0 ? undefined : end);
}

/** Skew beyond `warned` is logged. Beyond `refused`, the process does nothing that depends on its clock. */
const LIMIT_MS = { warned: 1_000, refused: 60_000 };
/** Interval of comparisons, usually and while this clock is refused. */
const COMPARE_MS = { usually: 60_000, refused: 1_000 };
/** Shortest interval of the comparisons that replies cause. A slow reply looks like a wrong clock. */
const REPLIES_MS = 1_000;
/** Samples per comparison. The quickest answer is the most precise. */
const SAMPLES = 3;

type State = 'right' | 'warned' | 'refused';

/**
 * Compares this process's clock with those of its Redis servers: at start, every minute, when this clock jumps, and when a reply shows
 * that they may differ. A jump counts at once, before the comparison ends. The frontend that accepts an event sets
 * its time, so a clock one day ahead would extend streaks and close leaderboards. With several servers the nearest clock counts, so
 * that one wrong server does not matter. Without an answer, the last result stays. A clock set by hand (`Clock.isReal`) is not
 * compared.
 */
export class ClockSkew {
  private readonly options: { redis: Redis; clock: Clock; log: Log };
  private skew = 0;
  private state: State = 'right';
  /** The clock minus `performance.now()` at the last comparison or jump; `null` before the first comparison. */
  private offsetMs: number | null = null;
  private comparing: Promise<void> | null = null;
  /** When the last comparison began (`performance.now()`). */
  private comparedMs = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(options: { redis: Redis; clock: Clock; log: Log }) {
    this.options = options;
  }

  /** How far this clock is ahead of Redis in ms; negative if behind. Less than half the round trip counts as 0. */
  get ms(): number {
    return this.skew;
  }

  get isRefused(): boolean {
    this.noticeJump();
    return this.state === 'refused';
  }

  /** Throws an error with status 503 while `isRefused`. */
  refuse(): void {
    if (!this.isRefused) return;
    throw new AppError('unavailable', `Events are refused: ${this.sentence}.`);
  }

  /** Compares now and then regularly until `close`. Never rejects. */
  async start(): Promise<void> {
    if (this.options.clock.isReal !== true || this.closed) return;
    if (this.timer !== null) clearTimeout(this.timer);
    await this.compare();
    if (this.closed) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.start(), this.isRefused ? COMPARE_MS.refused : COMPARE_MS.usually).unref();
  }

  close(): void {
    this.closed = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  /**
   * Takes the time (epoch ms) that a reply of Redis contains, and compares soon if the clocks may differ otherwise than known.
   * Costs no call while they do not.
   */
  heard(redisMs: number): void {
    const { clock } = this.options;
    if (clock.isReal !== true || this.offsetMs === null) return;
    this.noticeJump();
    const isNear = Math.abs(clock.now() - redisMs - this.skew) <= LIMIT_MS.warned;
    if (!isNear && performance.now() - this.comparedMs >= REPLIES_MS) void this.start();
  }

  /** If this clock jumped since the last comparison, it is as wrong as the jump makes it, until the next comparison ends. */
  private noticeJump(): void {
    if (this.offsetMs === null || this.closed) return;
    const jumpMs = this.offset - this.offsetMs;
    if (Math.abs(jumpMs) <= LIMIT_MS.warned) return;
    this.offsetMs += jumpMs;
    this.skew = Math.round(this.skew + jumpMs);
    this.turn(stateOf(this.skew));
    void this.start();
  }

  /** Concurrent calls share one comparison. Never rejects. */
  compare(): Promise<void> {
    this.comparing ??= this.compareAll().finally(() => (this.comparing = null));
    return this.comparing;
  }

  private async compareAll(): Promise<void> {
    const { redis, clock } = this.options;
    let offsetMs: number;
    let measured: (number | null)[];
    do {
      offsetMs = this.offset;
      this.comparedMs = performance.now();
      measured = await Promise.all(endpointsOf(redis).map((server) => this.measure(server.redis)));
      // Measurements of before and after a jump do not fit together.
    } while (Math.abs(this.offset - offsetMs) > LIMIT_MS.warned && !this.closed);
    const known = measured.filter((skew) => skew !== null);
    if (known.length === 0) return;
    if (clock.isReal === true) this.offsetMs = offsetMs;
    this.skew = known.reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a));
    this.turn(stateOf(this.skew));
  }

  /** The clock minus `performance.now()`: changes only when the clock is set. */
  private get offset(): number {
    return this.options.clock.now() - performance.now();
  }

  /** How far this clock is ahead of a server's; `null` if the server does not answer. */
  private async measure(redis: Redis): Promise<number | null> {
    let best: { skew: number; roundTripMs: number } | null = null;
    try {
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const sentMs = performance.now();
        const [seconds, micros] = await redis.time();
        const roundTripMs = performance.now() - sentMs;
        if (best !== null && best.roundTripMs <= roundTripMs) continue;
        // Redis read its clock at some moment between request and reply.
        const skew = this.options.clock.now() - roundTripMs / 2 - (Number(seconds) * 1_000 + Number(micros) / 1_000);
        best = { skew: Math.sign(skew) * Math.max(0, Math.abs(skew) - roundTripMs / 2), roundTripMs };
      }
    } catch {
      // Unreachable; other components report that.
    }
    return best === null ? null : Math.round(best.skew);
  }

  private turn(state: State): void {
    if (state === this.state) return;
    this.state = state;
    const { log } = this.options;
    const fields = { skewSeconds: this.skew / 1_000 };
    if (state === 'right') log.info(fields, 'the clock of this process agrees with Redis again');
    else if (state === 'warned') log.warn(fields, `${this.sentence}: check the time synchronisation of both`);
    else
      log.error(
        fields,
        `${this.sentence}: this process refuses events and does no scheduled work until the clock is right`,
      );
  }

  private get sentence(): string {
    const seconds = Math.abs(this.skew / 1_000).toFixed(1);
    return `the clock of this process is ${seconds} s ${this.skew > 0 ? 'ahead of' : 'behind'} that of Redis`;
  }
}

function stateOf(skewMs: number): State {
  const apart = Math.abs(skewMs);
  if (apart > LIMIT_MS.refused) return 'refused';
  return apart > LIMIT_MS.warned ? 'warned' : 'right';
}
