import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { ConnectionKiller } from '../../redis/connection.ts';
import { connectionOf, endpointsOf } from '../../redis/endpoints.ts';
import { gateOf, isOpen, RedisNotReady } from '../../redis/gate.ts';
import type { JoinedCalls } from '../../redis/joined-calls.ts';
import { NotReplicated, type ReplicaAcknowledgement } from '../../redis/replica-acknowledgement.ts';
import { outboxKey, shardOf } from '../../redis/keys.ts';
import { isConnectionLost } from '../../redis/outage.ts';
import { comparePositions, OUTBOX_START } from '../../redis/outbox.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { kindField } from '../../packed/record-fields.ts';
import { REFUSAL, MAYBE_STORED } from '../../packed/refusal-fields.ts';
import type { Script } from '../../redis/script.ts';
import { unpack } from '../../packed/state.ts';
import { problemOf } from '../../traces/around.ts';
import { scriptSpan } from '../../traces/script-span.ts';
import type { Traces } from '../../traces/traces.ts';

export interface ScriptCallsOptions {
  redis: Redis;
  clock: Clock;
  /** Tells that entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** Makes a span of each call that a sampled request waits for; null: none. */
  traces?: Traces | null;
}

/** A call of a script that ends its reply with the outbox position after it ('' if it wrote nothing). */
export interface ScriptCall {
  script: Script;
  keysAndArgs: (at: { nowMs: number; retryPosition: string }) => { keys: string[]; args: (string | number | Buffer)[] };
  /**
   * Asked by a retry whose first try may have left the outbox for Postgres: true ends the call, as its answer
   * was found; false runs it again.
   */
  foundElsewhere: () => Promise<boolean>;
  /** The caller waits for a replica itself (`replicated`), before anybody hears of the replies. */
  isAcknowledgedLater?: boolean;
  /** Calls that its first try goes with; a retry goes alone. */
  joined?: JoinedCalls | undefined;
  /** Spans of the requests that wait for it, as far as they are sampled. */
  spans?: readonly Span[] | undefined;
  /** How many events it carries; left out: it carries none. */
  events?: number;
}

/** How long a call whose outcome is unknown is tried again before it answers 503. */
const RETRY_MS = 2_000;

/**
 * Calls the scripts that write. A call whose connection broke is retried with the same IDs and an outbox position
 * from before it, by which the script recognises what the first try applied; and first the broken connection is
 * closed in Redis, so that the first try cannot come after the second.
 */
export class ScriptCalls {
  private readonly options: ScriptCallsOptions;
  /** The position after the last write, by shard. */
  private readonly positions = new Map<number, string>();
  /** The position after the last write that a caller may have heard of, by shard: where replicas have to have it, they do. */
  readonly acknowledged = new Map<number, string>();
  /** By server. */
  private readonly killers: ReadonlyMap<Redis, ConnectionKiller>;

  constructor(options: ScriptCallsOptions) {
    this.options = options;
    this.killers = new Map(endpointsOf(options.redis).map(({ redis }) => [redis, new ConnectionKiller(redis)]));
  }

  /**
   * The script's replies without the position; null if `foundElsewhere` ended it. 503 if Redis does not answer, which
   * leaves open whether the call was, or will be, applied.
   */
  run(tenantNo: number, call: ScriptCall): Promise<Buffer[] | null> {
    return call.spans === undefined || call.spans.length === 0
      ? this.make(tenantNo, call)
      : this.traced(tenantNo, call, call.spans);
  }

  private async traced(tenantNo: number, call: ScriptCall, requests: readonly Span[]): Promise<Buffer[] | null> {
    const traces = this.options.traces!;
    const span = traces.forRequests(scriptSpan(call.script, call.events), requests);
    try {
      const replies = await this.make(tenantNo, call);
      traces.ended(span);
      return replies;
    } catch (error) {
      traces.ended(span, problemOf(error));
      throw error;
    }
  }

  private async make(tenantNo: number, call: ScriptCall): Promise<Buffer[] | null> {
    const { clock } = this.options;
    const shard = shardOf(tenantNo);
    const redis = connectionOf(this.options.redis, shard);
    const killer = this.killers.get(redis)!;
    if (redis.status !== 'ready' || !isOpen(redis, shard)) throw unavailable();
    const nowMs = clock.now();
    const before = this.positions.get(shard) ?? (await this.firstPosition(shard));
    const deadlineMs = Date.now() + RETRY_MS;
    let retryPosition = '';
    let sentOver: number | null = null;
    let toKill: number | null = null;
    for (;;) {
      try {
        if (toKill !== null) await killer.killConnection(toKill);
        toKill = null;
        sentOver = killer.connectionId;
        const { keys, args } = call.keysAndArgs({ nowMs, retryPosition });
        const running =
          call.isAcknowledgedLater === true
            ? call.script.runUnacknowledged(redis, keys, args, call.joined)
            : call.script.run(redis, keys, args);
        const replies = (await running) as Buffer[];
        const position = replies.pop()!.toString('latin1');
        if (retryPosition !== '') {
          const first = unpack(replies[0]!) as ScriptReply;
          if (first[kindField] === REFUSAL.maybeStored) {
            if (await call.foundElsewhere()) return null;
            retryPosition = first[MAYBE_STORED.upTo];
            continue;
          }
        }
        if (position !== '') {
          this.positions.set(shard, position);
          if (call.isAcknowledgedLater !== true || this.acknowledgementOf(shard) === null)
            this.noteAcknowledged(shard, position);
          this.options.onWritten(shard);
        }
        return replies;
      } catch (error) {
        if (error instanceof NotReplicated) throw unavailable();
        // What is not ready has done nothing: that try counts for nothing.
        const lost = isConnectionLost(error);
        if (!lost && !(error instanceof RedisNotReady)) throw error;
        if (lost) {
          retryPosition = before;
          toKill ??= sentOver;
        }
        if ((lost && toKill === null) || !(await reopened(redis, shard, deadlineMs))) throw unavailable();
      }
    }
  }

  /** Resolves when what was replied so far to a tenant's calls is as safe as it has to be; null: it is. Rejects with 503. */
  replicated(tenantNo: number): Promise<void> | null {
    const shard = shardOf(tenantNo);
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

  /** Calls overlap, and may be acknowledged in another order. */
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

async function reopened(redis: Redis, shard: number, deadlineMs: number): Promise<boolean> {
  while (redis.status !== 'end' && Date.now() <= deadlineMs) {
    if (redis.status === 'ready' && isOpen(redis, shard)) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}
