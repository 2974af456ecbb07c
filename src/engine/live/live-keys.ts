import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { KeyRecord } from '../../postgres/access/keys.ts';
import type { LiveGrant } from './grants.ts';

/** A key as streams hold on to it. */
export interface HeldKey {
  /** Tells it from the same prefix with another secret, user or scope. */
  digest: string;
  /** From when it is refused, epoch ms by Laurel's clock; null: never. */
  expiresMs: number | null;
  /** When the session that stands for it is over, epoch ms by the machine's clock; null: the key itself was sent. */
  sessionEndsMs: number | null;
}

/** Why a stream may not go on; null: it may. `session_ended`: signed out, or over. */
export type KeyProblem = 'key_revoked' | 'tenant_gone' | Expiry;
type Expiry = 'key_expired' | 'session_ended' | null;

/** The tenants as they are now, in memory. */
export interface LiveTenants {
  refresh(): Promise<void>;
  /** Resolves when what was committed before the call is known, as far as can be. 503. */
  confirm(): Promise<void>;
  multiTenancy(): boolean;
  byNo(no: number): unknown;
}

/**
 * Looks after the keys that streams were asked for with, and the sessions that stood for them: a stream may see something as
 * long as these are good.
 */
export class LiveKeys {
  private readonly options: {
    findKeys(prefixes: readonly string[]): Promise<KeyRecord[]>;
    findSessionEnds(hashes: readonly string[]): Promise<Map<string, number>>;
    tenants: LiveTenants;
    clock: Clock;
  };

  constructor(options: LiveKeys['options']) {
    this.options = options;
  }

  /** The key of a grant as it is now; null: it, or the session that stood for it, is good no more, or the tenant is gone. Errors of Postgres. */
  async hold(grant: LiveGrant): Promise<HeldKey | null> {
    const { records, sessionEnds } = await this.find([grant]);
    const record = records.get(grant.prefix);
    if (record === undefined || !this.isOf(record, grant)) return null;
    // Another frontend gave the ticket: it may know the tenant already.
    if (!this.hasTenant(grant)) await this.options.tenants.confirm();
    if (!this.hasTenant(grant)) return null;
    const held = heldKey(record, sessionEndMs(grant, sessionEnds));
    return this.expiryOf(held) === null ? held : null;
  }

  /** What has ended by time alone; null: nothing. */
  expiryOf({ expiresMs, sessionEndsMs }: HeldKey): Expiry {
    if (expiresMs !== null && expiresMs <= this.options.clock.now()) return 'key_expired';
    return sessionEndsMs !== null && sessionEndsMs <= Date.now() ? 'session_ended' : null;
  }

  /** What has become of the keys and sessions of streams, by the streams' place in the list. Errors of Postgres. */
  async check(streams: readonly { grant: LiveGrant; key: HeldKey }[]): Promise<KeyProblem[]> {
    const grants = streams.map(({ grant }) => grant);
    const [{ records, sessionEnds }] = await Promise.all([this.find(grants), this.options.tenants.refresh()]);
    return streams.map(({ grant, key }) => {
      const record = records.get(grant.prefix);
      if (record === undefined || !this.isOf(record, grant)) return 'key_revoked';
      const held = heldKey(record, sessionEndMs(grant, sessionEnds));
      if (held.digest !== key.digest) return 'key_revoked';
      return this.expiryOf(held) ?? (this.hasTenant(grant) ? null : 'tenant_gone');
    });
  }

  private async find(
    grants: readonly LiveGrant[],
  ): Promise<{ records: Map<string, KeyRecord>; sessionEnds: Map<string, number> }> {
    const prefixes = new Set(grants.map(({ prefix }) => prefix));
    const signIns = new Set(grants.flatMap(({ signIn = [] }) => signIn));
    const [records, sessionEnds] = await Promise.all([
      this.options.findKeys([...prefixes]),
      signIns.size === 0 ? new Map<string, number>() : this.options.findSessionEnds([...signIns]),
    ]);
    return { records: new Map(records.map((record) => [record.prefix, record])), sessionEnds };
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

/** When the session of a grant is over: one that is not found has been over for ever. Null: it has none. */
const sessionEndMs = ({ signIn }: LiveGrant, ends: ReadonlyMap<string, number>): number | null =>
  signIn === undefined ? null : (ends.get(signIn) ?? 0);

function heldKey({ id, hash, scope, expiresMs }: KeyRecord, sessionEndsMs: number | null): HeldKey {
  const digest = createHash('sha256').update(id).update(hash).update(scope).digest('base64url').slice(0, 22);
  return { digest, expiresMs, sessionEndsMs };
}
