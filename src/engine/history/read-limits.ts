import { AppError } from '../../errors.ts';
import { inOwnTurn } from '../../turns.ts';

/** One, because it occupies a core of Postgres. */
const MOST_OF_USER = 1;
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
  running: number;
  /** By user. */
  runningOf: Map<string, number>;
  waiting: WaitingRead[];
}

/** Limits concurrent history reads by user and tenant. A few wait up to a second; others are answered 429. */
export class ReadLimits {
  private readonly tenants = new Map<number, TenantReads>();

  /** Reads when the user's turn comes. Throws 429 if too many reads wait, or if the turn does not come within a second. */
  async run<T>(tenantNo: number, userId: string, read: () => Promise<T>): Promise<T> {
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) this.tenants.set(tenantNo, (tenant = { running: 0, runningOf: new Map(), waiting: [] }));
    if (mayBegin(tenant, userId)) begun(tenant, userId);
    else await inOwnTurn(turn(tenant, userId));
    try {
      return await read();
    } finally {
      ended(tenant, userId);
      if (tenant.running === 0 && tenant.waiting.length === 0) this.tenants.delete(tenantNo);
    }
  }
}

const mayBegin = ({ running, runningOf }: TenantReads, userId: string): boolean =>
  running < MOST_OF_TENANT && (runningOf.get(userId) ?? 0) < MOST_OF_USER;

function begun(tenant: TenantReads, userId: string): void {
  tenant.running += 1;
  tenant.runningOf.set(userId, (tenant.runningOf.get(userId) ?? 0) + 1);
}

/** Resolves when the read may start. */
function turn(tenant: TenantReads, userId: string): Promise<void> {
  const { waiting } = tenant;
  const own = waiting.filter((other) => other.userId === userId).length;
  if (own >= MOST_WAITING_OF_USER) throw tooMany('of this user');
  if (waiting.length >= MOST_WAITING_OF_TENANT) throw tooMany('in this tenant');
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(read), 1);
      reject(tooMany((tenant.runningOf.get(userId) ?? 0) < MOST_OF_USER ? 'in this tenant' : 'of this user'));
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
  tenant.running -= 1;
  const left = tenant.runningOf.get(userId)! - 1;
  if (left === 0) tenant.runningOf.delete(userId);
  else tenant.runningOf.set(userId, left);
  const next = fairest(tenant);
  if (next === null) return;
  tenant.waiting.splice(tenant.waiting.indexOf(next), 1);
  begun(tenant, next.userId);
  next.begin();
}

/** Of the reads that may start, the one whose user has the fewest running reads; then the oldest. */
function fairest(tenant: TenantReads): WaitingRead | null {
  let best: WaitingRead | null = null;
  let fewest = Infinity;
  for (const read of tenant.waiting) {
    const running = tenant.runningOf.get(read.userId) ?? 0;
    if (running < fewest && mayBegin(tenant, read.userId)) [best, fewest] = [read, running];
  }
  return best;
}

const tooMany = (whose: string): AppError =>
  new AppError('too_many_requests', `Too many reads of history ${whose} at a time; try again in a moment.`, {
    headers: { 'Retry-After': RETRY_AFTER_S },
  });
