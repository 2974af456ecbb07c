import type { Pool } from 'pg';

export interface StoredUser {
  tenantNo: number;
  id: string;
  /** Packed, see `src/packed/state.ts`. */
  state: Buffer;
}

/**
 * Pages of all users of all tenants, in the order of tenant and ID. Each page is of its own moment. `tenants`: only of these, in
 * their order; null: of all.
 */
export async function* readUsers(
  pool: Pool,
  { pageSize, tenants }: { pageSize: number; tenants: readonly number[] | null },
): AsyncGenerator<StoredUser[]> {
  if (tenants === null) yield* pages(pageSize, readAfter(pool, pageSize));
  else for (const tenantNo of tenants) yield* pages(pageSize, readOfTenant(pool, tenantNo, pageSize));
}

type Read = (after: { tenantNo: number; id: string }) => Promise<StoredUser[]>;

const readAfter =
  (pool: Pool, pageSize: number): Read =>
  async ({ tenantNo, id }) => {
    const { rows } = await pool.query<StoredUser>({
      name: 'rebuild-users',
      text: `SELECT tenant_no AS "tenantNo", id, state FROM users
              WHERE (tenant_no, id) > ($1, $2) ORDER BY tenant_no, id LIMIT $3`,
      values: [tenantNo, id, pageSize],
    });
    return rows;
  };

const readOfTenant =
  (pool: Pool, tenantNo: number, pageSize: number): Read =>
  async ({ id }) => {
    const { rows } = await pool.query<StoredUser>({
      name: 'rebuild-users-of-tenant',
      text: `SELECT tenant_no AS "tenantNo", id, state FROM users
              WHERE tenant_no = $1 AND id > $2 ORDER BY id LIMIT $3`,
      values: [tenantNo, id, pageSize],
    });
    return rows;
  };

async function* pages(pageSize: number, read: Read): AsyncGenerator<StoredUser[]> {
  let page = await read({ tenantNo: -1, id: '' });
  while (page.length > 0) {
    // The next page is on its way while this one is worked on.
    const next = page.length < pageSize ? Promise.resolve([]) : read(page.at(-1)!);
    next.catch(() => undefined);
    yield page;
    page = await next;
  }
}

/** How many rows a table has, about: for reporting progress. */
export async function estimateRows(pool: Pool, table: 'users'): Promise<number> {
  const { rows } = await pool.query<{ estimate: number }>(
    'SELECT greatest(reltuples, 0)::float8 AS estimate FROM pg_class WHERE oid = $1::regclass',
    [table],
  );
  return rows[0]?.estimate ?? 0;
}
