import { Overload } from '../refusals.ts';

/** Late events of one tenant that a process works on at once: each takes some queries. */
const MOST_AT_ONCE = 4;
/** Those of one tenant that a process has, working or waiting; more are refused, so that nobody's fill it. */
const MOST_HERE = 256;
/** Of these, those of one user: whoever sends many at once leaves room for the others. */
const MOST_OF_USER = 64;
/** A late event that waited longer for its turn is refused: while nothing is stored each takes until it gives up. */
const MOST_WAIT_MS = 20_000;

interface TenantTurns {
  here: number;
  working: number;
  waiting: (() => void)[];
}

interface UserTurns {
  here: number;
  /** Settles when the last one that came is done. */
  last: Promise<void>;
}

/** Has late events wait for one another: those of one user go one after another, those of a tenant a few at a time. */
export class LateTurns {
  private readonly tenants = new Map<number, TenantTurns>();
  private readonly users = new Map<string, UserTurns>();
  private readonly mostWaitMs: number;

  constructor(mostWaitMs = MOST_WAIT_MS) {
    this.mostWaitMs = mostWaitMs;
  }

  /** Does the work when it is its turn. 503 if too many of the tenant's, or of the user's, are here, or its turn comes too late. */
  async run<T>(tenantNo: number, userId: string, work: () => Promise<T>): Promise<T> {
    const tenant = this.tenants.get(tenantNo) ?? { here: 0, working: 0, waiting: [] };
    if (tenant.here >= MOST_HERE) throw new Overload('Too many late events wait; try again in a moment.');
    const name = `${tenantNo}:${userId}`;
    const user = this.users.get(name) ?? { here: 0, last: Promise.resolve() };
    if (user.here >= MOST_OF_USER) throw new Overload('Too many late events of the user wait; try again in a moment.');
    this.tenants.set(tenantNo, tenant);
    this.users.set(name, user);
    tenant.here += 1;
    user.here += 1;
    const before = user.last;
    const untilMs = performance.now() + this.mostWaitMs;
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
      if (user.here === 0) this.users.delete(name);
      tenant.here -= 1;
      if (tenant.here === 0) this.tenants.delete(tenantNo);
    }
  }
}

async function enter(tenant: TenantTurns): Promise<void> {
  if (tenant.working >= MOST_AT_ONCE) await new Promise<void>((resolve) => tenant.waiting.push(resolve));
  else tenant.working += 1;
}

/** Hands the turn on to the next who waits. */
function leave(tenant: TenantTurns): void {
  const next = tenant.waiting.shift();
  if (next === undefined) tenant.working -= 1;
  else next();
}
