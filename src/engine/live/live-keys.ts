import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { KeyRecord } from '../../postgres/find-key.ts';
import type { LiveGrant } from './grants.ts';

/** A key as streams hold on to it. */
export interface HeldKey {
  /** Tells it from the same prefix with another secret, user or scope. */
  digest: string;
  /** From when it is refused, epoch ms by Laurel's clock; null: never. */
  expiresMs: number | null;
}

/** Why a stream may not go on; null: it may. */
export type KeyProblem = 'key_revoked' | 'key_expired' | 'tenant_gone' | null;

/** The tenants as they are now, in memory. */
export interface LiveTenants {
  refresh(): Promise<void>;
  multiTenancy(): boolean;
  byNo(no: number): unknown;
}

/** Looks after the keys that streams were asked for with: a stream may see something as long as its key is good. */
export class LiveKeys {
  private readonly options: {
    findKeys(prefixes: readonly string[]): Promise<KeyRecord[]>;
    tenants: LiveTenants;
    clock: Clock;
  };

  constructor(options: LiveKeys['options']) {
    this.options = options;
  }

  /** The key of a grant as it is now; null: it is good no more, or the tenant is gone. Errors of Postgres. */
  async hold(grant: LiveGrant): Promise<HeldKey | null> {
    const [record] = await this.options.findKeys([grant.prefix]);
    if (record === undefined || !this.isOf(record, grant) || !this.hasTenant(grant)) return null;
    const held = heldKey(record);
    return this.hasExpired(held) ? null : held;
  }

  hasExpired({ expiresMs }: HeldKey): boolean {
    return expiresMs !== null && expiresMs <= this.options.clock.now();
  }

  /** What has become of the keys of streams, by the streams' place in the list. Errors of Postgres. */
  async check(streams: readonly { grant: LiveGrant; key: HeldKey }[]): Promise<KeyProblem[]> {
    const prefixes = [...new Set(streams.map(({ grant }) => grant.prefix))];
    const [records] = await Promise.all([this.options.findKeys(prefixes), this.options.tenants.refresh()]);
    const byPrefix = new Map(records.map((record) => [record.prefix, record]));
    return streams.map(({ grant, key }) => {
      const record = byPrefix.get(grant.prefix);
      if (record === undefined || !this.isOf(record, grant) || heldKey(record).digest !== key.digest)
        return 'key_revoked';
      if (this.hasExpired(heldKey(record))) return 'key_expired';
      return this.hasTenant(grant) ? null : 'tenant_gone';
    });
  }

  private isOf(record: KeyRecord, { kind, userId, tenantNo }: LiveGrant): boolean {
    if (!record.active || record.kind !== kind) return false;
    if (kind === 'application' && record.userId !== userId) return false;
    return record.tenantNo === null || record.tenantNo === tenantNo;
  }

  /** As of every request: the organisation's own tenant exactly while it is the only one. */
  private hasTenant({ tenantNo }: LiveGrant): boolean {
    const { tenants } = this.options;
    return tenants.multiTenancy() ? tenantNo !== 0 && tenants.byNo(tenantNo) !== undefined : tenantNo === 0;
  }
}

function heldKey({ id, hash, scope, expiresMs }: KeyRecord): HeldKey {
  const digest = createHash('sha256').update(id).update(hash).update(scope).digest('base64url').slice(0, 22);
  return { digest, expiresMs };
}
