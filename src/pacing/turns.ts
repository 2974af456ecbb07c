/**
 * Divides the event loop among requests, and measures what each costs.
 *
 * A request runs in turns: its start, and what follows each reply of Redis or Postgres and each pause of a long computation.
 * Turns that are due wait in queues and run one after another, tenant by tenant and, within a tenant, lane by lane: a lane that
 * used more time than others waits longer, and one that is costly pauses. After a millisecond of turns the loop reads its sockets
 * again.
 *
 * While a turn runs, `currentBill` is its request's, until the last microtask that it caused. So the time between belongs to
 * the request, and so does each command and statement that is sent meanwhile. Node 20's AsyncLocalStorage would make every
 * promise of the process dearer, including those of events, which do not take turns. A promise that several requests
 * share must be awaited through `inOwnTurn`: otherwise the others would go on in the turn of the one that began it.
 */

/** What the requests of an operation have cost. */
export interface Cost {
  /** On the event loop. */
  loopMs: number;
  redisMs: number;
  postgresMs: number;
  /** What a worker and Postgres will take to store what was written: an estimate. */
  storageMs: number;
  /** Sent and received. */
  redisBytes: number;
  postgresBytes: number;
}

export const noCost = (): Cost => ({
  loopMs: 0,
  redisMs: 0,
  postgresMs: 0,
  storageMs: 0,
  redisBytes: 0,
  postgresBytes: 0,
});

interface Turn {
  bill: Bill;
  run: () => void;
}

/** How much longer a tenant or lane may have run than the others that wait. More is forgotten. */
const MOST_AHEAD_MS = 50;
/** How much of that is forgotten each time when it is passed over. */
const QUANTUM_MS = 1;

/** The lanes of a tenant, in the order of their next turns. */
export class TenantLanes {
  readonly due = new Set<Lane>();
  /** Whether the tenant uses more than its share while others need theirs. */
  readonly isOverShare: () => boolean;
  aheadMs = 0;

  constructor(isOverShare: () => boolean = () => false) {
    this.isOverShare = isOverShare;
  }
}

/**
 * How long turns of a costly lane run until it pauses, and for how long. An event takes several rounds of the loop, because it waits
 * for replies of Redis; without pauses, there would be a turn in each.
 */
const BEFORE_PAUSE_MS = 0.5;
const PAUSE_MS = 1;

/** The requests of a user, or of an admin key, in a tenant. */
export class Lane {
  readonly tenant: TenantLanes;
  readonly isOfUser: boolean;
  aheadMs = 0;
  private readonly most: () => number;
  private readonly isCostly: () => boolean;
  private running = 0;
  private sincePauseMs = 0;
  private isPausing = false;
  private readonly goingOn: Turn[] = [];
  private readonly starts: Turn[] = [];

  /**
   * `most`: how many requests run at a time, at least one; others wait for their start. `isCostly`: whether the lane pauses between
   * its turns.
   */
  constructor(
    tenant: TenantLanes,
    { isOfUser, most, isCostly = () => false }: { isOfUser: boolean; most: () => number; isCostly?: () => boolean },
  ) {
    this.tenant = tenant;
    this.isOfUser = isOfUser;
    this.most = most;
    this.isCostly = isCostly;
  }

  /** Number of requests that wait for their start. */
  get waiting(): number {
    return this.starts.length;
  }

  get isIdle(): boolean {
    return this.running === 0 && this.starts.length === 0 && this.goingOn.length === 0;
  }

  /** Whether a turn may run now. */
  get isDue(): boolean {
    if (this.isPausing) return false;
    return this.goingOn.length > 0 || (this.starts.length > 0 && this.running < this.most());
  }

  /** Queues the start of a request; `ended` must be called when it has ended. */
  start(bill: Bill, run: () => void): void {
    this.starts.push({ bill, run });
    offer(this);
  }

  /** Queues the next turn of a request. */
  goOn(bill: Bill, run: () => void): void {
    this.goingOn.push({ bill, run });
    offer(this);
  }

  /** Takes a turn of a lane that is due. */
  take(): Turn {
    const turn = this.goingOn.shift();
    if (turn !== undefined) return turn;
    this.running += 1;
    return this.starts.shift()!;
  }

  /** Notes that a turn took so long. */
  ranFor(ms: number): void {
    this.aheadMs = Math.min(this.aheadMs + ms, MOST_AHEAD_MS);
    this.sincePauseMs += ms;
    if (this.sincePauseMs < BEFORE_PAUSE_MS || !this.isCostly()) return;
    this.sincePauseMs = 0;
    this.isPausing = true;
    withdraw(this);
    setTimeout(() => {
      this.isPausing = false;
      offer(this);
    }, PAUSE_MS);
  }

  /** Call this when a request that began has ended. */
  ended(): void {
    this.running -= 1;
    offer(this);
  }
}

/** Who pays for a request. */
export class Bill {
  readonly lane: Lane;
  /** Postgres connections that the request holds over several statements. */
  connections = 0;
  private readonly cost: Cost;
  private readonly pay: (ms: number) => void;
  private readonly payStorage: (ms: number) => void;

  /** `cost`: to which everything is added. `payStorage`: pays for what happens outside of this process. */
  constructor(lane: Lane, cost: Cost, pay: (ms: number) => void, payStorage: (ms: number) => void = () => undefined) {
    this.lane = lane;
    this.cost = cost;
    this.pay = pay;
    this.payStorage = payStorage;
  }

