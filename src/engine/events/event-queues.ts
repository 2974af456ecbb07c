import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { CALL_WORK } from '../../catalog/event-work.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import { shardOf } from '../../redis/keys.ts';
import type { ReadyEvent } from './event-call.ts';

/** An event, and the request that waits for its answer. */
export interface Waiting {
  event: ReadyEvent;
  /** Of the request that waits for it, where that is sampled. */
  span: Span | undefined;
  resolve: (reply: ScriptReply) => void;
  reject: (error: unknown) => void;
}

/** Events of a tenant that wait, in their order. */
export interface TenantQueue {
  tenantNo: number;
  waiting: Waiting[];
  /** Parts that are on the way. */
  parts: number;
}

/** Events of a tenant that leave together. */
export interface Part {
  queue: TenantQueue;
  batch: Waiting[];
}

interface Server {
  redis: Redis;
  /** Tenants with events that wait, whoever's turn it is first. */
  turns: Set<TenantQueue>;
  commands: number;
  scheduled: boolean;
}

/**
 * Commands to one server that may be on the way at once, and parts of one tenant; events that come meanwhile share the next
 * one. A part that has to be tried again holds up its tenant only.
 */
const MAX_ON_THE_WAY = 2;
/** Events a command: more only adds latency (measured: 50 a call costs 39 µs an event in Redis, 200 a call 38). */
const MAX_EVENTS = 64;

/**
 * Queues of events, one a tenant, that leave by the server that holds the tenant's shard. Where more wait than one command takes,
 * the tenants share it: each gets as much as the others while it has any, so that one with many events makes those of the
 * others wait no longer than one with few.
 */
export class EventQueues {
  private readonly redis: Redis;
  private readonly send: (redis: Redis, parts: readonly Part[]) => Promise<void>;
  private readonly tenants = new Map<number, TenantQueue>();
  private readonly servers = new WeakMap<Redis, Server>();

  /** `send`: sends a command with these parts to a server, and resolves when it is answered; each part is reported to `settled`. */
  constructor({ redis, send }: { redis: Redis; send: (redis: Redis, parts: readonly Part[]) => Promise<void> }) {
    this.redis = redis;
    this.send = send;
  }

  /** Has an event sent behind those that wait. */
  append(tenantNo: number, waiting: Waiting): void {
    let queue = this.tenants.get(tenantNo);
    if (queue === undefined) this.tenants.set(tenantNo, (queue = { tenantNo, waiting: [], parts: 0 }));
    queue.waiting.push(waiting);
    this.offer(queue);
  }

  /** Has events sent before all that wait, in their order. */
  putBack(queue: TenantQueue, batch: readonly Waiting[]): void {
    queue.waiting.unshift(...batch);
    this.offer(queue);
  }

  /** To be called when a part is answered or has failed. */
  settled(queue: TenantQueue): void {
    queue.parts -= 1;
    this.offer(queue);
  }

  private offer(queue: TenantQueue): void {
    if (queue.waiting.length === 0 || queue.parts >= MAX_ON_THE_WAY) return;
    const server = this.serverOf(queue);
    server.turns.add(queue);
    this.schedule(server);
  }

  /** The server of now: shards move. */
  private serverOf({ tenantNo }: TenantQueue): Server {
    const redis = connectionOf(this.redis, shardOf(tenantNo));
    let server = this.servers.get(redis);
    if (server === undefined) {
      server = { redis, turns: new Set(), commands: 0, scheduled: false };
      this.servers.set(redis, server);
    }
    return server;
  }

  private schedule(server: Server): void {
    if (server.scheduled || server.commands >= MAX_ON_THE_WAY || server.turns.size === 0) return;
    server.scheduled = true;
    // The end of this turn of the event loop: requests that came with the same read share the command.
    setImmediate(() => {
      server.scheduled = false;
      void this.flush(server);
    });
  }

  private async flush(server: Server): Promise<void> {
    const parts = takeParts(server.turns);
    if (parts.length === 0) return;
    for (const { queue } of parts) queue.parts += 1;
    server.commands += 1;
    this.schedule(server);
    await this.send(server.redis, parts);
    server.commands -= 1;
    this.schedule(server);
  }
}

/**
 * Takes the events of the next command from the tenants whose turn it is. Those with the fewest come first, so that what they leave of
 * their share is shared by the others; who has events left has the next turn behind all.
 */
function takeParts(turns: Set<TenantQueue>): Part[] {
  const taking: TenantQueue[] = [];
  for (const queue of turns) {
    turns.delete(queue);
    if (queue.waiting.length > 0 && queue.parts < MAX_ON_THE_WAY) taking.push(queue);
    if (taking.length === MAX_EVENTS) break;
  }
  if (taking.length > 1) taking.sort((a, b) => a.waiting.length - b.waiting.length);
  let room = MAX_EVENTS;
  let work = CALL_WORK;
  return taking.map((queue, index) => {
    const left = taking.length - index;
    const count = fitting(queue.waiting, { most: Math.ceil(room / left), work: work / left });
    const batch = queue.waiting.splice(0, count);
    room -= count;
    for (const { event } of batch) work -= event.plan.work;
    if (queue.waiting.length > 0) turns.add(queue);
    return { queue, batch };
  });
}

/** How many of the first events a command takes: at least one, whatever its work. */
function fitting(waiting: readonly Waiting[], { most, work }: { most: number; work: number }): number {
  let count = 1;
  let sum = waiting[0]!.event.plan.work;
  while (count < Math.min(most, waiting.length)) {
    sum += waiting[count]!.event.plan.work;
    if (sum > work) break;
    count += 1;
  }
  return count;
}
