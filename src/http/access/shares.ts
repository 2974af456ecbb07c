import { AppError, retryAfter } from '../../errors.ts';
import { NOBODY, type Caller } from '../../operations/operation.ts';
import { Bill, type Cost, Lane, TenantLanes } from '../../pacing/turns.ts';
import type { LimitOf } from './rate-limit.ts';

/** A user who may send `perSecond` requests gets `share` of the process's time; with a higher limit more, up to `most`. */
const USER = { share: 0.05, perSecond: 50, most: 0.5 };
/** Time that a user may use at once after a pause, and the most that it can owe. */
const USER_TIME = { burstMs: 500, debtMs: 3_000 };
/**
 * Requests of a user that run at a time: so many may exceed the share before it is noticed. A user that has used more than
 * `mostMs` in advance has one, because several would occupy the event loop, Redis and Postgres together, and so all cores.
 */
const USER_RUNNING = { most: 4, mostMs: 100 };
/** A user that has used more in advance pauses between its turns: meanwhile, events of others find the event loop free. */
const PAUSES_FROM_MS = 10;
const USER_WAITING = 100;

const TENANT_SHARE = 0.5;
const TENANT_TIME = { burstMs: 500, debtMs: 1_000 };
const TENANT_WAITING = 1_000;

/** How long after a request of another tenant a tenant does not have the process to itself. */
const SHARED_MS = 1_000;

/** One event in so many is measured, and counts for all of them: looking up accounts would cost each half a percent. */
const MEASURED = 8;

/** How long an account is kept without use, at least: longer than it takes to pay the largest debt. */
const KEPT_MS = USER_TIME.debtMs / USER.share;

/** The first requests of an operation compile its schemas and load its code, which is not charged to their sender. */
const FREE = 5;

/** An operation, as far as it is charged. */
export interface Charged {
  cost: Cost;
  /** How many of its requests got a bill. */
  billed: number;
}

/** A request would exceed the share of its user or tenant: 429. */
export class OverShare extends AppError {
  constructor(message: string, waitMs: number) {
    super('too_many_requests', message, { headers: retryAfter(waitMs) });
  }
}

/** A share of the process's time, and what was used of it: the time until which the use so far is paid for. */
class Payer {
  private readonly share: number;
  private readonly burstMs: number;
  private readonly mostMs: number;
  private paidUntilMs = -Infinity;

  constructor(share: number, { burstMs, debtMs }: { burstMs: number; debtMs: number }) {
    this.share = share;
    this.burstMs = burstMs / share;
    this.mostMs = debtMs / share;
  }

  charge(ms: number, nowMs: number): void {
    this.paidUntilMs = Math.min(Math.max(this.paidUntilMs, nowMs) + ms / this.share, nowMs + this.mostMs);
  }

  /** The time that was used and is not paid for yet. */
  usedMs(nowMs: number): number {
    return Math.max(0, this.paidUntilMs - nowMs) * this.share;
  }

  /** How long until there is time to use again; not positive if there is. */
  waitMs(nowMs: number): number {
    return this.paidUntilMs - nowMs - this.burstMs;
  }
}

class TenantAccount {
  readonly payer = new Payer(TENANT_SHARE, TENANT_TIME);
  readonly lanes: TenantLanes;

  constructor(isOverShare: (payer: Payer) => boolean) {
    this.lanes = new TenantLanes(() => isOverShare(this.payer));
  }
}

/** What a user's keys, or an admin key in a tenant, use of the process. */
export class Account {
  readonly tenant: TenantAccount;
  readonly lane: Lane;
  /** `null`: only the tenant's share limits it. */
  private readonly payer: Payer | null;
  private readonly nowMs: () => number;

  /** `share`: of a user; `null` for an admin key, or an application key without a rate limit. */
  constructor(tenant: TenantAccount, share: number | null, nowMs: () => number) {
    this.tenant = tenant;
    this.payer = share === null ? null : new Payer(share, USER_TIME);
    this.nowMs = nowMs;
    this.lane = new Lane(tenant.lanes, {
      isOfUser: share !== null,
      most: () => this.mostRunning(),
      isCostly: () => this.usedMs > PAUSES_FROM_MS,
    });
  }

  /** The time that a user has used in advance. */
  private get usedMs(): number {
    return this.payer?.usedMs(this.nowMs()) ?? 0;
  }

  private mostRunning(): number {
    if (this.payer === null) return Infinity;
    return this.usedMs > USER_RUNNING.mostMs ? 1 : USER_RUNNING.most;
  }

  /** The bill of a request. */
  bill(operation: Charged): Bill {
    operation.billed += 1;
    return operation.billed > FREE
      ? new Bill(this.lane, operation.cost, this.charge, this.chargeUser)
      : new Bill(this.lane, operation.cost, () => undefined);
  }

  readonly charge = (ms: number): void => {
    const nowMs = this.nowMs();
    this.payer?.charge(ms, nowMs);
    this.tenant.payer.charge(ms, nowMs);
  };

  /** Charges the user alone: for what others do not wait for in this process, but in workers and Postgres. */
  readonly chargeUser = (ms: number): void => this.payer?.charge(ms, this.nowMs());