  ranFor(ms: number): void {
    const { lane } = this;
    this.cost.loopMs += ms;
    lane.tenant.aheadMs = Math.min(lane.tenant.aheadMs + ms, MOST_AHEAD_MS);
    lane.ranFor(ms);
    this.pay(ms);
  }

  tookFromRedis(bytes: number, ms: number): void {
    this.cost.redisBytes += bytes;
    this.cost.redisMs += ms;
    this.pay(ms + bytes * REDIS_MS_A_BYTE);
  }

  tookFromPostgres(bytes: number, ms: number): void {
    this.cost.postgresBytes += bytes;
    this.cost.postgresMs += ms;
    this.pay(ms * POSTGRES_WEIGHT + bytes * POSTGRES_MS_A_BYTE);
  }

  /** A user's change was written, which will be stored with the user's state of so many bytes. */
  wroteState(bytes: number): void {
    const ms = storedMs(bytes);
    this.cost.storageMs += ms;
    this.payStorage(ms);
  }
}

/** Redis copies some 1 GB/s, and the client's parser about as much. */
const REDIS_MS_A_BYTE = 1 / 1_000_000;
/** The client reads rows outside of turns, at some 200 MB/s. */
const POSTGRES_MS_A_BYTE = 5 / 1_000_000;
/** Unlike the event loop and Redis, Postgres runs several statements at a time, at least on another core. */
const POSTGRES_WEIGHT = 1 / 2;

/** What a worker and Postgres take to store a change, about: for itself, and for the user's state. */
export const STORED_MS = 0.2;
const STORED_MS_A_BYTE = 0.2 / 1_000;

/** The same for a change after which the user's state has so many bytes. */
export const storedMs = (bytes: number): number => STORED_MS + bytes * STORED_MS_A_BYTE;

/**
 * From this size on, a user who sends 50 events a second uses more than its share to store them. Events that write smaller states are
 * charged `STORED_MS`, for which nothing has to be looked up.
 */
export const LARGE_STATE_BYTES = 4_000;

let current: Bill | null = null;

/** The bill of the request whose turn it is; `null` outside of turns. */
export const currentBill = (): Bill | null => current;

/** Runs `work` without a bill: what it sends is done for all, not for the request whose turn it is. */
export function forAll<T>(work: () => T): T {
  const before = current;
  current = null;
  try {
    return work();
  } finally {
    current = before;
  }
}

/** Settles as the promise does, in a turn of the bill's request. */
export const inTurnOf = <T>(bill: Bill, promise: PromiseLike<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    promise.then(
      (value) => bill.lane.goOn(bill, () => resolve(value)),
      (error: unknown) => bill.lane.goOn(bill, () => reject(error as Error)),
    );
  });

/** Awaits a promise that other requests may share; the caller goes on in a turn of its own. */
export const inOwnTurn = <T>(shared: Promise<T>): Promise<T> => (current === null ? shared : inTurnOf(current, shared));

/** Resolves in the next turn of the request, or after all other waiting work if no request has this turn. */
export function nextTurn(): Promise<void> {
  const bill = current;
  return new Promise((resolve) => {
    if (bill === null) setImmediate(resolve);
    else bill.lane.goOn(bill, resolve);
  });
}

/** How long turns run before the loop reads its sockets again. One turn may take longer (`SLICE_MS`). */
const TURNS_MS = 1;

/** Tenants with due turns, in the order of their next ones. */
const due = new Set<TenantLanes>();
let scheduled = false;
let begunMs = 0;

function offer(lane: Lane): void {
  if (!lane.isDue) return;
  lane.tenant.due.add(lane);
  due.add(lane.tenant);
  if (scheduled) return;
  scheduled = true;
  setImmediate(runTurns);
}

/** Undoes `offer`. */
function withdraw(lane: Lane): void {
  const { tenant } = lane;
  tenant.due.delete(lane);
  if (tenant.due.size === 0) due.delete(tenant);
}

function runTurns(): void {
  begunMs = performance.now();
  runNext(begunMs);
}

function runNext(nowMs: number): void {
  const turn = nowMs - begunMs < TURNS_MS ? takeTurn() : null;
  if (turn === null) {
    scheduled = due.size > 0;
    if (scheduled) setImmediate(runTurns);
    return;
  }
  current = turn.bill;
  turn.run();
  // A tick that a microtask adds runs after all other microtasks: those of this turn, and those that they add. `queueMicrotask`
  // would make an object for async hooks each time.
  void RESOLVED.then(() => {
    process.nextTick(() => {
      current = null;
      const endMs = performance.now();
      turn.bill.ranFor(endMs - nowMs);
      runNext(endMs);
    });
  });
}

const RESOLVED = Promise.resolve();

function takeTurn(): Turn | null {
  const tenant = nextOf(due);
  if (tenant === null) return null;
  const lane = nextOf(tenant.due)!;
  const turn = lane.take();
  if (lane.isDue) tenant.due.add(lane);
  if (tenant.due.size > 0) due.add(tenant);
  return turn;
}

/** Removes the first that is not ahead of the others. One that is loses some of its lead, and goes to the end. */
function nextOf<T extends { aheadMs: number }>(waiting: Set<T>): T | null {
  for (const each of waiting) {
    waiting.delete(each);
    if (each.aheadMs <= 0 || waiting.size === 0) {
      if (waiting.size === 0) each.aheadMs = 0;
      return each;
    }
    each.aheadMs -= QUANTUM_MS;
    // The loop comes back to it.
    waiting.add(each);
  }
  return null;
}
