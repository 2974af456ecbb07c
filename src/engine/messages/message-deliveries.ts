import type { Pool } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import type { Medium } from '../../domain/notifications/medium.ts';
import type { WaitingMessage, MessageEnd } from '../../postgres/notifications/messages.ts';
import {
  hasChannels,
  leaseChannels,
  type LeasedChannel,
  releaseChannel,
} from '../../postgres/notifications/channel-leases.ts';
import { rounds, type Rounds } from '../../pacing/rounds.ts';
import { type Log, LogThrottle } from '../../telemetry/log.ts';
import { withTimeLimit } from '../../pacing/time-limit.ts';
import { ServerHealth } from '../webhooks/endpoint.ts';
import {
  type AttemptResult,
  type SendStep,
  endInterruptedMessages,
  type Pacing,
  type Prepared,
  sendDueMessages,
} from './message-queue.ts';

/** How an attempt ended. `concernsServer`: further ones through the channel would fail as well. */
interface Result extends AttemptResult {
  concernsServer: boolean;
}

/** What a tenant's channel is served with for a turn. */
export interface OpenChannel<M, R extends Result> {
  /** Most attempts a second. */
  pace: number;
  /** Most attempts at a time, once the server works. The pace times the time of an attempt is what a channel needs. */
  mostAtATime: number;
  /** The same for a server that fails, or only begins. */
  leastAtATime: number;
  prepare: (due: WaitingMessage) => Promise<Prepared<M>>;
  /** Tries once, for a limited time. Never rejects. */
  send: (message: M) => Promise<R>;
  /** Called when an attempt has ended, before its result is recorded. */
  onResult: (due: WaitingMessage, message: M, result: R) => Promise<void>;
  /** Ends the attempts in progress, each with the result that it has so far. */
  cutOff(): void;
  /** Called at the end of the turn. Rejects if Postgres does not answer. */
  close(): Promise<void>;
}

export interface MessageDeliveriesOptions<M, R extends Result> {
  medium: Medium;
  /** A few connections of its own. */
  pool: Pool;
  clock: Clock;
  log: Log;
  /** Whether users can be read now, and the clock is right. */
  mayWork: () => boolean;
  /** Opens a tenant's channel; `null` if it has none any longer. Rejects if its secrets cannot be read. */
  open: (tenantNo: number) => Promise<OpenChannel<M, R> | null>;
  /** Called with what becomes of each message: its final status, or `waiting` for another attempt. */
  onEnd?: (status: MessageEnd['status']) => void;
  onStep?: ((step: SendStep) => void | Promise<void>) | undefined;
  everyMs?: number | undefined;
  leaseMs?: number | undefined;
  /** How long a breaker is open for the first time. */
  firstPauseMs?: number | undefined;
}

/** Interval of looking for due messages. */
const EVERY_MS = 2_000;
/** The same while no tenant has a channel. Changes of channels are announced; this is for announcements that are lost. */
const UNUSED_EVERY_MS = 60_000;
/** Rounds without a due message after which it is asked again whether there are channels. */
const QUIET_ROUNDS = 30;
const LEASE_MS = 15_000;
/** A channel is served for this long; then others that wait come first. */
const TURN_MS = 60_000;
/** Channels that a process serves at a time. A broken one leaves its place after some attempts. */
const MOST_CHANNELS = 64;
const FIRST_PAUSE_MS = 30_000;
/** After an error of Laurel or Postgres. */
const RETRY_MS = 10_000;
/** The longest wait that a server may ask for. */
const MOST_ASKED_MS = 15 * 60_000;
const REPEAT_MS = 60_000;
/** At the end of the process, attempts may finish for this long. */
const GRACE_MS = 5_000;

interface Turn {
  /** Version of the channel. */
  version: number;
  ended: Promise<void>;
  ending: AbortController;
}

/**
 * Sends the messages of a medium of all tenants. One process at a time serves a channel (a lease in Postgres), so that its pace holds. Each
 * channel is served by itself: a server that is slow or does not answer holds up no other tenant. After ten failures in a
 * row that concern the server, the channel pauses like a webhook, and its messages wait.
 */
