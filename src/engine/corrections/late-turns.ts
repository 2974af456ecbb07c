/** Queues of late events, which take some queries each. */
import { Overload } from '../refusals.ts';

/** Late events that a process handles at once for each tenant; each takes some queries. */
const MOST_AT_ONCE = 4;
/** Limit of working and waiting late events for each tenant in a process; more are refused. */
const MOST_HERE = 256;
/** The same limit for each user, so that one user leaves room for the others. */
const MOST_OF_USER = 64;
/** A late event that waits longer for its turn is refused. Each takes until its timeout while Postgres stores nothing. */
const MOST_WAIT_MS = 20_000;

interface TenantTurns {
  here: number;
  working: number;
  waiting: (() => void)[];
}

interface UserTurns {
  here: number;
  /** Settles when the most recent event is done. */
  last: Promise<void>;
}

/** Queues late events: one at a time for each user, a few at a time for each tenant. */
export function createLateTurns(mostWaitMs = MOST_WAIT_MS) {
  const tenants = new Map<number, TenantTurns>();
  const users = new Map<string, UserTurns>();

  /** Does the work when its turn comes. Throws 503 if too many wait, or the turn comes too late. */
  async function run<T>(tenantNo: number, userId: string, work: () => Promise<T>): Promise<T> {
    const tenant = tenants.get(tenantNo) ?? { here: 0, working: 0, waiting: [] };
    if (tenant.here >= MOST_HERE) throw new Overload('Too many late events wait; try again in a moment.');
    const name = `${tenantNo}:${userId}`;
    const user = users.get(name) ?? { here: 0, last: Promise.resolve() };
    if (user.here >= MOST_OF_USER) throw new Overload('Too many late events of the user wait; try again in a moment.');
    tenants.set(tenantNo, tenant);
    users.set(name, user);
    tenant.here += 1;
    user.here += 1;
    const before = user.last;
    const untilMs = performance.now() + mostWaitMs;
    let end = (): void => undefined;
    user.last = new Promise<void>((resolve) => (end = resolve));
    try {
      await before;
      await enter(tenant);
      try {
        if (performance.now() > untilMs)
          throw new Overload('Late events take too long to be stored; try again in a moment.');
        return await work();
      } finally {
        leave(tenant);
      }
    } finally {
      end();
      user.here -= 1;
      if (user.here === 0) users.delete(name);
      tenant.here -= 1;
      if (tenant.here === 0) tenants.delete(tenantNo);
    }
  }

  return { run };
}

async function enter(tenant: TenantTurns): Promise<void> {
  if (tenant.working >= MOST_AT_ONCE) await new Promise<void>((resolve) => tenant.waiting.push(resolve));
  else tenant.working += 1;
}

function leave(tenant: TenantTurns): void {
  const next = tenant.waiting.shift();
  if (next === undefined) tenant.working -= 1;
  else next();
}
