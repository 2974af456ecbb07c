import type { Pool } from 'pg';
import type { KeyScope } from '../domain/api-key.ts';
import { GatheredLookup } from './gathered-lookup.ts';

/** What is stored of a key of either kind. */
export interface KeyRecord {
  id: string;
  kind: 'admin' | 'application';
  prefix: string;
  /** SHA-256 of the body. */
  hash: Buffer;
  /** The one user of an application key. */
  userId: string | null;
  /** The tenant an application key was made under, or the one tenant of an admin key; null: an admin key of all. */
  tenantNo: number | null;
  active: boolean;
  /** Of an admin key `all` or `read`. */
  scope: KeyScope;
  /** From when it is refused, epoch ms; null: never. */
  expiresMs: number | null;
  /** Of an application key, requests a second; 0: any number; null: as many as the organisation allows. */
  rateLimit: number | null;
  /** When it was last used, epoch ms, to the minute or so; null: never. */
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

/** The keys with these prefixes, of either kind; unknown prefixes are left out. */
export async function findKeys(pool: Pool, prefixes: readonly string[]): Promise<KeyRecord[]> {
  const { rows } = await pool.query<KeyRecord>({ name: 'find-keys', text: KEYS, values: [prefixes] });
  return rows;
}

/** Finds keys of either kind by prefix, many in one query. */
export const keyLookup = (pool: Pool): GatheredLookup<KeyRecord> =>
  new GatheredLookup(
    (prefixes) => findKeys(pool, prefixes),
    ({ prefix }) => prefix,
  );
