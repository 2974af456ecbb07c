import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Author } from '../domain/administration/author.ts';
import { AppError } from '../errors.ts';
import { ConnectionKiller, isConnectionLost } from '../redis/outage.ts';
import { connectionOf, onServer } from '../redis/endpoints.ts';
import { isCurrent, userPart } from '../redis/parts.ts';
import { gateOf, isOpen, RedisNotReady } from '../redis/gate.ts';
import { outboxKey, type TenantPart } from '../redis/keys.ts';
import { comparePositions, OUTBOX_START } from '../redis/outbox.ts';
import { NotReplicated, type ReplicaAcknowledgement } from '../redis/replica-acknowledgement.ts';
import type { JoinedCalls, Script, Words } from '../redis/script.ts';
import { RecentStates } from './changes/recent-states.ts';
import { problemOf, scriptSpan } from '../telemetry/spans.ts';
import type { Traces } from '../telemetry/traces.ts';
import { refuseOverload } from './refusals.ts';
import { inOwnTurn } from '../pacing/turns.ts';

export interface Asked {
  by: Author;
  span?: Span | undefined;
}

interface ScriptsOptions {
  redis: Redis;
  clock: Clock;
  onWritten: (shard: number) => void;
  /** Whether the outbox is full; calls about one user then answer 503. Default: never. */
  overloaded?: () => boolean;
  /** Receives Redis's time (epoch ms) after each call that wrote to an outbox. */
  onRedisTime?: (redisMs: number) => void;
  /** How long a call with an unknown outcome is retried before it answers 503. Default: 2 s. */
  retryMs?: number;
  /** Makes a span for each call that a sampled request waits for; `null` turns spans off. */
  traces?: Traces | null;
}

/** A script call whose reply ends with the outbox position after the call ('' if the call wrote nothing). */
export interface PartCall {
  script: Script;
  keysAndArgs: (at: { nowMs: number; retryPosition: string }) => { keys: string[]; args: Words };
  /**
   * A retry calls this if the first try's entries may have left the outbox for Postgres. `true` ends the call, because its
   * answer was found. `false`, or no function, runs the call again; this suits calls that change nothing the second time.
   */
  foundElsewhere?: () => Promise<boolean>;
  /** Finds the position in a retry's replies up to which Postgres must be checked; `null`: there is none. */
  maybeStored: (replies: readonly unknown[]) => string | null;
  isAcknowledgedLater?: boolean;
  /** Calls that are sent together with the first try. A retry is sent alone. */
  joined?: JoinedCalls | undefined;
  /** Spans of the sampled requests that wait for the call. */
  spans?: readonly Span[] | undefined;
  /** Number of events in the call. Default: 0. */
  events?: number;
}

const RETRY_MS = 2_000;

/**
 * Calls the scripts that write. Builds their keys and arguments, picks the shard's connection, makes spans and retries.
 *
 * If the connection breaks, the call is retried with the same IDs and an outbox position from before the call. The
 * script uses the position to recognise what the first try applied. Redis closes the broken connection first, so the
 * first try cannot run after the second.
 */
export class Scripts {
  private readonly options: ScriptsOptions;
  /** The position after the last write, by shard. */
  private readonly positions = new Map<number, string>();
  /** The last position that a caller may know of, by shard, acknowledged by the replicas that have to. */
  readonly acknowledged = new Map<number, string>();
  readonly recent = new RecentStates();

  constructor(options: ScriptsOptions) {
    this.options = options;
    // The killers must know each connection before it first breaks.
    onServer(options.redis, ({ redis }) => void ConnectionKiller.of(redis));
  }

  get traced(): boolean {
    return this.options.traces !== null && this.options.traces !== undefined;
  }

  /** Throws 503 while the outbox is full. Call it before work that makes many calls about single users. */
  refuseOverload(): void {
    if (this.options.overloaded !== undefined) refuseOverload(this.options.overloaded);
  }

  /** The part of a user who is about to be changed. Throws 503 while the outbox is full or the part is closed. */
  partToChange(tenantNo: number, userId: string): TenantPart {
    this.refuseOverload();
    return userPart(this.options.redis, tenantNo, userId);
  }

  /**
   * The script's replies without the position; `null` if `foundElsewhere` ended the call. Throws 503; it may have been
   * applied.
   */
  async callPart(part: TenantPart, call: PartCall): Promise<Buffer[] | null> {
    if (call.spans === undefined || call.spans.length === 0) return this.make(part, call);
    const traces = this.options.traces!;
    const span = traces.forRequests(scriptSpan(call.script, call.events), call.spans);
    try {
      const replies = await this.make(part, call);
      traces.ended(span);
      return replies;
    } catch (error) {
      traces.ended(span, problemOf(error));
      throw error;
    }
  }

