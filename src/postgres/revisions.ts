import type { Client, Pool, PoolClient } from 'pg';

/** Announces a change after its commit (see `SignalKind`). Never rejects: the counters show a lost one. */
export type Announce = (message: string) => Promise<void>;

/** Postgres channel for changes of the counters in `Revisions`. */
export const REVISIONS_CHANNEL = 'laurel_revisions';

/** Every statement that increments a revision must evaluate this. On commit, all listeners read the counters. */
export const NOTIFIED = `pg_notify('${REVISIONS_CHANNEL}', '')`;

/** Counts a change of the organisation, its tenants or keys, for processes that miss the announcement. Can be used in a `WITH`. */
export const COUNT_REVISION = `UPDATE organisation SET revision = revision + 1 RETURNING ${NOTIFIED}`;

export const countRevision = (client: Pool | PoolClient): Promise<unknown> => client.query(COUNT_REVISION);

/** Number of changes of the organisation, its tenants and keys, and number of changes of catalogs. */
export interface Revisions {
  organisation: number;
  catalogs: number;
}

export interface RevisionsSeen extends Revisions {
  /** Visible transactions. While this text is unchanged, all rows of the server are. */
  snapshot: string;
}

/** The counters with the snapshot of their read; `null` if the database has no organisation. */
export async function readRevisions(pool: Pool | Client): Promise<RevisionsSeen | null> {
  const { rows } = await pool.query<RevisionsSeen>(
    'SELECT revision AS organisation, catalogs_revision AS catalogs, pg_current_snapshot()::text AS snapshot FROM organisation',
  );
  return rows[0] ?? null;
}
