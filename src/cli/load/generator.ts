import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSED, Connection, type OnAnswer, TIMEOUT } from './connection.ts';
import { Histogram, type Buckets } from './histogram.ts';
import { Ledger } from './ledger.ts';
import { Queue } from './queue.ts';
import { randomFrom } from './random.ts';
import { type MadeRequest, createRequestMaker, type RequestMaker, type RequestsOptions } from './requests.ts';
import type { RequestKind } from './scenario.ts';
import { arrivals, type Bursts, type RatePoint } from './schedule.ts';

/** When to send: as fast as answers come, or on a schedule that does not wait for them. `share`: of the curve's rates. */
export type Pace = 'flat out' | { curve: RatePoint[]; share: number; bursts: Bursts | null };

/** One process's part of a load. It ends after `seconds`, or after an exact number of requests. */
export interface LoadJob extends Omit<RequestsOptions, 'hosts' | 'basePaths'> {
  url: string;
  /** `null`: no request goes to the Admin API. */
  adminUrl: string | null;
  connections: number;
  pace: Pace;
  ends: { seconds: number } | { requests: number };
  /** Whether to count what each user must have afterwards. */
  verify: boolean;
  /**
   * Clients that do not give up: a request that got 503, or no answer within 5 s, is sent again after the time in
   * Retry-After, unless that could record an event twice. Every try is counted as an answer.
   */
  retries?: boolean;
}

/** Instead of a status: it was due, but no connection was free for it until the end. */
export const UNSENT = 'unsent';
/** As long as a 503 without a backlog asks for. */
const CLOSED_PAUSE_MS = 1_000;

/** What happened within one second of a load; all of it for a whole load. */
export interface Counts {
  /** Requests that became due, or were sent if there is no schedule. */
  due: number;
  answered: number;
  /** Numbers by kind and status, such as `event 201`. */
  statuses: Record<string, number>;
  /** Events that were processed. */
  events: number;
  /** From when each answered request was due, or sent if there is no schedule. */
  latency: Buckets;
  /** The same of those that did what they should. */
  expectedLatency: Buckets;
}

/** One second of a load. */
export interface Second extends Counts {
  second: number;
  /** At its end: due requests that wait for a connection, and those that wait for an answer. */
  queue: number;
  inFlight: number;
}

/** How well the generator itself kept up. */
export interface GeneratorHealth {
  /** How late requests left although a connection was free. */
  delay: Buckets;
  /** CPU seconds of the process, and the share of the time in which its event loop was busy. */
  cpuSeconds: number;
  busy: number;
  /** Share of the time in which no connection was free. */
  noConnection: number;
}

/** The result of one process's part. */
export interface LoadOutcome extends Counts {
  /** From the first request to the last answer. */
  seconds: number;
  health: GeneratorHealth;
}

const TIMEOUT_MS = 30_000;
/** How long clients that retry wait for an answer. */
const PATIENCE_MS = 5_000;
/** After the end, for requests that were due before. */
const GRACE_MS = 10_000;
const TICK_MS = 1;
const SECOND_MS = 1_000;
const CHECK_MS = 500;
/** How often requests to send again are looked for: thousands may wait. */
const RETRY_CHECK_MS = 100;
/** Requests prepared while nothing is due. A batch is large and slow to make. */
const PREPARED = { requests: 256, batches: 4, aTick: 16 };

/** Whether a request of this kind did what it should. The total of a user without events is 404. */
export const isExpected = (kind: RequestKind, status: string): boolean =>
  kind === 'event'
    ? status === '201' || status === '202'
    : status === '200' || (kind === 'total' && status === '404') || (kind === 'batch' && status === '202');

/** Connections of one address. */
interface Pool {
  idle: { connection: Connection; sinceMs: number }[];
  all: Connection[];
}

/**
 * Sends the requests of a job and returns when all are answered. Open loop: a request that finds no free connection waits, and
 * its latency counts from when it was due, so slow answers do not hide the requests behind them.
 */
