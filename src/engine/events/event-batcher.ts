/** Sends events to Redis. Events that arrive while a command is in flight share the next one. */
import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { CALL_WORK } from '../../catalog/event-work.ts';
import type { Clock } from '../../clock.ts';
import { CLIENT_GONE } from '../../errors.ts';
import { kindField } from '../../packed/record-fields.ts';
import type { ScriptReply } from '../../packed/record.ts';
import { REFUSAL, UNKNOWN_USE } from '../../packed/refusal-fields.ts';
import { connectionOf } from '../../redis/endpoints.ts';
import type { TenantPart } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { JoinedCalls } from '../../redis/script.ts';
import { callsOf } from '../changes/calls.ts';
import { COMMIT_SCRIPT, READ_SCRIPT } from '../changes/change-users.ts';
import { createReachedClock, recordEvents } from '../changes/record-events.ts';
import type { Scripts } from '../scripts.ts';
import type { EventRanks } from '../leaderboards/wide-ranks.ts';
import type { ReadyEvent } from './ready-event.ts';
import type { KeyQuestion, LookUpKeys } from './stored-replies.ts';

/** The request of an event. */
export interface Requester {
  /** The request's span, if it is sampled. */
  readonly span?: Span;
  /** Whether its client has disconnected. An event that still waits then is dropped. */
  readonly isGone?: boolean;
  /** Set once its event wrote a large state: its size. */
  stateBytes?: number;
}

interface Waiting {
  event: ReadyEvent;
  from: Requester | undefined;
  resolve: (reply: ScriptReply) => void;
  reject: (error: unknown) => void;
}

/** The waiting events of a tenant's part, in order. */
interface TenantQueue {
  part: TenantPart;
  waiting: Waiting[];
  /** How many commands have a part of it in flight. */
  inFlight: number;
  /** Users with events in flight, whose other events wait: they would conflict. */
  usersInFlight: Set<string>;
}

/** Events of a tenant's part that are sent together. */
export interface Part {
  queue: TenantQueue;
  batch: Waiting[];
}

interface Server {
  redis: Redis;
  turns: Set<TenantQueue>;
  /** How many commands to it are in flight. */
  inFlight: number;
  scheduled: boolean;
}

/**
 * Maximum number of events in a command. More than half as many wait only in an overload: refusals then lengthen each turn of the event
 * loop, and a command takes three turns, so small commands would leave most of the capacity unused (decision 3).
 */
const MAX_EVENTS = 128;

/** While Redis works on a command, the next one is computed. */
const MOST_IN_FLIGHT = 2;

/** Fewer events wait for the command in flight, and share its successor: the fixed cost of a command is that of several events. */
const LEAST_BESIDE = 8;

/** How many waiting events of a tenant's part are looked at to find those whose users have none in flight. */
const MOST_LOOKED_AT = 4 * MAX_EVENTS;

/**
 * One queue of events for each part of a tenant, sent to the server of its shard. While a command is in flight to a server, the
 * next one waits until it is worth its cost, and a third one until there is an answer, so that more events share a commit
 * (decision 3). A part that is retried alone delays only its tenant. If more events wait than fit into a command, the tenants share
 * it equally. A tenant with many events thus delays the others no more than one with few.
 */
export class EventQueues {
  private readonly redis: Redis;
  private readonly send: (redis: Redis, parts: readonly Part[]) => Promise<void>;
  private readonly queues = new WeakMap<TenantPart, TenantQueue>();
  private readonly servers = new WeakMap<Redis, Server>();

  /** `send` resolves when the command is answered, and reports each part to `finished`. */
  constructor(redis: Redis, send: (redis: Redis, parts: readonly Part[]) => Promise<void>) {
    this.redis = redis;
    this.send = send;
  }

  /** Queues an event behind the waiting ones. */
  append(part: TenantPart, waiting: Waiting): void {
    let queue = this.queues.get(part);
    if (queue === undefined) {
      queue = { part, waiting: [], inFlight: 0, usersInFlight: new Set() };
      this.queues.set(part, queue);
    }
    queue.waiting.push(waiting);
    this.offer(queue);
  }

  /** Queues events before all waiting ones, in their order. */
  putBack(queue: TenantQueue, batch: readonly Waiting[]): void {
    queue.waiting.unshift(...batch);
    this.offer(queue);
  }

  /** Call this when a part is answered or has failed. */
  finished({ queue, batch }: Part): void {
    queue.inFlight -= 1;
    for (const { event } of batch) queue.usersInFlight.delete(event.userId);
    this.offer(queue);
  }

  private offer(queue: TenantQueue): void {
    if (queue.waiting.length === 0 || queue.inFlight === MOST_IN_FLIGHT) return;
    const server = this.serverOf(queue);
    server.turns.add(queue);
    this.schedule(server);
  }