  /** How long until the user has time to use again; not positive if it has. */
  private get waitMs(): number {
    return this.payer?.waitMs(this.nowMs()) ?? 0;
  }

  /** Whether the user has used up its share. */
  get isOverShare(): boolean {
    return this.waitMs > 0;
  }

  /** Throws 429 if the user has used up its share. */
  requireTime(): void {
    const { waitMs } = this;
    if (waitMs > 0)
      throw new OverShare(
        'Earlier requests of this user took too much time; try again after the time in Retry-After',
        waitMs,
      );
  }

  /** Throws 429 if too many requests wait for their start, or the user has used up its share. */
  requireRoom(): void {
    this.requireTime();
    if (this.lane.waiting >= (this.payer === null ? TENANT_WAITING : USER_WAITING))
      throw new OverShare('Too many requests wait for their turn; try again in a moment', SHARED_MS);
  }
}

/**
 * Accounts of all callers. Each process has its own, so several processes together serve that much more. A user's share holds
 * always; the tenant's only while other tenants send requests, too.
 */
export class Shares {
  private readonly limitOf: LimitOf;
  private readonly nowMs: () => number;
  private readonly tenants = new Map<number, TenantAccount>();
  private accounts = new Map<string, Account>();
  private before = new Map<string, Account>();
  /** Of users whose events used up their share: others' events do not look up an account. */
  private readonly overByEvents = new Map<string, Account>();
  private sinceMs: number;
  private latestTenantNo = -1;
  private sharedUntilMs = -Infinity;
  private unmeasured = 0;

  /** `nowMs`: the machine's time, not the test clock's, with any origin. */
  constructor({ limitOf, nowMs = () => performance.now() }: { limitOf: LimitOf; nowMs?: () => number }) {
    this.limitOf = limitOf;
    this.nowMs = nowMs;
    this.sinceMs = nowMs();
  }

  /** The account of a caller's requests about a tenant. */
  of(caller: Caller, tenantNo: number): Account {
    const { name, perSecond } = this.limitOf(caller);
    const key = caller.kind === 'admin' ? `${name}@${tenantNo}` : name;
    const nowMs = this.nowMs();
    if (nowMs - this.sinceMs > KEPT_MS) this.forget(nowMs);
    let account = this.accounts.get(key) ?? this.before.get(key);
    if (account === undefined) {
      const isUser = caller.kind === 'application' && caller !== NOBODY && perSecond > 0;
      const share = isUser ? Math.min(USER.most, USER.share * Math.max(1, perSecond / USER.perSecond)) : null;
      account = new Account(this.tenantOf(tenantNo), share, this.nowMs);
    }
    this.accounts.set(key, account);
    return account;
  }

  /** Notes a request about a tenant at `atMs`, which decides whether tenants have the process to themselves. */
  note(tenantNo: number, atMs: number): void {
    if (tenantNo === this.latestTenantNo) return;
    this.latestTenantNo = tenantNo;
    this.sharedUntilMs = atMs + SHARED_MS;
  }

  /**
   * Whether an event may run at once: the tenant is within its share, or has the process to itself, and the caller's events did not use
   * up the user's share.
   */
  isAtOnce(caller: Caller, tenantNo: number, atMs: number): boolean {
    return !this.isOver(this.tenantOf(tenantNo).payer, atMs) && (this.overByEvents.size === 0 || this.mayGoOn(caller));
  }

  /** Charges a caller for an event that cost much more than the usual. */
  chargeEvent(caller: Caller, tenantNo: number, ms: number): void {
    const account = this.of(caller, tenantNo);
    account.chargeUser(ms);
    if (account.isOverShare) this.overByEvents.set(this.limitOf(caller).name, account);
  }

  private mayGoOn(caller: Caller): boolean {
    const { name } = this.limitOf(caller);
    if (this.overByEvents.get(name)?.isOverShare === true) return false;
    this.overByEvents.delete(name);
    return true;
  }

  /** Whether a tenant has used more than its share, and does not have the process to itself. */
  private isOver(payer: Payer, nowMs: number): boolean {
    return nowMs <= this.sharedUntilMs && payer.waitMs(nowMs) > 0;
  }

  /** For how many events the next one is measured; 0: not at all. */
  measures(): number {
    this.unmeasured += 1;
    if (this.unmeasured < MEASURED) return 0;
    this.unmeasured = 0;
    return MEASURED;
  }

  private tenantOf(tenantNo: number): TenantAccount {
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) {
      tenant = new TenantAccount((payer) => this.isOver(payer, this.nowMs()));
      this.tenants.set(tenantNo, tenant);
    }
    return tenant;
  }

  private forget(nowMs: number): void {
    for (const [key, account] of this.before) if (!account.lane.isIdle) this.accounts.set(key, account);
    for (const [name, { isOverShare }] of this.overByEvents) if (!isOverShare) this.overByEvents.delete(name);
    this.before = this.accounts;
    this.accounts = new Map();
    this.sinceMs = nowMs;
  }
}