export class Generator {
  readonly ledger = new Ledger();
  private readonly job: LoadJob;
  private readonly maker: RequestMaker;
  private readonly onSecond: (second: Second) => void;
  private readonly pools: { app: Pool; admin: Pool };
  private readonly prepared: MadeRequest[] = [];
  /** Requests for which no connection was free, oldest first, by address. */
  private readonly waiting = { app: new Queue<Waiting>(), admin: new Queue<Waiting>() };
  private readonly due: Iterator<number> | null;
  private nextDueMs = Infinity;
  private made = 0;
  private open = 0;
  private startMs = 0;
  private lastAnswerMs = 0;
  private stopped = false;
  private current = emptyCounts();
  private readonly total = emptyCounts();
  private readonly totalLatency = new Histogram();
  private latency = new Histogram();
  private expectedLatency = new Histogram();
  private readonly totalExpected = new Histogram();
  /** Requests to send again, and when. */
  private again: { waiting: Waiting; atMs: number }[] = [];
  private lookedMs = 0;
  private readonly delay = new Histogram();
  private noConnectionMs = 0;
  private seconds = 0;

  constructor(job: LoadJob, onSecond: (second: Second) => void = () => undefined) {
    this.job = job;
    this.onSecond = onSecond;
    const urls = { app: new URL(job.url), admin: new URL(job.adminUrl ?? job.url) };
    const basePath = (url: URL): string => url.pathname.replace(/\/+$/, '');
    this.maker = createRequestMaker({
      ...job,
      hosts: { app: urls.app.host, admin: urls.admin.host },
      basePaths: { app: basePath(urls.app), admin: basePath(urls.admin) },
    });
    const kinds = job.requests.map(({ kind }) => kind);
    const timeoutMs = job.retries === true ? PATIENCE_MS : TIMEOUT_MS;
    const pool = (url: URL, isUsed: boolean): Pool => ({
      idle: [],
      all: Array.from({ length: isUsed ? job.connections : 0 }, () => new Connection(url, timeoutMs)),
    });
    this.pools = {
      app: pool(
        urls.app,
        kinds.some((kind) => kind !== 'batch'),
      ),
      admin: pool(urls.admin, kinds.includes('batch')),
    };
    this.due = job.pace === 'flat out' ? null : arrivals({ ...job.pace, random: randomFrom(job.seed ^ 0x5bd1e995) });
  }

  /** Connects and prepares the first requests. Rejects if the address does not accept connections. */
  async connect(): Promise<void> {
    const all = [...this.pools.app.all, ...this.pools.admin.all];
    await Promise.all(all.map((connection) => connection.open()));
    this.prepare(PREPARED.requests);
  }

  /** Ends as soon as the sent requests are answered. */
  stop(): void {
    this.stopped = true;
  }

  async run(): Promise<LoadOutcome> {
    this.startMs = performance.now();
    for (const pool of Object.values(this.pools))
      pool.idle = pool.all.map((connection) => ({ connection, sinceMs: 0 }));
    this.nextDueMs = this.advance();
    const cpu = process.cpuUsage();
    const loop = performance.eventLoopUtilization();
    await this.untilEnd();
    const { user, system } = process.cpuUsage(cpu);
    const { utilization: busy } = performance.eventLoopUtilization(loop);
    for (const connection of [...this.pools.app.all, ...this.pools.admin.all]) connection.close();
    this.countUnsent();
    this.tick(true);
    const seconds = Math.max(this.lastAnswerMs, 1) / 1000;
    return {
      ...this.total,
      latency: this.totalLatency.buckets(),
      expectedLatency: this.totalExpected.buckets(),
      seconds,
      health: {
        delay: this.delay.buckets(),
        cpuSeconds: (user + system) / 1e6,
        busy,
        noConnection: Math.min(1, this.noConnectionMs / 1000 / seconds),
      },
    };
  }

  private async untilEnd(): Promise<void> {
    let checkedMs = 0;
    let before = 0;
    for (;;) {
      const nowMs = this.now();
      if (this.waiting.app.length + this.waiting.admin.length > 0) this.noConnectionMs += nowMs - before;
      before = nowMs;
      this.sendDue();
      if (nowMs >= (this.seconds + 1) * SECOND_MS) this.tick(false);
      if (nowMs - checkedMs > CHECK_MS) {
        checkedMs = nowMs;
        const realMs = performance.now();
        for (const { all } of Object.values(this.pools)) for (const connection of all) connection.check(realMs);
      }
      if (this.isOver(nowMs)) return;
      this.prepare(PREPARED.aTick);
      await sleep(TICK_MS);
    }
  }

