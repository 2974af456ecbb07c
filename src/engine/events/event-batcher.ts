import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNKNOWN_OFFSET, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { unpack } from '../../packed/state.ts';
import { JoinedCalls, scriptNamed } from '../../redis/script.ts';
import type { KeyQuestion, LookUpKeys } from './look-up-keys.ts';
import type { Scripts, ShardCall } from '../scripts.ts';
import { eventCall, type ReadyEvent } from './event-call.ts';
import { EventQueues, type Part, type TenantQueue, type Waiting } from './event-queues.ts';
import { withZone } from '../users/sent-user.ts';

export interface EventBatcherOptions {
  redis: Redis;
  clock: Clock;
  scripts: Scripts;
  /** Answers for those of these events that Postgres holds; for retries whose first try has left the outbox. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
  /** Looks in Postgres whether idempotency keys that may be old were used. */
  lookUpKeys: LookUpKeys;
  /** Idempotency keys that a user may use on a UTC day; 0, and left out: any number. */
  idempotencyKeysPerDay?: number;
  /** Called with the number of events of every command. */
  onCall?: (events: number) => void;
}

/**
 * Sends events to the script, many a command under load: an event goes at once when few commands to its server are on the way, else
 * with the others that wait, of whichever tenants. A command has a part for each of them: a call of its own (`JoinedCalls`).
 */
export class EventBatcher {
  private readonly queues: EventQueues;
  private readonly options: EventBatcherOptions;
  private readonly script = scriptNamed('record_events');

  constructor(options: EventBatcherOptions) {
    this.options = options;
    this.queues = new EventQueues({ redis: options.redis, send: (redis, parts) => this.send(redis, parts) });
  }

  /** Resolves with the script's answer. Rejects with 503 if Redis does not answer. `span`: of the request that waits for it. */
  async submit(tenantNo: number, event: ReadyEvent, span?: Span): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      this.queues.append(tenantNo, { event, span, resolve, reject });
    });
  }

  /** Resolves when the command is answered; a part whose connection broke, or that has to wait for its shard, may go on alone. */
  private send(redis: Redis, parts: readonly Part[]): Promise<void> {
    this.options.onCall?.(parts.reduce((sum, { batch }) => sum + batch.length, 0));
    const joined = new JoinedCalls(this.script, redis);
    for (const part of parts) void this.sendPart(part, joined);
    return joined.send();
  }

  private async sendPart({ queue, batch }: Part, joined: JoinedCalls): Promise<void> {
    const { tenantNo } = queue;
    const events = batch.map(({ event }) => event);
    const spans = this.options.scripts.traced ? batch.flatMap(({ span = [] }) => span) : undefined;
    try {
      const called = this.call(tenantNo, events, { spans, joined });
      const replies = await called.finally(() => this.queues.settled(queue));
      // The next call goes out while a replica is waited for, which may be far away. Beside one on the same machine it made
      // no difference (5 pairs each).
      const replicated = this.options.scripts.replicated(tenantNo);
      if (replicated !== null) await replicated;
      this.answer(queue, { batch, replies });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Answers those that have their answer. The others go before all that waits, in their order: those whose zone is to
   * be renewed at once, those about whose keys Postgres is to be asked when it has answered. No call waits for it.
   */
  private answer(
    queue: TenantQueue,
    { batch, replies }: { batch: readonly Waiting[]; replies: readonly ScriptReply[] },
  ): void {
    const zones: Waiting[] = [];
    const questions: (KeyQuestion & Waiting)[] = [];
    for (const [index, waiting] of batch.entries()) {
      const reply = replies[index]!;
      if (reply[kindField] === REFUSAL.unknownOffset) {
        const sent = withZone(waiting.event.sent, reply[UNKNOWN_OFFSET.zone], this.options.clock.now());
        zones.push({ ...waiting, event: { ...waiting.event, sent } });
      } else if (reply[kindField] === REFUSAL.unknownUse) questions.push({ ...waiting, asked: reply });
      else waiting.resolve(reply);
    }
    this.queues.putBack(queue, zones);
    if (questions.length > 0) void this.lookUp(queue, questions);
  }

  private async lookUp(queue: TenantQueue, questions: readonly (KeyQuestion & Waiting)[]): Promise<void> {
    try {
      const events = await this.options.lookUpKeys(queue.tenantNo, questions);
      const answered = questions.map((question, index) => ({ ...question, event: events[index]! }));
      this.queues.putBack(queue, answered);
    } catch (error) {
      // Without Postgres it is not known whether these were processed; those behind them only waited.
      for (const { asked, reject } of questions) if (asked[UNKNOWN_USE.token] !== undefined) reject(error);
      this.queues.putBack(
        queue,
        questions.filter(({ asked }) => asked[UNKNOWN_USE.token] === undefined),
      );
    }
  }

  private async call(
    tenantNo: number,
    events: ReadyEvent[],
    { spans, joined }: Pick<ShardCall, 'spans' | 'joined'> = {},
  ): Promise<ScriptReply[]> {
    let persisted = new Map<string, ScriptReply>();
    const packed = await this.options.scripts.callShard(tenantNo, {
      script: this.script,
      isAcknowledgedLater: true,
      spans,
      joined,
      events: events.length,
      keysAndArgs: (at) =>
        eventCall(tenantNo, events, { ...at, idempotencyKeysPerDay: this.options.idempotencyKeysPerDay ?? 0 }),
      foundElsewhere: async () => {
        persisted = await this.options.findPersisted(tenantNo, events);
        return persisted.size > 0;
      },
    });
    if (packed === null) return this.callOthers(tenantNo, events, persisted);
    return packed.map((reply) => unpack(reply) as ScriptReply);
  }

  /**
   * Some events of a retried call are in Postgres: those are answered from there. The first try was applied as a
   * whole, so the others were refused then, and are asked again for their refusals.
   */
  private async callOthers(
    tenantNo: number,
    events: ReadyEvent[],
    persisted: Map<string, ScriptReply>,
  ): Promise<ScriptReply[]> {
    const replies: ScriptReply[] = [];
    for (const event of events) replies.push(persisted.get(event.id) ?? (await this.call(tenantNo, [event]))[0]!);
    return replies;
  }
}
