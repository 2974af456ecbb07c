/**
 * Refuses requests that would wait too long for their turn, before anything is done for them. Otherwise a process that gets more
 * than it can do answers everything later and later, until clients give up, send again and keep it there.
 *
 * A request waits for as long as the requests ahead of it take: those in flight, divided by the recent rate of answers. The
 * rate is measured only while requests queue, because it is a demand otherwise, not a capacity.
 */
import { AppError } from '../../errors.ts';
import { BODY_BYTES, type Operation } from '../../operations/operation.ts';

/** Requests that queue together. Batches and administrators' requests take longer, and their clients wait longer. */
export const QUEUES = ['events', 'requests', 'batches', 'admin'] as const;
export type QueueName = (typeof QUEUES)[number];

interface Bound {
  mostWaitMs: number;
  /** So many requests in flight are a burst, such as the end of a match, and no overload however slow the machine. */
  burst: number;
  /** Requests per second until a rate is measured. */
  firstRate: number;
}

const BOUNDS: Readonly<Record<QueueName, Bound>> = {
  events: { mostWaitMs: 500, burst: 2_000, firstRate: 1_000 },
  requests: { mostWaitMs: 500, burst: 1_000, firstRate: 1_000 },
  // With `?wait=true` they are answered when all their events are processed.
  batches: { mostWaitMs: 60_000, burst: 16, firstRate: 10 },
  admin: { mostWaitMs: 10_000, burst: 256, firstRate: 50 },
};

/** A queue whose wait has been beyond the bound for so long is no burst. */
const BURST_MS = 2_000;
/** A part of a burst that is never refused. */
const NEVER_REFUSED = 1 / 4;
/** When fewer of a burst are left, the queue is over, and the next burst is another one. */
const OVER = 1 / 8;

const SLOT_MS = 100;
/** Weight of the latest slot in the rate: it follows a change within half a second. */
const LATEST = 0.2;
const LONGEST_RETRY_S = 60;
/** Over how much time refused clients come back. */
const SPREAD_MS = 10_000;

/** Of an operation on a surface. */
export function queueOf(operation: Operation, surface: Operation['surface']): QueueName {
  if (surface === 'admin') return (operation.bodyBytes ?? Infinity) > BODY_BYTES ? 'batches' : 'admin';
  return operation.runsAtOnce === null ? 'requests' : 'events';
}

/** The refusal of a request that would wait too long. Nothing of the request was done. */
class Overloaded extends AppError {
  constructor(retryS: number) {
    super(
      'overloaded',
      'Too many requests wait; nothing of this one was done. Send it again after the time in Retry-After.',
      {
        headers: { 'Retry-After': String(retryS) },
      },
    );
  }
}

/** By the seconds of Retry-After. Made once, because the stack of an error costs more than the rest of a refusal. */
const refusals: Overloaded[] = [];

/** A tenant's requests in flight, and those of each key. */
interface OfTenant {
  inFlight: number;
  ofKeys: Map<string, number>;
}

const NOBODY_YET: OfTenant = { inFlight: 0, ofKeys: new Map() };

/** Who sends a request, and about which tenant. */
export interface From {
  tenantNo: number;
  /** The key's public part. */
  prefix: string;
}

/** The requests in flight of one queue. */
class Queue {
  private readonly bound: Bound;
  /** Number of requests in flight that are never refused. */
  private readonly few: number;
  private inFlight = 0;
  /** When the wait went beyond the bound; `null` if it did not since the queue was last over. */
  private longSinceMs: number | null = null;
  /** When the client that is refused next should come back. */
  private comeBackMs = 0;
  private readonly tenants = new Map<number, OfTenant>();
  private perSecond: number;
  private slotMs = 0;
  private slotAnswers = 0;
  private slotLowest = 0;
  private wasQueued = false;

  constructor(bound: Bound) {
    this.bound = bound;
    this.few = bound.burst * NEVER_REFUSED;
    this.perSecond = bound.firstRate;
  }

  /** See `Admission.waitMs`. */
  get waitMs(): number {
    return this.isLong ? (this.inFlight / this.perSecond) * 1_000 : 0;
  }

  /** See `Admission.isLong`. */
  get isLong(): boolean {
    return this.inFlight >= this.few;
  }

  refusal(from: From, nowMs: number): Overloaded | null {
    if (!this.isLong) return null;
    this.measure(nowMs);
    const { waitMs } = this;
    if (waitMs <= this.bound.mostWaitMs) return null;
    this.longSinceMs ??= nowMs;
    const isBurst = this.inFlight < this.bound.burst && nowMs - this.longSinceMs < BURST_MS;
    if (isBurst || !this.hasItsShare(from)) return null;
    const retryS = Math.min(Math.ceil(this.nextRetryMs(nowMs) / 1_000), LONGEST_RETRY_S);
    return (refusals[retryS] ??= new Overloaded(retryS));
  }

