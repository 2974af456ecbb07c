import { randomUUID } from 'node:crypto';
import pg, { type Client, type Pool, type PoolClient } from 'pg';

/** Announces a change after its commit (see `SignalKind`). Never rejects: the counters show a lost one. */
export type Announce = (message: string) => Promise<void>;

/** Postgres channel for changes of the counters in `Revisions`. */
export const REVISIONS_CHANNEL = 'laurel_revisions';

/** Every statement that increments a revision must evaluate this. On commit, all listeners read the counters. */
export const NOTIFIED = `pg_notify('${REVISIONS_CHANNEL}', '')`;

/** Counts a change of the organisation, its tenants or admin keys, for processes that miss the announcement. Can be used in a `WITH`. */
export const COUNT_REVISION = `UPDATE organisation SET revision = revision + 1 RETURNING ${NOTIFIED}`;

export const countRevision = (client: Pool | PoolClient): Promise<unknown> => client.query(COUNT_REVISION);

/** Most names that are noted; beyond it, processes forget all keys. */
const MOST_NAMES = 1_000;
/** How many changes of credentials are kept. A process that missed more forgets all keys. */
const KEPT_CHANGES = 1_000;

/** How the channels for a tenant's messages are named. */
export const channelsName = (tenantNo: number): string => `${CHANNELS}${tenantNo}`;

export const namesChannels = (name: string): boolean => name.startsWith(CHANNELS);

const CHANNELS = 'channels-';

/**
 * Counts the end or change of some credentials. `names`: prefixes of application keys, hashes of sessions (base64url) and
 * `channelsName`.
 */
export async function countCredentialChange(client: PoolClient, names: readonly string[]): Promise<void> {
  await client.query(
    `WITH counted AS (UPDATE organisation SET credentials_revision = credentials_revision + 1
                      RETURNING credentials_revision AS revision, ${NOTIFIED}),
          pruned AS (DELETE FROM credential_changes USING counted WHERE credential_changes.revision <= counted.revision - $2)
     INSERT INTO credential_changes SELECT revision, $1 FROM counted`,
    [names.length > MOST_NAMES ? null : names, KEPT_CHANGES],
  );
}

/** The names of all changes after one revision up to another; `null` if not all are known. */
export async function readCredentialChanges(
  pool: Pool | Client,
  { after, upTo }: { after: number; upTo: number },
): Promise<string[] | null> {
  const { rows } = await pool.query<{ names: string[] | null }>(
    'SELECT names FROM credential_changes WHERE revision > $1 AND revision <= $2',
    [after, upTo],
  );
  // A Postgres that was restored from an older state counts from there again.
  if (rows.length !== upTo - after || rows.some(({ names }) => names === null)) return null;
  return rows.flatMap(({ names }) => names!);
}

/** The announcement of changed credentials. A process that cannot read the names takes it for a change of the organisation. */
export const credentialsMessage = (names: readonly string[]): string =>
  names.length > MOST_NAMES ? ORGANISATION_MESSAGE : ORGANISATION_MESSAGE + names.join(',');

/** The announcement that the organisation, its tenants or any keys changed. */
export const ORGANISATION_MESSAGE = '*';

/** Number of changes of the organisation, its tenants and admin keys, and number of changes of catalogs. */
export interface Revisions {
  organisation: number;
  catalogs: number;
}

export interface RevisionsSeen extends Revisions {
  /** Number of changes of application keys, sessions and channels for messages. */
  credentials: number;
  /** Visible transactions. While this text is unchanged, all rows of the server are. */
  snapshot: string;
}

/** The counters with the snapshot of their read; `null` if the database has no organisation. */
export async function readRevisions(pool: Pool | Client): Promise<RevisionsSeen | null> {
  const { rows } = await pool.query<RevisionsSeen>(
    `SELECT revision AS organisation, catalogs_revision AS catalogs, credentials_revision AS credentials,
            pg_current_snapshot()::text AS snapshot FROM organisation`,
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