  private isOver(nowMs: number): boolean {
    const { ends, pace } = this.job;
    const isDone = 'seconds' in ends ? nowMs >= ends.seconds * 1000 : this.made >= ends.requests;
    if (!isDone && !this.stopped && (pace === 'flat out' || this.nextDueMs < Infinity)) return false;
    const unsent = this.waiting.app.length + this.waiting.admin.length + this.again.length;
    if (this.open === 0 && (this.stopped || unsent === 0)) return true;
    return 'seconds' in ends && nowMs > ends.seconds * 1000 + GRACE_MS && this.open === 0;
  }

  /** Whether another request may be made at that time. */
  private mayMake(dueMs: number): boolean {
    const { ends } = this.job;
    return !this.stopped && ('seconds' in ends ? dueMs < ends.seconds * 1000 : this.made < ends.requests);
  }

  private advance(): number {
    const next = this.due?.next();
    return next === undefined || next.done === true ? Infinity : next.value;
  }

  private sendDue(): void {
    this.queueRetries();
    if (this.due === null) {
      for (const address of ['app', 'admin'] as const) this.sendWaiting(address);
      return this.sendFlatOut();
    }
    const nowMs = this.now();
    while (this.nextDueMs <= nowMs && this.mayMake(this.nextDueMs)) {
      const request = this.take();
      this.current.due += 1;
      const address = request.toAdmin ? 'admin' : 'app';
      this.waiting[address].push({ request, dueMs: this.nextDueMs });
      this.nextDueMs = this.advance();
    }
    for (const address of ['app', 'admin'] as const) this.sendWaiting(address);
  }

  private queueRetries(): void {
    const nowMs = this.now();
    if (this.again.length === 0 || nowMs - this.lookedMs < RETRY_CHECK_MS) return;
    this.lookedMs = nowMs;
    for (const { waiting, atMs } of this.again)
      if (atMs <= nowMs) this.waiting[waiting.request.toAdmin ? 'admin' : 'app'].push(waiting);
    this.again = this.again.filter(({ atMs }) => atMs > nowMs);
  }

  private sendWaiting(address: 'app' | 'admin'): void {
    const [waiting, { idle }] = [this.waiting[address], this.pools[address]];
    if (waiting.length === 0 || idle.length === 0 || this.isGivingUp()) return;
    const nowMs = this.now();
    while (waiting.length > 0 && idle.length > 0) {
      const { connection, sinceMs } = idle.pop()!;
      const { request, dueMs } = waiting.shift()!;
      this.delay.record(nowMs - Math.max(dueMs, sinceMs));
      this.send(connection, { request, dueMs });
    }
  }

  /** After the grace, or a stop, requests that wait are not sent any more. */
  private isGivingUp(): boolean {
    const { ends } = this.job;
    return this.stopped || ('seconds' in ends && this.now() > ends.seconds * 1000 + GRACE_MS);
  }

  private sendFlatOut(): void {
    while (this.mayMake(this.now())) {
      const next = (this.prepared[0] ??= this.maker.next());
      const idle = this.pools[next.toAdmin ? 'admin' : 'app'].idle.pop();
      if (idle === undefined) return;
      this.current.due += 1;
      this.send(idle.connection, { request: this.take(), dueMs: this.now() });
    }
  }

