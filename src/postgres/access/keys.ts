import { hash, randomBytes, randomInt } from 'node:crypto';
import type { Pool } from 'pg';
import type { KeyScope } from '../../domain/administration/author.ts';

/** A key before it is stored. `key`, shown once, is `<prefix>.<body>`. */
export interface NewKey {
  prefix: string;
  key: string;
  /** The secret part of `key`. */
  body: string;
  /** SHA-256 of the body. */
  hash: Buffer;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const PREFIX_LETTERS = 8;
const BODY_BYTES = 32;

/** The stored hash of a key's secret part. A plain hash suffices, because the body has 256 random bits. */
export const keyHash = (body: string): Buffer => hash('sha256', body, 'buffer');

export function newKey(kind: 'app' | 'adm'): NewKey {
  const letters = Array.from({ length: PREFIX_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]);
  const prefix = `${kind}_${letters.join('')}`;
  const body = randomBytes(BODY_BYTES).toString('base64url');
  return { prefix, key: `${prefix}.${body}`, body, hash: keyHash(body) };
}

/** Concurrent queries, and most names per query. */
const QUERIES = 2;
const NAMES_A_QUERY = 500;

interface Lookup<Found> {
  name: string;
  resolve: (found: Found | null) => void;
  reject: (error: unknown) => void;
}

/** Looks up names, many per query, so that a flood of unknown keys costs Postgres little. */
export class GatheredLookup<Found> {
  private readonly findAll: (names: readonly string[]) => Promise<readonly Found[]>;
  private readonly nameOf: (found: Found) => string;
  private waiting: Lookup<Found>[] = [];
  private underWay = 0;

  /** @param findAll returns those of the names that exist */
  constructor(findAll: (names: readonly string[]) => Promise<readonly Found[]>, nameOf: (found: Found) => string) {
    this.findAll = findAll;
    this.nameOf = nameOf;
  }

  /** `null` if the name does not exist. */
  find(name: string): Promise<Found | null> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, resolve, reject });
      if (this.underWay < QUERIES) void this.query();
    });
  }

  private async query(): Promise<void> {
    this.underWay += 1;
    const lookups = this.waiting.splice(0, NAMES_A_QUERY);
    try {
      const all = await this.findAll(lookups.map(({ name }) => name));
      const byName = new Map(all.map((one) => [this.nameOf(one), one]));
      for (const { name, resolve } of lookups) resolve(byName.get(name) ?? null);
    } catch (error) {
      for (const { reject } of [...lookups, ...this.waiting.splice(0)]) reject(error);
    }
    this.underWay -= 1;
    if (this.waiting.length > 0) void this.query();
  }
}

export interface KeyRecord {
  id: string;
  kind: 'admin' | 'application';
  prefix: string;
  hash: Buffer;
  userId: string | null;
  /** Users who were merged into the user of an application key; `null` or absent for none. */
  formerUserIds?: string[] | null;
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

const KEYS = `SELECT id, 'admin' AS kind, prefix, hash, NULL AS "userId", NULL::text[] AS "formerUserIds", tenant_no AS "tenantNo",
                  status = 'active' AS active, CASE access WHEN 'full' THEN 'all' ELSE access END AS scope,
                  NULL::float8 AS "expiresMs", NULL::integer AS "rateLimit", (extract(epoch FROM last_used) * 1000)::float8 AS "usedMs"
             FROM admin_keys WHERE prefix = ANY ($1)
           UNION ALL
           SELECT id, 'application', prefix, hash, user_id,
                  (SELECT array_agg(old_id) FROM user_merges AS merge
                    WHERE merge.tenant_no = key.tenant_no AND merge.user_id = key.user_id), tenant_no, true, scope,
                  (extract(epoch FROM expires_at) * 1000)::float8, rate_limit, (extract(epoch FROM last_used) * 1000)::float8
             FROM application_keys AS key WHERE prefix = ANY ($1)`;

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

const TABLES = { admin: 'admin_keys', application: 'application_keys' } as const;
type Kind = keyof typeof TABLES;

const WAIT_MS = 250;
/** Most keys that wait. The uses of further keys are ignored until these are written. */
const MOST = 10_000;

/** Writes when keys were last used, together for a quarter of a second. A use that fails is forgotten. */
export class KeyUses {
  private readonly pool: Pool;
  private waiting: Record<Kind, Map<string, number>> = { admin: new Map(), application: new Map() };
  private timer: NodeJS.Timeout | null = null;

  constructor(pool: Pool) {
    this.pool = pool;
  }

  /** Records a use, to be written soon. `atMs`: epoch ms. Costs one entry of a map. */
  note({ kind, id }: Pick<KeyRecord, 'kind' | 'id'>, atMs: number): void {
    const waiting = this.waiting[kind];
    if (waiting.size >= MOST && !waiting.has(id)) return;
    waiting.set(id, atMs);
    this.timer ??= setTimeout(() => void this.flush(), WAIT_MS).unref();
  }

  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const { waiting } = this;
    this.waiting = { admin: new Map(), application: new Map() };
    const kinds = Object.keys(TABLES) as Kind[];
    await Promise.all(kinds.map((kind) => this.write(kind, waiting[kind]).catch(() => undefined)));
  }

  /** Skips rows that another process is writing, which prevents deadlocks. */
  private async write(kind: Kind, uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return;
    const table = TABLES[kind];
    await this.pool.query(
      `WITH free AS (SELECT id FROM ${table} WHERE id = ANY($1::uuid[]) FOR NO KEY UPDATE SKIP LOCKED)
       UPDATE ${table} AS key SET last_used = greatest(key.last_used, to_timestamp(used.at_ms / 1000))
         FROM free JOIN unnest($1::uuid[], $2::float8[]) AS used (id, at_ms) USING (id) WHERE key.id = free.id`,
      [[...uses.keys()], [...uses.values()]],
    );
  }
}

/** SQL: whether a key can create others. Without such a key, nobody could ever create one again. */
export const CAN_CREATE_KEYS = `status = 'active' AND access = 'full' AND tenant_no IS NULL`;