export class MessageDeliveries<M, R extends Result> {
  private readonly options: MessageDeliveriesOptions<M, R>;
  private readonly holder = uuid();
  private readonly turns = new Map<number, Turn>();
  /** Channels whose server failed lately. */
  private readonly failing = new Map<number, { version: number; health: ServerHealth }>();
  private readonly rounds: Rounds;
  private readonly logThrottle = new LogThrottle(REPEAT_MS);
  private readonly open = new Set<{ cutOff(): void }>();
  private closed = false;
  /** Rounds until it is asked whether a tenant has a channel. */
  private roundsLeft = 0;

  constructor(options: MessageDeliveriesOptions<M, R>) {
    this.options = options;
    this.rounds = rounds(() => this.round());
  }

  /** Call this when messages may be due, or channels were changed. */
  readonly look = (): void => {
    this.roundsLeft = 0;
    this.rounds.wake();
  };

  /** Begins no further attempt, waits some seconds for those in progress, and cuts off the rest. */
  async close(): Promise<void> {
    this.closed = true;
    await this.rounds.close();
    for (const { ending } of this.turns.values()) ending.abort();
    const ended = Promise.all(Array.from(this.turns.values(), (turn) => turn.ended));
    const grace = setTimeout(() => {
      for (const channel of this.open) channel.cutOff();
    }, GRACE_MS);
    await ended;
    clearTimeout(grace);
  }

  private async round(): Promise<number> {
    const { pool, medium, clock, mayWork, everyMs = EVERY_MS, leaseMs = LEASE_MS } = this.options;
    try {
      if (!mayWork()) return everyMs;
      const nowMs = clock.now();
      await endInterruptedMessages(pool, nowMs);
      if (this.roundsLeft === 0 && !(await hasChannels(pool, medium)) && this.turns.size === 0) return UNUSED_EVERY_MS;
      const holding = [...this.turns.keys()];
      const leased = await leaseChannels(pool, medium, {
        holder: this.holder,
        leaseMs,
        nowMs,
        most: MOST_CHANNELS,
        held: holding,
      });
      this.roundsLeft = leased.length > 0 || this.roundsLeft === 0 ? QUIET_ROUNDS : this.roundsLeft - 1;
      const versions = new Map(leased.map(({ tenantNo, version }) => [tenantNo, version]));
      // Changed, disabled or deleted, or another process has the lease.
      for (const [tenantNo, { version, ending }] of this.turns) if (versions.get(tenantNo) !== version) ending.abort();
      for (const channel of leased) if (!this.turns.has(channel.tenantNo)) this.begin(channel);
    } catch (error) {
      this.warn('', error, 'messages are not sent at the moment; it is tried again');
    }
    return everyMs;
  }

  private begin(channel: LeasedChannel): void {
    const { tenantNo } = channel;
    const ending = new AbortController();
    const ended = this.serve(channel, ending.signal).finally(() => {
      this.turns.delete(tenantNo);
      // Another channel may wait for the place, and this one may have more.
      if (!this.closed) this.rounds.wake(100);
    });
    this.turns.set(tenantNo, { version: channel.version, ended, ending });
  }

  /** Serves a channel for a turn, and gives the lease back. Never rejects. */
  private async serve(channel: LeasedChannel, ending: AbortSignal): Promise<void> {
    const { pool, medium } = this.options;
    const { tenantNo, version } = channel;
    let restMs = RETRY_MS;
    try {
      restMs = await this.send(channel, ending);
    } catch (error) {
      this.warn(tenantNo, error, 'the messages of a tenant are not sent at the moment; it is tried again', {
        tenantNo,
      });
    }
    await releaseChannel(pool, medium, { holder: this.holder, tenantNo, version, restMs }).catch((error: unknown) =>
      this.warn(tenantNo, error, 'the lease of a channel was not given back; it ends by itself', { tenantNo }),
    );
  }

