import type { Pool } from 'pg';

export interface StoredUser {
  tenantNo: number;
  id: string;
  /** Packed, see `src/packed/state.ts`. */
  state: Buffer;
}

/** Pages of all users of all tenants, in the order of tenant and ID. Each page is of its own moment. */
export async function* readUsers(pool: Pool, pageSize: number): AsyncGenerator<StoredUser[]> {
  const read = async (tenantNo: number, id: string): Promise<StoredUser[]> => {
    const { rows } = await pool.query<StoredUser>({
      name: 'rebuild-users',
      text: `SELECT tenant_no AS "tenantNo", id, state FROM users
              WHERE (tenant_no, id) > ($1, $2) ORDER BY tenant_no, id LIMIT $3`,
      values: [tenantNo, id, pageSize],
    });
    return rows;
  };
  let page = await read(-1, '');
  while (page.length > 0) {
    const last = page.at(-1)!;
    // The next page is on its way while this one is worked on.
    const next = page.length < pageSize ? Promise.resolve([]) : read(last.tenantNo, last.id);
    next.catch(() => undefined);
    yield page;
    page = await next;
  }
}

/** How many rows a table has, about: for reporting progress. */
export async function estimateRows(pool: Pool, table: 'users' | 'events'): Promise<number> {
  const { rows } = await pool.query<{ estimate: number }>(
    'SELECT greatest(reltuples, 0)::float8 AS estimate FROM pg_class WHERE oid = $1::regclass',
    [table],
  );
  return rows[0]?.estimate ?? 0;
}
