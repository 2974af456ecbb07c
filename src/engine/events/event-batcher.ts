import type { Span } from '@opentelemetry/api';
import type { ScriptReply } from '../../packed/record.ts';
import { kindField } from '../../packed/record-fields.ts';
import { REFUSAL, UNKNOWN_OFFSET, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import type { Script } from '../../redis/script.ts';
import { unpack } from '../../packed/state.ts';
import type { KeyQuestion, LookUpKeys } from './look-up-keys.ts';
import { ScriptCalls, type ScriptCallsOptions } from '../calls/script-calls.ts';
import { eventCall, type ReadyEvent } from './event-call.ts';
import { withZone } from '../calls/sent-user.ts';

interface Waiting {
  event: ReadyEvent;
  /** Of the request that waits for it, where that is sampled. */
  span: Span | undefined;
  resolve: (reply: ScriptReply) => void;
  reject: (error: unknown) => void;
}

interface Queue {
  waiting: Waiting[];
  calls: number;
  scheduled: boolean;
}

export interface EventBatcherOptions extends ScriptCallsOptions {
  script: Script;
  /** Answers for those of these events that Postgres holds; for retries whose first try has left the outbox. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
  /** Looks in Postgres whether idempotency keys that may be old were used. */
  lookUpKeys: LookUpKeys;
  /** Called with the number of events of every call. */
  onCall?: (events: number) => void;
}

/** Calls of one tenant that may be on the way at once; events that come meanwhile share the next call. */
const MAX_CALLS = 2;
/** Events a call: more only adds latency (measured: 50 a call costs 39 µs an event in Redis, 200 a call 38). */
const MAX_EVENTS = 64;
/**
 * Sends events to the script, many a call under load: an event goes at once when few calls are on the way, else
 * with the others that wait.
 */
export class EventBatcher {
  private readonly queues = new Map<number, Queue>();
  /** How scripts are called; other scripts share it, and with it what it knows of the outboxes. */
  readonly calls: ScriptCalls;
  private readonly options: EventBatcherOptions;

  constructor(options: EventBatcherOptions) {
    this.options = options;
    this.calls = new ScriptCalls(options);
  }

  /** Resolves with the script's answer. Rejects with 503 if Redis does not answer. `span`: of the request that waits for it. */
  async submit(tenantNo: number, event: ReadyEvent, span?: Span): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      const queue = this.queueOf(tenantNo);
      queue.waiting.push({ event, span, resolve, reject });
      this.schedule(tenantNo, queue);
    });
  }

  private queueOf(tenantNo: number): Queue {
    let queue = this.queues.get(tenantNo);
    if (queue === undefined) {
      queue = { waiting: [], calls: 0, scheduled: false };
      this.queues.set(tenantNo, queue);
    }
    return queue;
  }

  private schedule(tenantNo: number, queue: Queue): void {
    if (queue.scheduled || queue.calls >= MAX_CALLS || queue.waiting.length === 0) return;
    queue.scheduled = true;
    // The end of this turn of the event loop: requests that came with the same read share the call.
    setImmediate(() => {
      queue.scheduled = false;
      void this.flush(tenantNo, queue);
    });
  }

  private async flush(tenantNo: number, queue: Queue): Promise<void> {
    const batch = queue.waiting.splice(0, MAX_EVENTS);
    queue.calls += 1;
    this.options.onCall?.(batch.length);
    this.schedule(tenantNo, queue);
    try {
      const called = this.call(
        tenantNo,
        batch.map(({ event }) => event),
        this.options.traces ? batch.flatMap(({ span = [] }) => span) : undefined,
      );
      const replies = await called.finally(() => {
        queue.calls -= 1;
        this.schedule(tenantNo, queue);
      });
      // The next call goes out while a replica is waited for, which may be far away. Beside one on the same machine it makes
      // no difference: 0.77 of the events a second without a replica, either way (5 pairs each, `npm run bench:acknowledge`).
      const replicated = this.calls.replicated(tenantNo);
      if (replicated !== null) await replicated;
      this.answer(tenantNo, queue, { batch, replies });
      this.schedule(tenantNo, queue);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Answers those that have their answer. The others go before all that waits, in their order: those whose zone is to
   * be renewed at once, those about whose keys Postgres is to be asked when it has answered. No call waits for it.
   */
  private answer(
    tenantNo: number,
    queue: Queue,
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
    queue.waiting.unshift(...zones);
    if (questions.length > 0) void this.lookUp(tenantNo, queue, questions);
  }

  private async lookUp(tenantNo: number, queue: Queue, questions: readonly (KeyQuestion & Waiting)[]): Promise<void> {
    try {
      const events = await this.options.lookUpKeys(tenantNo, questions);
      queue.waiting.unshift(...questions.map((question, index) => ({ ...question, event: events[index]! })));
    } catch (error) {
      // Without Postgres it is not known whether these were processed; those behind them only waited.
      for (const { asked, reject } of questions) if (asked[UNKNOWN_USE.token] !== undefined) reject(error);
      queue.waiting.unshift(...questions.filter(({ asked }) => asked[UNKNOWN_USE.token] === undefined));
    }
    this.schedule(tenantNo, queue);
  }

  private async call(tenantNo: number, events: ReadyEvent[], spans?: readonly Span[]): Promise<ScriptReply[]> {
    let persisted = new Map<string, ScriptReply>();
    const packed = await this.calls.run(tenantNo, {
      script: this.options.script,
      isAcknowledgedLater: true,
      spans,
      events: events.length,
      keysAndArgs: (at) => eventCall(tenantNo, events, at),
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
