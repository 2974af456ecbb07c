import { AppError } from '../../errors.ts';
import { inOwnTurn } from '../../pacing/turns.ts';

/** Concurrent history reads of one tenant in a process. */
const MOST_OF_TENANT = 4;
const MOST_WAITING_OF_USER = 5;
const MOST_WAITING_OF_TENANT = 32;
/** How long a read waits at most. */
const WAIT_MS = 1_000;
const RETRY_AFTER_S = '1';

interface WaitingRead {
  userId: string;
  begin: () => void;
}

interface TenantReads {
  /** Users with a running read. */
  running: Set<string>;
  waiting: WaitingRead[];
}

/**
 * Limits concurrent history reads: one of a user, because it may occupy a core of Postgres, and some of a tenant. A few wait up to a
 * second; others are answered 429.
 */
export class ReadLimits {
  private readonly tenants = new Map<number, TenantReads>();

  /** Reads when the user's turn comes. Throws 429 if too many reads wait, or if the turn does not come within a second. */
  async run<T>(tenantNo: number, userId: string, read: () => Promise<T>): Promise<T> {
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) this.tenants.set(tenantNo, (tenant = { running: new Set(), waiting: [] }));
    if (mayBegin(tenant, userId)) tenant.running.add(userId);
    else await inOwnTurn(turn(tenant, userId));
    try {
      return await read();
    } finally {
      ended(tenant, userId);
      if (tenant.running.size === 0 && tenant.waiting.length === 0) this.tenants.delete(tenantNo);
    }
  }
}

const mayBegin = ({ running }: TenantReads, userId: string): boolean =>
  running.size < MOST_OF_TENANT && !running.has(userId);

/** Resolves when the read may start. */
function turn(tenant: TenantReads, userId: string): Promise<void> {
  const { waiting } = tenant;
  const own = waiting.filter((other) => other.userId === userId).length;
  if (own >= MOST_WAITING_OF_USER) throw tooMany('of this user');
  if (waiting.length >= MOST_WAITING_OF_TENANT) throw tooMany('in this tenant');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(read), 1);
      reject(tooMany(tenant.running.has(userId) ? 'of this user' : 'in this tenant'));
    }, WAIT_MS);
    const read: WaitingRead = {
      userId,
      begin: () => {
        clearTimeout(timer);
        resolve();
      },
    };
    waiting.push(read);
  });
}

function ended(tenant: TenantReads, userId: string): void {
  tenant.running.delete(userId);
  const at = tenant.waiting.findIndex((read) => mayBegin(tenant, read.userId));
  if (at < 0) return;
  const [next] = tenant.waiting.splice(at, 1);
  tenant.running.add(next!.userId);
  next!.begin();
}

const tooMany = (whose: string): AppError =>
  new AppError('too_many_requests', `Too many reads of history ${whose} at a time; try again in a moment.`, {
    headers: { 'Retry-After': RETRY_AFTER_S },
  });
