import type { Pool } from 'pg';
import { v7 as uuid } from 'uuid';
import type { Clock } from '../../clock.ts';
import { leaseWebhooks, releaseLeases, renewLeases, webhookTargets } from '../../postgres/webhooks/leases.ts';
import { Endpoint } from './endpoint.ts';

export interface HeldWebhooksOptions {
  pool: Pool;
  clock: Clock;
  /** How long a lease lasts unless it is renewed; ms. */
  leaseMs?: number | undefined;
  /** How long a breaker is open for the first time; ms. */
  firstPauseMs?: number | undefined;
}

const LEASE_MS = 10_000;
const FIRST_PAUSE_MS = 30_000;
/** How old what is known of targets may be: a previous secret ends by itself. */
const TARGETS_MS = 60_000;
/** Webhooks that one process holds. */
const MOST_HELD = 20_000;

/** The webhooks that this process holds leases of. Times are of `performance.now()`. */
export class HeldWebhooks {
  private readonly pool: Pool;
  private readonly clock: Clock;
  private readonly leaseMs: number;
  private readonly firstPauseMs: number;
  /** How its leases are named. */
  readonly holder = uuid();
  private readonly held = new Map<string, Endpoint>();
  private renewAtMs = 0;
  private targetsAtMs = 0;

  constructor({ pool, clock, leaseMs = LEASE_MS, firstPauseMs = FIRST_PAUSE_MS }: HeldWebhooksOptions) {
    this.pool = pool;
    this.clock = clock;
    this.leaseMs = leaseMs;
    this.firstPauseMs = firstPauseMs;
  }

  all(): IterableIterator<Endpoint> {
    return this.held.values();
  }

  get(webhookId: string): Endpoint | undefined {
    return this.held.get(webhookId);
  }

  /** When leases are to be renewed next. */
  get nextMs(): number {
    return this.held.size === 0 ? Infinity : this.renewAtMs;
  }

  /** What is known of the targets is read again by the next `keep`. */
  targetsChanged(): void {
    this.targetsAtMs = 0;
  }

  /** Takes leases of what has something due. Everything that is held is asked for more messages afterwards. */
  async lease(): Promise<void> {
    const { holder, leaseMs } = this;
    const most = Math.max(0, MOST_HELD - this.held.size);
    const heldUntilMs = this.untilMs();
    const leased = await leaseWebhooks(this.pool, { holder, nowMs: this.clock.now(), leaseMs, most });
    const added: Endpoint[] = [];
    for (const each of leased) {
      const known = this.held.get(each.webhookId);
      const endpoint = known ?? new Endpoint(each, this.firstPauseMs);
      endpoint.heldUntilMs = heldUntilMs;
      this.held.set(each.webhookId, endpoint);
      if (known === undefined) added.push(endpoint);
    }
    for (const endpoint of this.held.values()) endpoint.mayHaveMore = true;
    await this.loadTargets(added);
  }

  /** Renews leases and reads targets again where it is time to; gives back what is not needed. */
  async keep(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs >= this.renewAtMs) await this.renew(nowMs);
    if (nowMs >= this.targetsAtMs) {
      await this.loadTargets([...this.held.values()]);
      this.targetsAtMs = nowMs + TARGETS_MS;
    }
  }

  /** Gives all leases back. */
  async releaseAll(): Promise<void> {
    await releaseLeases(this.pool, this.holder, [...this.held.keys()]);
    this.held.clear();
  }

  private async renew(nowMs: number): Promise<void> {
    const needless = [...this.held.values()].filter((endpoint) => endpoint.isNeedless(nowMs));
    if (needless.length > 0) {
      for (const { webhookId } of needless) this.held.delete(webhookId);
      await releaseLeases(
        this.pool,
        this.holder,
        needless.map(({ webhookId }) => webhookId),
      );
    }
    if (this.held.size > 0) {
      const heldUntilMs = this.untilMs();
      const renewed = await renewLeases(this.pool, this.holder, this.leaseMs);
      for (const endpoint of this.held.values()) {
        if (renewed.has(endpoint.webhookId)) endpoint.heldUntilMs = heldUntilMs;
        else this.abandon(endpoint);
      }
    }
    this.renewAtMs = nowMs + this.leaseMs / 3;
  }

  /** Another process has its lease. */
  private abandon(endpoint: Endpoint): void {
    endpoint.target = null;
    endpoint.forget();
    this.held.delete(endpoint.webhookId);
  }

  /** A little earlier than Postgres takes it for, which begins to count later. */
  private untilMs(): number {
    return performance.now() + this.leaseMs * 0.9;
  }

  private async loadTargets(endpoints: readonly Endpoint[]): Promise<void> {
    if (endpoints.length === 0) return;
    const ids = endpoints.map(({ webhookId }) => webhookId);
    const targets = await webhookTargets(this.pool, ids, this.clock.now()).catch((error: unknown) => {
      this.targetsChanged();
      throw error;
    });
    for (const endpoint of endpoints) {
      endpoint.target = targets.get(endpoint.webhookId) ?? null;
      if (endpoint.target === null) endpoint.forget();
    }
  }
}