  /**
   * How long a refused client should wait. Clients get times one after another, at the recent rate, so that those of a burst do
   * not come back as another one. In an overload that lasts, they are distributed over `SPREAD_MS` again and again.
   */
  private nextRetryMs(nowMs: number): number {
    const soonestMs = nowMs + this.waitMs;
    if (this.comeBackMs < soonestMs || this.comeBackMs > soonestMs + SPREAD_MS) this.comeBackMs = soonestMs;
    const retryMs = this.comeBackMs - nowMs;
    this.comeBackMs += 1_000 / this.perSecond;
    return retryMs;
  }

  /**
   * Whether a tenant has as many requests in flight as tenants have on average, and the key as many as the tenant's keys have.
   * Others did not cause the queue, and turns (`src/pacing/turns.ts`) and commands are shared so that they do not wait for all of it.
   */
  private hasItsShare({ tenantNo, prefix }: From): boolean {
    const { inFlight, ofKeys } = this.tenants.get(tenantNo) ?? NOBODY_YET;
    if ((inFlight + 1) * this.tenants.size < this.inFlight) return false;
    return ((ofKeys.get(prefix) ?? 0) + 1) * ofKeys.size >= inFlight;
  }

  enter({ tenantNo, prefix }: From): void {
    this.inFlight += 1;
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) this.tenants.set(tenantNo, (tenant = { inFlight: 0, ofKeys: new Map() }));
    tenant.inFlight += 1;
    tenant.ofKeys.set(prefix, (tenant.ofKeys.get(prefix) ?? 0) + 1);
  }

  leave({ tenantNo, prefix }: From, isDone: boolean): void {
    this.inFlight -= 1;
    if (this.inFlight < this.slotLowest) this.slotLowest = this.inFlight;
    if (this.inFlight < this.bound.burst * OVER) this.longSinceMs = null;
    if (isDone) this.slotAnswers += 1;
    const tenant = this.tenants.get(tenantNo)!;
    tenant.inFlight -= 1;
    if (tenant.inFlight === 0) return void this.tenants.delete(tenantNo);
    const ofKey = tenant.ofKeys.get(prefix)! - 1;
    if (ofKey === 0) tenant.ofKeys.delete(prefix);
    else tenant.ofKeys.set(prefix, ofKey);
  }

  /** Takes the slot that has ended into the rate. */
  private measure(nowMs: number): void {
    const ms = nowMs - this.slotMs;
    if (ms < SLOT_MS) return;
    const perSecond = (this.slotAnswers / ms) * 1_000;
    const isQueued = this.slotLowest >= this.few;
    // When a queue begins, the rate before was of another time, or assumed.
    if (isQueued) this.perSecond += (perSecond - this.perSecond) * (this.wasQueued ? LATEST : 1);
    else this.perSecond = Math.max(this.perSecond, perSecond);
    this.wasQueued = isQueued;
    this.slotMs = nowMs;
    this.slotAnswers = 0;
    this.slotLowest = this.inFlight;
  }
}

/** The queues of a process; shared by its surfaces. Times are monotonic, in ms. */
export class Admission {
  private readonly queues: Readonly<Record<QueueName, Queue>>;

  constructor(bounds: Partial<Record<QueueName, Bound>> = {}) {
    const queues = QUEUES.map((name) => [name, new Queue({ ...BOUNDS, ...bounds }[name])]);
    this.queues = Object.fromEntries(queues) as typeof this.queues;
  }

  /** Whether so many requests of a queue are in flight that another one may be refused. */
  isLong(queue: QueueName): boolean {
    return this.queues[queue].isLong;
  }

  /** The error (503) for a request that would wait too long; `null` for any other. */
  refusal(queue: QueueName, from: From, nowMs: number): AppError | null {
    return this.queues[queue].refusal(from, nowMs);
  }

  /** Call this when a request is complete, and `leave` when it has ended. */
  enter(queue: QueueName, from: From): void {
    this.queues[queue].enter(from);
  }

  /** `isDone`: the request was processed, not refused or abandoned. */
  leave(queue: QueueName, from: From, isDone: boolean): void {
    this.queues[queue].leave(from, isDone);
  }

  /** How long another request of a queue would wait; 0 while so few are in flight that none is refused. */
  waitMs(queue: QueueName): number {
    return this.queues[queue].waitMs;
  }
}
