import type { Pool, PoolClient } from 'pg';

/**
 * Tells every process what changed, after the commit: `<tenant no>:<version>` for a catalog, `*` for keys,
 * tenants or the organisation. Never rejects: the counters in `organisation` show it to processes that missed it.
 */
export type Announce = (message: string) => Promise<void>;

/** Counts a change of the organisation, its tenants or keys, for those who miss its announcement. */
export const countRevision = (client: Pool | PoolClient): Promise<unknown> =>
  client.query('UPDATE organisation SET revision = revision + 1');

/** How often the organisation, its tenants or keys were changed, and how often any catalog was. */
export interface Revisions {
  organisation: number;
  catalogs: number;
}

/** The counters; null: the database holds no organisation. */
export async function readRevisions(pool: Pool): Promise<Revisions | null> {
  const { rows } = await pool.query<Revisions>(
    'SELECT revision AS organisation, catalogs_revision AS catalogs FROM organisation',
  );
  return rows[0] ?? null;
}
