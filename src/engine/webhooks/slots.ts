import type { Endpoint } from './endpoint.ts';

/** What a tenant has of the slots, and which of its webhooks wait for one: since when (`performance.now()`), the longest first. */
interface TenantSlots {
  taken: number;
  failing: number;
  readonly waiting: Map<Endpoint, number>;
}

/** Of the slots so many, that a tenant has left, are for webhooks that have nothing under way; and so many for those that fail. */
const FOR_IDLE = 1 / 8;
const FOR_FAILING = 1 / 2;

/**
 * The tries that a process may have under way, shared between tenants and their webhooks. A tenant may hold as many slots as are
 * free: alone half of them, a second one half of what that leaves, and so on, so that some stay free for a tenant that has
 * none, however long the tries of others take. Shares become equal as slots are given back. The last slots of a tenant's share
 * are for webhooks that have none. Those whose last try failed share half of all slots likewise.
 */
export class Slots {
  private readonly most: number;
  private readonly tenants = new Map<number, TenantSlots>();
  private all = 0;
  private failing = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Slots that are taken. */
  get taken(): number {
    return this.all;
  }

  /** Whether a webhook may have one more. */
  isOpenTo({ tenantNo, lanes, health }: Endpoint): boolean {
    const tenant = this.tenants.get(tenantNo);
    const left = this.most - this.all - (tenant?.taken ?? 0);
    if (left <= (lanes.inFlight > 0 ? this.most * FOR_IDLE : 0)) return false;
    return health.failures === 0 || this.most * FOR_FAILING - this.failing > (tenant?.failing ?? 0);
  }

  /** Takes a slot, which `release` gives back with the same `failing`: whether the webhook's last try failed. */
  take({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, 1, failing);
  }

  release({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, -1, failing);
    this.tidy(tenantNo);
  }

  /** Has a webhook wait for a slot; one that waits keeps its place. */
  wait(endpoint: Endpoint): void {
    const { waiting } = this.tenant(endpoint.tenantNo);
    if (!waiting.has(endpoint)) waiting.set(endpoint, performance.now());
  }

  /** The webhook that has waited longest of those that may have a slot now; it waits no longer. Null: none may. */
  next(): Endpoint | null {
    let longest: { endpoint: Endpoint; sinceMs: number } | null = null;
    for (const { waiting, taken } of this.tenants.values()) {
      if (taken >= this.most - this.all) continue;
      for (const [endpoint, sinceMs] of waiting) {
        if (longest !== null && sinceMs >= longest.sinceMs) break;
        if (!this.isOpenTo(endpoint)) continue;
        longest = { endpoint, sinceMs };
        break;
      }
    }
    if (longest === null) return null;
    const { endpoint } = longest;
    this.tenant(endpoint.tenantNo).waiting.delete(endpoint);
    this.tidy(endpoint.tenantNo);
    return endpoint;
  }

  private tenant(tenantNo: number): TenantSlots {
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) this.tenants.set(tenantNo, (tenant = { taken: 0, failing: 0, waiting: new Map() }));
    return tenant;
  }

  private add(tenantNo: number, slots: 1 | -1, failing: boolean): void {
    const tenant = this.tenant(tenantNo);
    tenant.taken += slots;
    this.all += slots;
    if (!failing) return;
    tenant.failing += slots;
    this.failing += slots;
  }

  private tidy(tenantNo: number): void {
    const { taken, waiting } = this.tenant(tenantNo);
    if (taken === 0 && waiting.size === 0) this.tenants.delete(tenantNo);
  }
}
