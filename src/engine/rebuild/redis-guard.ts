import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { LogThrottle } from '../../log/log-throttle.ts';
import type { Log } from '../../log/log.ts';
import { Gate } from '../../redis/gate.ts';
import { ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { isFenceOf, readRun, RedisIsReplica } from '../../redis/run.ts';
import { leftOut } from '../notifications/left-out.ts';
import { sayWhatIsSetAside } from '../persist/set-aside.ts';
import { accept, ForeignRedis } from './accept.ts';
import { isFence } from '../../postgres/rebuild/epoch.ts';
import { LOOK_MS, PostgresIsOlder, readGaps, readMarks, RedisIsSuperseded } from './inspect.ts';
import { lostWrites } from './lost-writes.ts';
import type { RebuildProgress } from './rebuild.ts';

export interface RedisGuardOptions {
  redis: Redis;
  pool: Pool;
  log: Log;
  /** The position of this process's last write, by shard: a Redis that takes over is asked whether it holds that. */
  written?: () => ReadonlyMap<number, string>;
  /** How long a replica may take to have what was written (`ReplicaAcknowledgement`); null, or without it: none has to. */
  acknowledgeMs?: number | null;
}

/** How soon a shut one is looked at again. */
const RETRY_MS = 100;
/** How soon another connection is made where one did not lead to the master. */
const ELSEWHERE_MS = 500;
/**
 * How often Postgres is asked whether it still goes together with an open Redis, once this process wrote something, and at
 * rest; and how long that may take.
 */
const ASK_MS = 5_000;
const ASK_AT_REST_MS = 60_000;
const ANSWER_MS = 1_000;
/** The same line, and progress, is not logged again sooner. */
const REPEAT_MS = 5_000;

/**
 * Keeps the gate of a connection: looks at Redis whenever the connection is a new one or leads to a replica, or something was found missing, has
 * it rebuilt where that is needed (in one process; the others wait), and opens the gate when Redis holds what Postgres
 * does. While it is shut, scripts are refused and requests answered 503.
 */
export class RedisGuard {
  readonly gate: Gate;
  private readonly options: RedisGuardOptions;
  private readonly ending = new AbortController();
  private running: Promise<void> | null = null;
  private readonly logThrottle = new LogThrottle(REPEAT_MS);
  private foreign: ForeignRedis | null = null;
  private askedMs = -Infinity;
  /** Ends the wait for the next look. */
  private wake = (): void => undefined;
  private askedOf = '';
  private accepted: { fence: string; marks: (string | null)[] } | null = null;

  constructor(options: RedisGuardOptions) {
    this.options = options;
    const { redis, log, acknowledgeMs = null } = options;
    this.gate = new Gate(redis);
    this.gate.listen(() => this.wake());
    if (acknowledgeMs === null) return;
    const onChange = (isAway: boolean): void =>
      this.logThrottle.log('replicas', () =>
        isAway
          ? log.error(
              { acknowledgeMs },
              'no replica acknowledges what is written: writes are answered 503 until one does',
            )
          : log.info({}, 'a replica acknowledges what is written'),
      );
    this.gate.acknowledgement = new ReplicaAcknowledgement({
      redis,
      gate: this.gate,
      timeoutMs: acknowledgeMs,
      onChange,
    });
  }

  /** Begins; resolves when the gate is open, or after `waitMs`: what takes longer goes on behind. Rejects for a Redis of another Laurel. */
  async start(waitMs = 2_000): Promise<void> {
    this.running = this.run();
    const deadlineMs = performance.now() + waitMs;
    while (this.gate.fence === null && performance.now() < deadlineMs) {
      if (this.foreign !== null) throw this.foreign;
      await sleep(5);
    }
  }

  /** Ends, and with it a rebuild under way in this process. */
  async close(): Promise<void> {
    this.ending.abort();
    this.wake();
    await this.running;
    this.gate.acknowledgement?.close();
  }

  private async run(): Promise<void> {
    const { gate } = this;
    const { redis } = this.options;
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        if (redis.status === 'ready') await (gate.fence === null ? this.look() : this.lookAgain());
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ForeignRedis) this.foreign = error;
        this.complain(error);
        if (isElsewhere(error)) await this.leave();
        // Somebody has to decide, which takes longer.
        else if (error instanceof PostgresIsOlder) await this.pause(ASK_MS);
      }
      if (!signal.aborted) await this.untilWoken(gate.fence === null ? RETRY_MS : LOOK_MS);
    }
  }

  private async look(): Promise<void> {
    const { redis, pool, log } = this.options;
    const { connection } = this.gate;
    if (!this.gate.isDoubted && (await this.isAsBefore())) {
      if (await this.isSuperseded()) throw new RedisIsSuperseded();
      return this.gate.open(this.accepted!.fence, connection);
    }
    const startedMs = performance.now();
    const seconds = (): number => Math.round((performance.now() - startedMs) / 100) / 10;
    let rebuilt = false;
    let toldMs = startedMs;
    const fence = await accept({
      redis,
      pool,
      ending: this.ending.signal,
      onSetAside: (entry) => sayWhatIsSetAside(log, entry),
      onLeftOut: leftOut({ redis, log }),
      onUnreadable: ({ tenantNo }) =>
        log.error({ tenantNo }, "A user's state in Postgres cannot be read: `laurel verify` names the user"),
      onNeeded: (why, first) => {
        // On a new installation Redis is empty as it should be, and there is nothing to say.
        rebuilt = !first;
        if (first) return;
        log.warn(
          { why },
          'Redis does not hold what Postgres does; it is rebuilt, and requests are answered 503 until then',
        );
      },
      onProgress: ({ step, done, total }: RebuildProgress) => {
        if (performance.now() - toldMs < REPEAT_MS) return;
        toldMs = performance.now();
        log.info({ step, done, total, seconds: seconds() }, 'rebuilding Redis');
      },
    });
    if (fence === null) return;
    if (this.accepted !== null) await this.nameLosses();
    this.accepted = { fence, marks: await readMarks(redis) };
    this.gate.open(fence, connection);
    if (rebuilt) log.info({ seconds: seconds() }, 'Redis is rebuilt');
  }

  /** Logs what was acknowledged and is lost, if anything is. */
  private async nameLosses(): Promise<void> {
    const { written, log } = this.options;
    if (written === undefined) return;
    for (const { shard, acknowledged, held } of await lostWrites(this.options, written())) {
      log.error(
        { shard, acknowledged, held },
        'EVENTS ARE LOST: Redis took over without the last writes that were acknowledged, and Postgres has not stored them',
      );
    }
  }

  /** Whether this is the run of Redis that was accepted, with its marks: a broken connection alone, for which Postgres is not needed. */
  private async isAsBefore(): Promise<boolean> {
    const { accepted } = this;
    if (accepted === null) return false;
    const { redis } = this.options;
    const [run, marks] = await Promise.all([readRun(redis), readMarks(redis)]);
    return isFenceOf(accepted.fence, run) && marks.every((mark, shard) => mark === accepted.marks[shard]);
  }

  /**
   * Whether another Redis was accepted since, by a process that sees another master. Postgres is not needed for a broken
   * connection alone: without its answer it is taken that none was.
   */
  private async isSuperseded(): Promise<boolean> {
    this.askedMs = performance.now();
    return !(await this.inTime(isFence(this.options.pool, this.accepted!.fence), true));
  }

  /** Whether Postgres is to be asked again. */
  private isDue(): boolean {
    const sinceMs = performance.now() - this.askedMs;
    if (sinceMs < ASK_MS) return false;
    const written = [...(this.options.written?.().values() ?? [])].join();
    if (written === this.askedOf && sinceMs < ASK_AT_REST_MS) return false;
    this.askedOf = written;
    return true;
  }

  /** Whether Postgres came back older, and not all that it lacks is kept; without its answer it is taken that it did not. */
  private async isOlder(): Promise<boolean> {
    return (await this.inTime(readGaps(this.options.redis, this.options.pool), [])).length > 0;
  }

  /** What is answered in time and without an error, else `otherwise`. */
  private async inTime<T>(asked: Promise<T>, otherwise: T): Promise<T> {
    const answered = new AbortController();
    const late = sleep(ANSWER_MS, otherwise, { signal: AbortSignal.any([answered.signal, this.ending.signal]) });
    try {
      return await Promise.race([asked.catch(() => otherwise), late.catch(() => otherwise)]);
    } finally {
      answered.abort();
    }
  }

  /** Emptied, rebuilt by another process, or made a replica and a master again since, or superseded: looked at like a new one. */
  private async lookAgain(): Promise<void> {
    const { fence } = this.gate;
    const isDue = this.isDue();
    if (isDue && (await this.isOlder())) this.gate.doubt();
    const same = (await this.isAsBefore()) && !(isDue && (await this.isSuperseded()));
    if (!same && this.gate.fence === fence) this.gate.shut();
  }

  /** The master is elsewhere: the next connection goes where the name, or the Sentinels, lead by then. */
  private async leave(): Promise<void> {
    this.gate.shut();
    await this.pause(ELSEWHERE_MS);
    if (!this.ending.signal.aborted) this.options.redis.disconnect(true);
  }

  private async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.ending.signal }).catch(() => undefined);
  }

  /**
   * Resolves when the gate shuts or opens, after `ms`, or at the end. A bare timer, since every process waits so twice a second
   * for ever: a signal made for each wait was as much CPU again.
   */
  private async untilWoken(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private complain(error: unknown): void {
    const message =
      error instanceof ForeignRedis || error instanceof PostgresIsOlder || isElsewhere(error)
        ? error.message
        : 'Redis could not be looked at or rebuilt; trying again';
    this.logThrottle.log('', () => this.options.log.error({ err: error }, message));
  }
}

/** Whether it says that the master is elsewhere. */
const isElsewhere = (error: unknown): error is Error =>
  error instanceof RedisIsReplica || error instanceof RedisIsSuperseded;
