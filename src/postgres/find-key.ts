import type { Pool } from 'pg';
import type { KeyScope } from '../domain/api-key.ts';
import { GatheredLookup } from './gathered-lookup.ts';

/** A stored key of either kind. */
export interface KeyRecord {
  id: string;
  kind: 'admin' | 'application';
  prefix: string;
  /** SHA-256 of the body. */
  hash: Buffer;
  /** The user of an application key. */
  userId: string | null;
  /** The tenant of an application key, or the only tenant of an admin key; `null` for an admin key of all tenants. */
  tenantNo: number | null;
  active: boolean;
  /** `all` or `read` for admin keys. */
  scope: KeyScope;
  /** Expiry (epoch ms); `null` for never. */
  expiresMs: number | null;
  /** Application keys only: requests per second; 0 for no limit, `null` for the organisation's limit. */
  rateLimit: number | null;
  /** Last use (epoch ms), accurate to about a minute; `null` for never. */
  usedMs: number | null;
}

const KEYS = `SELECT id, 'admin' AS kind, prefix, hash, NULL AS "userId", tenant_no AS "tenantNo",
                  status = 'active' AS active, CASE access WHEN 'full' THEN 'all' ELSE access END AS scope,
                  NULL::float8 AS "expiresMs", NULL::integer AS "rateLimit", (extract(epoch FROM last_used) * 1000)::float8 AS "usedMs"
             FROM admin_keys WHERE prefix = ANY ($1)
           UNION ALL
           SELECT id, 'application', prefix, hash, user_id, tenant_no, true, scope,
                  (extract(epoch FROM expires_at) * 1000)::float8, rate_limit, (extract(epoch FROM last_used) * 1000)::float8
             FROM application_keys WHERE prefix = ANY ($1)`;

/** Keys of either kind with these prefixes; unknown prefixes are omitted. */
export async function findKeys(pool: Pool, prefixes: readonly string[]): Promise<KeyRecord[]> {
  const { rows } = await pool.query<KeyRecord>({ name: 'find-keys', text: KEYS, values: [prefixes] });
  return rows;
}

/** Finds keys of either kind by prefix, many per query. */
export const keyLookup = (pool: Pool): GatheredLookup<KeyRecord> =>
  new GatheredLookup(
    (prefixes) => findKeys(pool, prefixes),
    ({ prefix }) => prefix,
  );