  /** The shard's current server. */
  private serverOf({ part }: TenantQueue): Server {
    const redis = connectionOf(this.redis, part.shard);
    let server = this.servers.get(redis);
    if (server === undefined) {
      server = { redis, turns: new Set(), inFlight: 0, scheduled: false };
      this.servers.set(redis, server);
    }
    return server;
  }

  private schedule(server: Server): void {
    if (server.scheduled || !isDue(server)) return;
    server.scheduled = true;
    // Wait for the end of this turn of the event loop: requests that arrived in the same read share the command.
    setImmediate(() => {
      server.scheduled = false;
      void this.flush(server);
    });
  }

  private async flush(server: Server): Promise<void> {
    const parts = takeParts(server.turns);
    if (parts.length === 0) return this.schedule(server);
    for (const { queue, batch } of parts) {
      queue.inFlight += 1;
      for (const { event } of batch) queue.usersInFlight.add(event.userId);
    }
    server.inFlight += 1;
    this.schedule(server);
    await this.send(server.redis, parts);
    server.inFlight -= 1;
    this.schedule(server);
  }
}

/** Whether enough events wait for another command. */
function isDue({ turns, inFlight }: Server): boolean {
  if (inFlight === 0) return turns.size > 0;
  if (inFlight === MOST_IN_FLIGHT) return false;
  let waiting = 0;
  for (const queue of turns) {
    waiting += queue.waiting.length;
    if (waiting >= LEAST_BESIDE) return true;
  }
  return false;
}

/**
 * Takes the events of the next command from the tenants whose turn it is. Tenants with the fewest events come first, so
 * that the others can use the rest of their share. A tenant with events left goes to the end of the queue.
 */
function takeParts(turns: Set<TenantQueue>): Part[] {
  const taking: TenantQueue[] = [];
  for (const queue of turns) {
    turns.delete(queue);
    if (queue.waiting.length > 0 && queue.inFlight < MOST_IN_FLIGHT) taking.push(queue);
    if (taking.length === MAX_EVENTS) break;
  }
  if (taking.length > 1) taking.sort((a, b) => a.waiting.length - b.waiting.length);
  let room = MAX_EVENTS;
  let work = CALL_WORK;
  const parts: Part[] = [];
  for (const [index, queue] of taking.entries()) {
    const queuesToServe = taking.length - index;
    const waited = queue.waiting.length;
    const batch = takeFirst(queue, { most: Math.ceil(room / queuesToServe), work: work / queuesToServe });
    room -= batch.length;
    for (const { event } of batch) work -= event.plan.work;
    // If all that are left wait for users in flight, their answer offers the queue again.
    if (queue.waiting.length > 0 && queue.waiting.length < waited) turns.add(queue);
    if (batch.length > 0) parts.push({ queue, batch });
  }
  return parts;
}

/**
 * Takes the first events that fit into a command and whose users have none in flight; at least one, however much work it is. Drops
 * those whose clients have gone, before anything is done for them.
 */
function takeFirst({ waiting, usersInFlight }: TenantQueue, { most, work }: { most: number; work: number }): Waiting[] {
  const batch: Waiting[] = [];
  const left: Waiting[] = [];
  let lookedAt = 0;
  let sum = 0;
  for (const each of waiting) {
    if (batch.length === most || lookedAt === MOST_LOOKED_AT) break;
    if (each.from?.isGone === true) each.reject(CLIENT_GONE);
    else if (usersInFlight.has(each.event.userId)) left.push(each);
    else {
      sum += each.event.plan.work;
      if (batch.length > 0 && sum > work) break;
      batch.push(each);
    }
    lookedAt += 1;
  }
  waiting.splice(0, lookedAt, ...left);
  return batch;
}

export interface EventBatcherOptions {
  redis: Redis;
  clock: Clock;
  scripts: Scripts;
  /** Replies for those of the events that Postgres holds. For retries whose first try has left the outbox. */
  findPersisted: (tenantNo: number, events: readonly ReadyEvent[]) => Promise<Map<string, ScriptReply>>;
  lookUpKeys: LookUpKeys;
  addRanks: EventRanks;
  /** Maximum number of idempotency keys of a user on a UTC day; default and 0: unlimited. */
  idempotencyKeysPerDay?: number;
  onCall?: (events: number) => void;
}

/** Reads of several tenants that share a command, and commits that share the next one. */
class JoinedChange {
  readonly reads: JoinedCalls;
  readonly commits: JoinedCalls;

  constructor(redis: Redis) {
    this.reads = new JoinedCalls(READ_SCRIPT, redis);
    this.commits = new JoinedCalls(COMMIT_SCRIPT, redis);
  }

  /** Resolves when the commits are answered, with errors or without. */
  async send(): Promise<void> {
    await this.reads.send();
    // Parts whose read was answered have computed and added their commit when this turn of the event loop ends.
    await new Promise((resolve) => setImmediate(resolve));
    await this.commits.send();
  }
}

/**
 * Applies events, many in a command under load. If no command to its server is in flight, an event is
 * sent at once; otherwise it waits and shares a command with events of any tenant. A command has a separate script call
 * for each tenant (`JoinedCalls`).
 */
