import { createHash } from 'node:crypto';
import { type Clock, systemClock } from '../../clock.ts';
import type { KeyRecord } from '../../postgres/access/keys.ts';
import type { LiveGrant } from './stream-grants.ts';

export interface HeldKey {
  /** Distinguishes it from a key with the same prefix and another secret, user or scope. */
  digest: string;
  /** When it expires, in epoch ms of Laurel's clock; `null` for never. */
  expiresMs: number | null;
  /** When the console session expires, in epoch ms of the machine's clock; `null` if the key itself was sent. */
  sessionEndsMs: number | null;
}

/** Why a stream must end; `null` if it may go on. `session_ended`: signed out or expired. */
export type KeyProblem = 'key_revoked' | 'tenant_gone' | Expiry;
type Expiry = 'key_expired' | 'session_ended' | null;

export interface LiveTenants {
  refresh(): Promise<void>;
  /** Resolves when everything committed before the call is known, as far as possible. Rejects with 503. */
  confirm(): Promise<void>;
  multiTenancy(): boolean;
  byNo(no: number): unknown;
}

/** Checks the keys and console sessions behind streams. A stream goes on only as long as they are valid. */
export function createLiveKeys(options: {
  findKeys: (prefixes: readonly string[]) => Promise<KeyRecord[]>;
  findSessionEnds: (hashes: readonly string[]) => Promise<Map<string, number>>;
  tenants: LiveTenants;
  clock: Clock;
}) {
  const { tenants, clock, findKeys, findSessionEnds } = options;
  /** The current key of a grant; `null` if the key, the session or the tenant is no longer valid. Throws errors of Postgres. */
  async function hold(grant: LiveGrant): Promise<HeldKey | null> {
    const { records, sessionEnds } = await find([grant]);
    const record = records.get(grant.prefix);
    if (record === undefined || !isOf(record, grant)) return null;
    // Another frontend, which made the ticket, may know the tenant earlier.
    if (!hasTenant(grant)) await tenants.confirm();
    if (!hasTenant(grant)) return null;
    const key = heldKey(record, sessionEndMs(grant, sessionEnds));
    return expiryOf(key) === null ? key : null;
  }

  /** What has expired by time alone; `null` if nothing has. */
  function expiryOf({ expiresMs, sessionEndsMs }: HeldKey): Expiry {
    if (expiresMs !== null && expiresMs <= clock.now()) return 'key_expired';
    return sessionEndsMs !== null && sessionEndsMs <= systemClock.now() ? 'session_ended' : null;
  }

  /** The problem of each stream's key or session, in the order of the streams. Throws errors of Postgres. */
  async function check(streams: readonly { grant: LiveGrant; key: HeldKey }[]): Promise<KeyProblem[]> {
    const grants = streams.map(({ grant }) => grant);
    const [{ records, sessionEnds }] = await Promise.all([find(grants), tenants.refresh()]);
    return streams.map(({ grant, key }) => {
      const record = records.get(grant.prefix);
      if (record === undefined || !isOf(record, grant)) return 'key_revoked';
      const current = heldKey(record, sessionEndMs(grant, sessionEnds));
      if (current.digest !== key.digest) return 'key_revoked';
      return expiryOf(current) ?? (hasTenant(grant) ? null : 'tenant_gone');
    });
  }

  async function find(
    grants: readonly LiveGrant[],
  ): Promise<{ records: Map<string, KeyRecord>; sessionEnds: Map<string, number> }> {
    const prefixes = new Set(grants.map(({ prefix }) => prefix));
    const signIns = new Set(grants.flatMap(({ signIn = [] }) => signIn));
    const [records, sessionEnds] = await Promise.all([
      findKeys([...prefixes]),
      signIns.size === 0 ? new Map<string, number>() : findSessionEnds([...signIns]),
    ]);
    return { records: new Map(records.map((record) => [record.prefix, record])), sessionEnds };
  }

  function isOf(record: KeyRecord, { kind, userId, tenantNo }: LiveGrant): boolean {
    if (!record.active || record.kind !== kind) return false;
    if (kind === 'application' && record.userId !== userId) return false;
    return record.tenantNo === null || record.tenantNo === tenantNo;
  }

  /** The same rule as for requests: the organisation's own tenant exists exactly while it is the only one. */
  function hasTenant({ tenantNo }: LiveGrant): boolean {
    return tenants.multiTenancy() ? tenantNo !== 0 && tenants.byNo(tenantNo) !== undefined : tenantNo === 0;
  }

  return { hold, expiryOf, check };
}

export type LiveKeys = ReturnType<typeof createLiveKeys>;

/** When a grant's session expires; 0 if the session does not exist. `null` if the grant has no session. */
const sessionEndMs = ({ signIn }: LiveGrant, ends: ReadonlyMap<string, number>): number | null =>
  signIn === undefined ? null : (ends.get(signIn) ?? 0);

function heldKey({ id, hash, scope, expiresMs }: KeyRecord, sessionEndsMs: number | null): HeldKey {
  const digest = createHash('sha256').update(id).update(hash).update(scope).digest('base64url').slice(0, 22);
  return { digest, expiresMs, sessionEndsMs };
}
