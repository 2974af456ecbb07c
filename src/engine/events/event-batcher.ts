import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.ts';
import { zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { outboxKey, shardOf } from '../../redis/keys.ts';
import type { ScriptReply } from '../../redis/record.ts';
import type { Script } from '../../redis/script.ts';
import { unpack } from '../../redis/state.ts';
import { eventCall, type ReadyEvent } from './event-call.ts';

interface Waiting {
  event: ReadyEvent;
  resolve: (reply: ScriptReply) => void;
  reject: (error: unknown) => void;
}

interface Queue {
  waiting: Waiting[];
  calls: number;
  scheduled: boolean;
}

export interface EventBatcherOptions {
  redis: Redis;
  script: Script;
  clock: Clock;
  /** Tells that entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** Answers for those of these events that stand in Postgres; for retries whose first try has left the outbox. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
}

/** Calls of one tenant that may be on the way at once; events that come meanwhile share the next call. */
const MAX_CALLS = 2;
/** Events a call: more only adds latency (measured: 50 a call costs 39 µs an event in Redis, 200 a call 38). */
const MAX_EVENTS = 64;
/** How long a call whose outcome is unknown is tried again before its events answer 503. */
const RETRY_MS = 2_000;

/**
 * Sends events to the script, many a call under load: an event goes at once when few calls are on the way, else
 * with the others that wait. A call whose connection broke is retried with the same event IDs and an outbox
 * position from before it, by which the script recognises what the first try applied.
 */
export class EventBatcher {
  private readonly queues = new Map<number, Queue>();
  private readonly positions = new Map<number, string>();
  private readonly options: EventBatcherOptions;

  constructor(options: EventBatcherOptions) {
    this.options = options;
  }

  /** Resolves with the script's answer. Rejects with 503 if Redis does not answer. */
  async submit(tenantNo: number, event: ReadyEvent): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      const queue = this.queueOf(tenantNo);
      queue.waiting.push({ event, resolve, reject });
      this.schedule(tenantNo, queue);
    });
  }

  /** Applies events in their order, in one call (at most a few hundred). */
  async submitAll(tenantNo: number, events: ReadyEvent[]): Promise<ScriptReply[]> {
    const replies = await this.call(tenantNo, events);
    // Zones to be renewed: each such event again, with those behind it that were held back, in order.
    const again = events.filter((_, index) => replies[index]!.k === 'z');
    if (again.length === 0) return replies;
    const zones = replies.filter((reply) => reply.k === 'z');
    const renewed = await this.submitAll(
      tenantNo,
      again.map((event, index) => this.withZone(event, zones[index]!.tz)),
    );
    return replies.map((reply) => (reply.k === 'z' ? renewed.shift()! : reply));
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
    this.schedule(tenantNo, queue);
    try {
      const replies = await this.submitAll(
        tenantNo,
        batch.map(({ event }) => event),
      );
      for (const [index, { resolve }] of batch.entries()) resolve(replies[index]!);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      queue.calls -= 1;
      this.schedule(tenantNo, queue);
    }
  }

  private withZone(event: ReadyEvent, tz: string): ReadyEvent {
    // A stored zone was checked when it was set; if this machine does not know it any more, it counts as UTC.
    const nowMs = this.options.clock.now();
    const zone = zoneOffset(tz, nowMs) ?? { offsetSeconds: 0, untilMs: nowMs + 3_600_000 };
    return { ...event, sent: { ...event.sent, zn: tz, zo: zone.offsetSeconds, zu: zone.untilMs } };
  }

  private async call(tenantNo: number, events: ReadyEvent[]): Promise<ScriptReply[]> {
    const { redis, script, clock } = this.options;
    if (redis.status !== 'ready') throw unavailable();
    const shard = shardOf(tenantNo);
    const nowMs = clock.now();
    const before = this.positions.get(shard) ?? (await this.firstPosition(shard));
    const deadlineMs = Date.now() + RETRY_MS;
    let retryPosition = '';
    for (;;) {
      try {
        const { keys, args } = eventCall(tenantNo, events, { nowMs, retryPosition });
        const packed = (await script.run(redis, keys, args)) as Buffer[];
        const position = packed[events.length]!.toString('latin1');
        const replies = events.map((_, index) => unpack(packed[index]!) as ScriptReply);
        if (replies[0]?.k === 'd') {
          const persisted = await this.options.findPersisted(tenantNo, events);
          if (persisted.size > 0) return await this.callOthers(tenantNo, events, persisted);
          retryPosition = replies[0].upTo;
          continue;
        }
        if (position !== '') {
          this.positions.set(shard, position);
          this.options.onWritten(shard);
        }
        return replies;
      } catch (error) {
        if (!isLostConnection(error)) throw error;
        retryPosition = before;
        if (!(await reconnected(redis, deadlineMs))) throw unavailable();
      }
    }
  }

  /**
   * Some events of a retried call stand in Postgres: those are answered from there. The first try was applied as a
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

  private async firstPosition(shard: number): Promise<string> {
    const newest = await this.options.redis.xrevrange(outboxKey(shard), '+', '-', 'COUNT', 1);
    const position = newest[0]?.[0] ?? '0-0';
    this.positions.set(shard, position);
    return position;
  }
}

const unavailable = (): AppError =>
  new AppError('unavailable', 'The event store does not answer; try again, best with an idempotency key.');

/** Whether a command may or may not have reached Redis: its connection went away under it. */
function isLostConnection(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    /Connection is closed|Command timed out|Stream isn't writeable|ECONNRESET|EPIPE|max retries per request/i.test(
      error.message,
    ) ||
    ('code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))
  );
}

async function reconnected(redis: Redis, deadlineMs: number): Promise<boolean> {
  while (redis.status !== 'ready') {
    if (redis.status === 'end' || Date.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}
