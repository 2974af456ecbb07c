import type { Client, Pool, PoolClient } from 'pg';

/**
 * Tells every process what changed, after the commit: `<tenant no>:<version>` for a catalog, `*` for keys,
 * tenants or the organisation. Never rejects: the counters in `organisation` show it to processes that missed it.
 */
export type Announce = (message: string) => Promise<void>;

/** Where it is notified that a counter of `Revisions` changed. */
export const REVISIONS_CHANNEL = 'laurel_revisions';

/** To be evaluated by every statement that counts a revision: with the commit everybody who listens reads the counters. */
export const NOTIFIED = `pg_notify('${REVISIONS_CHANNEL}', '')`;

/**
 * The statement that counts a change of the organisation, its tenants or keys, for those who miss its announcement. It may
 * stand in a `WITH`.
 */
export const COUNT_REVISION = `UPDATE organisation SET revision = revision + 1 RETURNING ${NOTIFIED}`;

/** Counts a change of the organisation, its tenants or keys. */
export const countRevision = (client: Pool | PoolClient): Promise<unknown> => client.query(COUNT_REVISION);

/** How often the organisation, its tenants or keys were changed, and how often any catalog was. */
export interface Revisions {
  organisation: number;
  catalogs: number;
}

/** The counters, and what a statement sees. */
export interface RevisionsSeen extends Revisions {
  /** Which transactions can be seen: while this text is the same, every row of the server is as it was. */
  snapshot: string;
}

/** The counters, with the snapshot that they were read in; null: the database holds no organisation. */
export async function readRevisions(pool: Pool | Client): Promise<RevisionsSeen | null> {
  const { rows } = await pool.query<RevisionsSeen>(
    'SELECT revision AS organisation, catalogs_revision AS catalogs, pg_current_snapshot()::text AS snapshot FROM organisation',
  );
  return rows[0] ?? null;
}
