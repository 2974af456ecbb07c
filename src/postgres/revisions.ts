import { randomUUID } from 'node:crypto';
import pg, { type Client, type Pool, type PoolClient } from 'pg';

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

export const LISTENER = 'laurel listener';

/** Time limit for the connection, for statements, and for our own test notification. */
const TIMEOUT_MS = 5_000;

export interface ListenerOptions {
  /** The connection uses its settings. */
  pool: pg.Pool;
  channel: string;
  onNotification: () => void;
  /** Called when the connection broke and notifications no longer arrive. */
  onLost: () => void;
}

/**
 * Receives a channel's notifications on its own connection. Behind a proxy that assigns connections per transaction none
 * would arrive, so the listener counts as open only after it has received a notification that the pool sent.
 */
export class Listener {
  private readonly options: ListenerOptions;
  private client: pg.Client | null = null;
  private opened = false;

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  get connection(): pg.Client | null {
    return this.opened ? this.client : null;
  }

  /** Resolves when notifications of later commits will arrive. Rejects if the test notification is missing. */
  async open(): Promise<void> {
    const { pool, channel, onNotification } = this.options;
    const client = new pg.Client({
      ...pool.options,
      application_name: LISTENER,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    this.client = client;
    const probe = randomUUID();
    const arrived = new Promise<void>((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error('Notifications from Postgres do not arrive.')),
        TIMEOUT_MS,
      ).unref();
      client.on('notification', ({ payload }) => {
        if (payload !== probe) return onNotification();
        clearTimeout(late);
        resolve();
      });
      client.on('end', () => {
        clearTimeout(late);
        reject(new Error('The connection broke.'));
        this.drop(client);
      });
    });
    arrived.catch(() => undefined);
    client.on('error', () => this.drop(client));
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
      await pool.query('SELECT pg_notify($1, $2)', [channel, probe]);
      await arrived;
      if (this.client === client) this.opened = true;
    } catch (error) {
      this.drop(client);
      throw error;
    }
  }

  /** Closes the connection, even while it is being opened. Calls `onLost` if it was open. */
  close(): void {
    if (this.client !== null) this.drop(this.client);
  }

  private drop(client: pg.Client): void {
    void client.end().catch(() => undefined);
    if (this.client !== client) return;
    this.client = null;
    if (!this.opened) return;
    this.opened = false;
    this.options.onLost();
  }
}