  private async make(part: TenantPart, call: PartCall): Promise<Buffer[] | null> {
    const { clock, retryMs = RETRY_MS } = this.options;
    const { shard } = part;
    let redis = connectionOf(this.options.redis, shard);
    if (redis.status !== 'ready' || !isOpen(redis, shard)) throw unavailable();
    const nowMs = clock.now();
    const before = this.positions.get(shard) ?? (await this.firstPosition(shard));
    const deadlineMs = performance.now() + retryMs;
    let retryPosition = '';
    let sentOver: number | null = null;
    let toKill: number | null = null;
    for (;;) {
      try {
        const killer = ConnectionKiller.of(redis);
        if (toKill !== null) await killer.killConnection(toKill);
        toKill = null;
        sentOver = killer.connectionId;
        // The user may belong to another shard since the caller asked, or since the first try.
        if (!isCurrent(this.options.redis, part)) throw unavailable();
        const { keys, args } = call.keysAndArgs({ nowMs, retryPosition });
        const running =
          call.isAcknowledgedLater === true
            ? call.script.runUnacknowledged(redis, keys, args, call.joined)
            : call.script.run(redis, keys, args);
        const replies = (await running) as Buffer[];
        const position = replies.pop()!.toString('latin1');
        if (retryPosition !== '') {
          const upTo = call.maybeStored(replies);
          if (upTo !== null) {
            if (await call.foundElsewhere?.()) return null;
            retryPosition = upTo;
            continue;
          }
        }
        if (position !== '') {
          this.positions.set(shard, position);
          // A position begins with Redis's time.
          this.options.onRedisTime?.(Number.parseInt(position, 10));
          if (call.isAcknowledgedLater !== true || this.acknowledgementOf(shard) === null)
            this.noteAcknowledged(shard, position);
          this.options.onWritten(shard);
        }
        return replies;
      } catch (error) {
        if (error instanceof NotReplicated) throw unavailable();
        // A connection that is not ready sent nothing, so that try had no effect.
        const lost = isConnectionLost(error);
        if (!lost && !(error instanceof RedisNotReady)) throw error;
        if (lost) {
          retryPosition = before;
          toKill ??= sentOver;
        }
        const open = await reopened(this.options.redis, shard, deadlineMs);
        // If a cluster moved the shard, its former node no longer executes what was sent to it earlier.
        if (open !== null && open !== redis) toKill = null;
        else if (open === null || (lost && toKill === null)) throw unavailable();
        redis = open;
      }
    }
  }

  /**
   * Resolves when the replicas that have to acknowledge a shard's writes have done so; `null` if none has to. Rejects
   * with 503.
   */
  replicated(shard: number): Promise<void> | null {
    const acknowledgement = this.acknowledgementOf(shard);
    if (acknowledgement === null) return null;
    const position = this.positions.get(shard);
    return acknowledgement.waitForNoted().then(
      () => void (position !== undefined && this.noteAcknowledged(shard, position)),
      (error: unknown) => {
        throw error instanceof NotReplicated ? unavailable() : error;
      },
    );
  }

  private acknowledgementOf(shard: number): ReplicaAcknowledgement | null {
    return gateOf(connectionOf(this.options.redis, shard))?.acknowledgement ?? null;
  }

  /** Keeps the maximum, because calls overlap and may be acknowledged out of order. */
  private noteAcknowledged(shard: number, position: string): void {
    const before = this.acknowledged.get(shard);
    if (before === undefined || comparePositions(before, position) < 0) this.acknowledged.set(shard, position);
  }

  private async firstPosition(shard: number): Promise<string> {
    const newest = await this.options.redis.xrevrange(outboxKey(shard), '+', '-', 'COUNT', 1);
    const position = newest[0]?.[0] ?? OUTBOX_START;
    this.positions.set(shard, position);
    return position;
  }
}

const unavailable = (): AppError =>
  new AppError('unavailable', 'The event store does not answer; try again, best with an idempotency key.');

/** The connection to the server on which the shard is open; `null` if it does not open in time. */
async function reopened(redis: Redis, shard: number, deadlineMs: number): Promise<Redis | null> {
  while (redis.status !== 'end' && performance.now() <= deadlineMs) {
    const server = connectionOf(redis, shard);
    if (server.status === 'ready' && isOpen(server, shard)) return server;
    await inOwnTurn(new Promise((resolve) => setTimeout(resolve, 20)));
  }
  return null;
}

/** SHA-1 (hex) of the user's packed state that a correction was computed from; the same as `redis.sha1hex`. */
export const stateDigest = (packed: Buffer): string => createHash('sha1').update(packed).digest('hex');