export function createEventBatcher(options: EventBatcherOptions) {
  const { redis, onCall, scripts, lookUpKeys, findPersisted, addRanks } = options;
  const reached = createReachedClock();
  const queues = new EventQueues(redis, (redis, parts) => send(redis, parts));

  /**
   * Resolves with the event's reply. Rejects with 503 if Redis does not answer; with CLIENT_GONE, and nothing done, if the
   * requester has gone before the event is sent.
   */
  function submit(tenantNo: number, event: ReadyEvent, from?: Requester): Promise<ScriptReply> {
    return new Promise((resolve, reject) => {
      const part = userPart(redis, tenantNo, event.userId);
      queues.append(part, { event, from, resolve, reject });
    });
  }

  /** Resolves when the commit is answered. A part whose connection broke, or whose shard is closed, may go on alone. */
  function send(redis: Redis, parts: readonly Part[]): Promise<void> {
    onCall?.(parts.reduce((sum, { batch }) => sum + batch.length, 0));
    const joined = new JoinedChange(redis);
    for (const part of parts) void sendPart(part, joined);
    return joined.send();
  }

  async function sendPart(sent: Part, joined: JoinedChange): Promise<void> {
    const { queue, batch } = sent;
    const { part } = queue;
    const events = batch.map(({ event }) => event);
    const spans = scripts.traced ? batch.flatMap(({ from }) => from?.span ?? []) : undefined;
    try {
      const onLargeState = (place: number, bytes: number): void => {
        const { from } = batch[place]!;
        if (from !== undefined) from.stateBytes = bytes;
      };
      const replies = await call(part, events, { spans, joined, onLargeState }).finally(() => queues.finished(sent));
      // The next call is sent while this one waits for its replica, which may be far away. With a replica on the same
      // machine this made no difference (5 pairs each).
      const replicated = scripts.replicated(part.shard);
      if (replicated !== null) await replicated;
      if (part.isWide === true) await addRanks(events[0]!.compiled, replies);
      answer(queue, batch, replies);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  /**
   * Resolves the events that have a final reply. The others go back to the front of the queue in order, after Postgres has answered
   * about their keys. No call waits for that.
   */
  function answer(queue: TenantQueue, batch: readonly Waiting[], replies: readonly ScriptReply[]): void {
    const questions: (KeyQuestion & Waiting)[] = [];
    for (const [index, waiting] of batch.entries()) {
      const reply = replies[index]!;
      if (reply[kindField] === REFUSAL.unknownUse) questions.push({ ...waiting, asked: reply });
      else waiting.resolve(reply);
    }
    if (questions.length > 0) void lookUp(queue, questions);
  }

  async function lookUp(queue: TenantQueue, questions: readonly (KeyQuestion & Waiting)[]): Promise<void> {
    try {
      const events = await lookUpKeys(queue.part.tenantNo, questions);
      const answered = questions.map((question, index) => ({ ...question, event: events[index]! }));
      queues.putBack(queue, answered);
    } catch (error) {
      // Without Postgres it is unknown whether these events were processed; those behind them only waited.
      for (const { asked, reject } of questions) if (asked[UNKNOWN_USE.token] !== undefined) reject(error);
      queues.putBack(
        queue,
        questions.filter(({ asked }) => asked[UNKNOWN_USE.token] === undefined),
      );
    }
  }

  /** Applies events. `joined`: shares commands with the parts of other tenants. */
  async function call(
    part: TenantPart,
    events: readonly ReadyEvent[],
    {
      spans,
      joined,
      onLargeState,
    }: {
      spans?: readonly Span[] | undefined;
      joined?: JoinedChange;
      onLargeState?: (place: number, bytes: number) => void;
    } = {},
  ): Promise<ScriptReply[]> {
    const { scripts, clock, idempotencyKeysPerDay = 0 } = options;
    let persisted = new Map<string, ScriptReply>();
    const calls = callsOf(scripts, part, {
      spans,
      joined,
      events: events.length,
      foundElsewhere: async () => {
        persisted = await findPersisted(part.tenantNo, events);
        return persisted.size > 0;
      },
    });
    const { ended, replies } = await recordEvents(calls, part, events, {
      nowMs: clock.now(),
      keysPerDay: idempotencyKeysPerDay,
      reached,
      ...(onLargeState && { onLargeState }),
    });
    return ended === 'stored' ? callOthers(part, events, persisted) : replies;
  }

  /** Events of a retried call that Postgres holds get their replies from there; the others were refused and are again. */
  async function callOthers(
    part: TenantPart,
    events: readonly ReadyEvent[],
    persisted: Map<string, ScriptReply>,
  ): Promise<ScriptReply[]> {
    const replies: ScriptReply[] = [];
    for (const event of events) replies.push(persisted.get(event.id) ?? (await call(part, [event]))[0]!);
    return replies;
  }

  return { submit };
}

export type EventBatcher = ReturnType<typeof createEventBatcher>;