  /** Sends until nothing is due, the turn is over or the server fails. Returns for how long to send nothing (ms). */
  private async send(leased: LeasedChannel, ending: AbortSignal): Promise<number> {
    const { pool, medium, clock, onEnd, onStep } = this.options;
    const { tenantNo } = leased;
    const channel = await this.options.open(tenantNo);
    if (channel === null) return 0;
    this.open.add(channel);
    const health = this.healthOf(leased);
    const over = withTimeLimit(ending, TURN_MS);
    const pace = new Pace(channel, health, over);
    try {
      const queue = {
        pool,
        tenantNo,
        medium,
        now: () => clock.now(),
        prepare: channel.prepare,
        pacing: pace,
        send: (message: M) => pace.watch(channel.send(message)),
        onResult: channel.onResult,
        onEnd: ({ status }: MessageEnd) => onEnd?.(status),
        onFailed: ({ id }: WaitingMessage, error: unknown) =>
          this.warn(tenantNo, error, 'a message could not be prepared; it is tried again', { id }),
        onStep,
      };
      await sendDueMessages(queue);
    } finally {
      this.open.delete(channel);
      await channel.close();
    }
    if (health.failures > 0) this.failing.set(tenantNo, { version: leased.version, health });
    else this.failing.delete(tenantNo);
    return pace.restMs();
  }

  /** The breaker of a channel. A changed channel gets a new chance. */
  private healthOf({ tenantNo, version }: LeasedChannel): ServerHealth {
    const failing = this.failing.get(tenantNo);
    if (failing?.version === version) return failing.health;
    const { firstPauseMs = FIRST_PAUSE_MS } = this.options;
    return new ServerHealth({ failures: 0, failingSinceMs: null, firstPauseMs });
  }

  private warn(kind: string | number, error: unknown, text: string, detail: object = {}): void {
    const { log } = this.options;
    this.logThrottle.log(kind, (suppressed) => log.warn({ ...detail, err: error, suppressed }, text));
  }
}

/** The pace of a channel in a turn, and how many attempts run at a time. Times are of `performance.now()`. */
class Pace implements Pacing {
  private readonly spacingMs: number;
  private readonly mostAtATime: number;
  private readonly leastAtATime: number;
  private readonly health: ServerHealth;
  private readonly over: AbortSignal;
  private running = 0;
  private onEnd: (() => void) | null = null;
  private nextMs = 0;

  /** @param over aborts at the end of the turn */
  constructor(
    { pace, mostAtATime, leastAtATime }: { pace: number; mostAtATime: number; leastAtATime: number },
    health: ServerHealth,
    over: AbortSignal,
  ) {
    this.spacingMs = 1_000 / pace;
    this.mostAtATime = mostAtATime;
    this.leastAtATime = leastAtATime;
    this.health = health;
    this.over = over;
  }

  async next(): Promise<boolean> {
    while (this.running >= Math.max(this.leastAtATime, this.health.concurrency))
      await new Promise<void>((ended) => (this.onEnd = ended));
    // The server may ask for a longer wait meanwhile.
    for (let waitMs = this.waitMs(); waitMs > 0 && !this.over.aborted; waitMs = this.waitMs())
      await sleep(waitMs, undefined, { signal: this.over }).catch(() => undefined);
    return !this.over.aborted && this.health.openUntilMs(performance.now()) === null;
  }

  async run(attempt: () => Promise<void>): Promise<void> {
    this.nextMs = Math.max(this.nextMs, performance.now() + this.spacingMs);
    this.running += 1;
    try {
      await attempt();
    } finally {
      this.running -= 1;
      this.onEnd?.();
    }
  }

  /** Notes how an attempt ended. */
  async watch<R extends Result>(attempt: Promise<R>): Promise<R> {
    const beganMs = performance.now();
    const result = await attempt;
    const endedMs = performance.now();
    if (result.concernsServer) this.health.failedTry({ beganMs, endedMs, nowMs: endedMs });
    else this.health.succeeded(this.mostAtATime);
    const askedMs = result.concernsServer ? Math.min(result.retryAfterMs ?? 0, MOST_ASKED_MS) : 0;
    this.nextMs = Math.max(this.nextMs, endedMs + askedMs);
    return result;
  }

  private waitMs(): number {
    return this.nextMs - performance.now();
  }

  /** How long nothing is sent after the turn. */
  restMs(): number {
    const nowMs = performance.now();
    return Math.max(0, this.nextMs - nowMs, (this.health.openUntilMs(nowMs) ?? nowMs) - nowMs);
  }
}