  private send(connection: Connection, { request, dueMs }: Waiting): void {
    this.open += 1;
    const wantsBody = this.job.verify && request.events.length > 0;
    const onAnswer: OnAnswer = (status, body, retryMs) => {
      this.open -= 1;
      const nowMs = this.now();
      this.note(request, status, nowMs - dueMs);
      if (status !== CLOSED) this.lastAnswerMs = nowMs;
      const isRetried = this.isRetried(request, status);
      // A client pauses before it calls a server again that closed its connection or refused it.
      const pauseMs = status === CLOSED ? CLOSED_PAUSE_MS : retryMs;
      if (isRetried) this.again.push({ waiting: { request, dueMs }, atMs: nowMs + pauseMs });
      if (this.job.verify && !isRetried) this.ledger.note(request.events, status, body);
      const address = request.toAdmin ? 'admin' : 'app';
      this.pools[address].idle.push({ connection, sinceMs: nowMs });
      // A closed connection is opened by the next tick's request: a server that is down is not asked in a loop.
      if (status === CLOSED) return;
      this.sendWaiting(address);
      if (this.due === null) this.sendFlatOut();
    };
    connection.send(request.text, { wantsBody, onAnswer });
  }

  private isRetried({ events }: MadeRequest, status: string): boolean {
    if (this.job.retries !== true || this.isGivingUp()) return false;
    const isUnanswered = status === TIMEOUT || status === CLOSED;
    const isSafe = events.every(({ idempotencyKey }) => idempotencyKey !== null);
    return status === '503' || (isUnanswered && isSafe);
  }

  private note({ kind, events }: MadeRequest, status: string, latencyMs: number): void {
    const { current } = this;
    const name = `${kind} ${status}`;
    current.answered += 1;
    current.statuses[name] = (current.statuses[name] ?? 0) + 1;
    // A try that is answered 202 was recorded by an earlier one, whose answer was lost.
    if (isExpected(kind, status)) current.events += events.length;
    this.latency.record(latencyMs);
    if (isExpected(kind, status)) this.expectedLatency.record(latencyMs);
  }

  /** Their latency is at least the time that they waited: without them, percentiles would flatter an overloaded server. */
  private countUnsent(): void {
    const nowMs = this.now();
    for (const waiting of Object.values(this.waiting))
      for (const { request, dueMs } of waiting.drain()) {
        const name = `${request.kind} ${UNSENT}`;
        this.current.statuses[name] = (this.current.statuses[name] ?? 0) + 1;
        this.latency.record(nowMs - dueMs);
      }
  }

  private take(): MadeRequest {
    this.made += 1;
    return this.prepared.shift() ?? this.maker.next();
  }

  private prepare(number: number): void {
    const isBatch = this.job.requests.some(({ kind }) => kind === 'batch');
    const most = isBatch ? PREPARED.batches : PREPARED.requests;
    const { ends } = this.job;
    const requestsToMake = 'requests' in ends ? ends.requests - this.made : Infinity;
    for (let no = 0; no < number && this.prepared.length < Math.min(most, requestsToMake); no += 1)
      this.prepared.push(this.maker.next());
  }

  /** Reports the second that ends, or what is left at the end. */
  private tick(isLast: boolean): void {
    const nowMs = this.now();
    do {
      const { current, latency, expectedLatency } = this;
      const waiting = this.waiting.app.length + this.waiting.admin.length;
      if (!isLast || current.due + current.answered + latency.count > 0)
        this.onSecond({
          ...current,
          latency: latency.buckets(),
          expectedLatency: expectedLatency.buckets(),
          second: this.seconds,
          queue: waiting,
          inFlight: this.open,
        });
      addCounts(this.total, current);
      this.totalLatency.add(latency.buckets());
      this.totalExpected.add(expectedLatency.buckets());
      this.current = emptyCounts();
      this.latency = new Histogram();
      this.expectedLatency = new Histogram();
      this.seconds += 1;
    } while (!isLast && nowMs >= (this.seconds + 1) * SECOND_MS);
  }

  private now(): number {
    return performance.now() - this.startMs;
  }
}

interface Waiting {
  request: MadeRequest;
  dueMs: number;
}

export const emptyCounts = (): Counts => ({
  due: 0,
  answered: 0,
  statuses: {},
  events: 0,
  latency: [],
  expectedLatency: [],
});

/** Adds one's numbers to another, without the latencies. */
export function addCounts(to: Counts, from: Counts): void {
  to.due += from.due;
  to.answered += from.answered;
  to.events += from.events;
  for (const [status, count] of Object.entries(from.statuses)) to.statuses[status] = (to.statuses[status] ?? 0) + count;
}
