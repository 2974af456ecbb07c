import type pg from 'pg';
import { AppError } from '../errors.ts';
import { type Bill, currentBill, inTurnOf, type Lane, type TenantLanes } from '../pacing/turns.ts';

/** The client's socket, which counts what it has read. */
interface Connected {
  connection: { stream: { bytesRead: number } };
}

type Query = (...given: unknown[]) => unknown;

/**
 * How many of a pool's connections the requests of a tenant, and of a user, may hold. A user leaves some to others of its
 * tenant. A tenant that uses more than its share of time, while others need theirs, may hold one.
 */
const OF_TENANT = 1 / 2;
const OF_USER = 1 / 5;

/**
 * Charges the statements of requests to their bills, and limits the connections that the requests of a tenant hold. Statements
 * outside of turns are not affected: those of workers, of events, and of work for all requests.
 */
export function chargeStatements(
  pool: pg.Pool,
  { max, timeoutMs }: { max: number; timeoutMs?: number | undefined },
): void {
  const connections = new Connections(max, timeoutMs);
  const queries = new WeakMap<pg.PoolClient, Query>();
  const query = pool.query.bind(pool) as Query;
  const connect = pool.connect.bind(pool) as Query;

  pool.on('connect', (client) => {
    const own = client.query.bind(client) as Query;
    queries.set(client, own);
    client.query = ((...given: unknown[]) => {
      const bill = currentBill();
      // The pool's own calls have a callback.
      if (bill === null || typeof given.at(-1) === 'function') return own(...given);
      const begunMs = performance.now();
      const bytes = readBytes(client);
      const sent = own(...given);
      // A stream is not a promise.
      if (!isPromise(sent)) return sent;
      return inTurnOf(
        bill,
        charged(sent, () => bill.tookFromPostgres(readBytes(client) - bytes, performance.now() - begunMs)),
      );
    }) as typeof client.query;
  });

  const queryFor = async (bill: Bill, given: readonly unknown[]): Promise<unknown> => {
    const release = await connections.takeForStatement(bill);
    try {
      const client = (await connect()) as pg.PoolClient;
      let broken: Error | undefined;
      const onError = (error: Error): void => void (broken = error);
      client.on('error', onError);
      const begunMs = performance.now();
      const bytes = readBytes(client);
      try {
        return await (queries.get(client)!(...given) as Promise<unknown>);
      } catch (error) {
        // As the pool does: a statement that timed out may still be running.
        broken = error as Error;
        throw error;
      } finally {
        bill.tookFromPostgres(readBytes(client) - bytes, performance.now() - begunMs);
        client.off('error', onError);
        client.release(broken);
      }
    } finally {
      release();
    }
  };

  const connectFor = async (bill: Bill): Promise<pg.PoolClient> => {
    const end = await connections.takeToHold(bill);
    try {
      const client = (await connect()) as pg.PoolClient;
      const release = client.release.bind(client);
      client.release = (broken) => {
        end();
        release(broken);
      };
      return client;
    } catch (error) {
      end();
      throw error;
    }
  };

  pool.query = ((...given: unknown[]) => {
    const bill = currentBill();
    return bill === null || typeof given.at(-1) === 'function'
      ? query(...given)
      : inTurnOf(bill, queryFor(bill, given));
  }) as typeof pool.query;
  pool.connect = ((...given: unknown[]) => {
    const bill = currentBill();
    return bill === null || given.length > 0 ? connect(...given) : inTurnOf(bill, connectFor(bill));
  }) as typeof pool.connect;
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof (value as { then?: unknown } | undefined)?.then === 'function';

const readBytes = (client: pg.PoolClient): number => (client as unknown as Connected).connection.stream.bytesRead;

async function charged<T>(sent: Promise<T>, charge: () => void): Promise<T> {
  try {
    return await sent;
  } finally {
    charge();
  }
}

/** A function that does something at its first call only. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}

interface Waiting {
  bill: Bill;
  begin: () => void;
}

/** The connections of a pool that requests hold, by tenant and user. */
class Connections {
  private readonly ofTenant: number;
  private readonly ofUser: number;
  private readonly timeoutMs: number | undefined;
  private readonly held = new Map<Lane | TenantLanes, number>();
  private readonly waiting: Waiting[] = [];

  constructor(max: number, timeoutMs: number | undefined) {
    this.ofTenant = Math.max(1, Math.floor(max * OF_TENANT));
    this.ofUser = Math.max(1, Math.floor(max * OF_USER));
    this.timeoutMs = timeoutMs;
  }

  /** Resolves when a request may send a statement, with the function that ends it. Rejects with 429 if that takes too long. */
  async takeForStatement(bill: Bill): Promise<() => void> {
    if (this.mayTake(bill)) this.count(bill.lane, 1);
    else await this.turn(bill);
    return once(() => {
      this.count(bill.lane, -1);
      this.next();
    });
  }

  /** The same for a connection that the request holds over several statements. */
  async takeToHold(bill: Bill): Promise<() => void> {
    const end = await this.takeForStatement(bill);
    bill.connections += 1;
    return once(() => {
      bill.connections -= 1;
      end();
    });
  }

  /**
   * A request that holds a connection may need another to finish. Its statements on no connection of its own end by themselves, so
   * they wait for one another.
   */
  private mayTake({ lane, connections }: Bill): boolean {
    if (connections > 0) return true;
    const ofLane = this.held.get(lane) ?? 0;
    const ofTenant = lane.tenant.isOverShare() ? 1 : this.ofTenant;
    return (this.held.get(lane.tenant) ?? 0) < ofTenant && (!lane.isOfUser || ofLane < this.ofUser);
  }

  private count(lane: Lane, by: number): void {
    for (const whose of [lane, lane.tenant]) {
      const held = (this.held.get(whose) ?? 0) + by;
      if (held === 0) this.held.delete(whose);
      else this.held.set(whose, held);
    }
  }

  private turn(bill: Bill): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer =
        this.timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              this.waiting.splice(this.waiting.indexOf(waiting), 1);
              reject(
                new AppError('too_many_requests', 'Too many reads of this tenant at a time; try again in a moment.', {
                  headers: { 'Retry-After': '1' },
                }),
              );
            }, this.timeoutMs);
      const waiting = {
        bill,
        begin: () => {
          clearTimeout(timer);
          this.count(bill.lane, 1);
          resolve();
        },
      };
      this.waiting.push(waiting);
    });
  }

  private next(): void {
    const at = this.waiting.findIndex(({ bill }) => this.mayTake(bill));
    if (at >= 0) this.waiting.splice(at, 1)[0]!.begin();
  }
}
