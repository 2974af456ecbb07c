import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** How Postgres's list of connections names it. */
export const LISTENER = 'laurel listener';

/** How long a connection, a statement, or a notification of our own may take. */
const TIMEOUT_MS = 5_000;

export interface ListenerOptions {
  /** Its settings are those of the connection. */
  pool: pg.Pool;
  channel: string;
  onNotification: () => void;
  /** Notifications arrive no more: the connection broke. */
  onLost: () => void;
}

/**
 * Receives a channel's notifications, on a connection of its own. Behind a proxy that lends a connection for one transaction
 * none would ever arrive, so it counts as open only when one that the pool sent has arrived.
 */
export class Listener {
  private readonly options: ListenerOptions;
  private client: pg.Client | null = null;
  private opened = false;

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  /** The connection on which notifications arrive; null: none does. */
  get connection(): pg.Client | null {
    return this.opened ? this.client : null;
  }

  /** Resolves when notifications arrive: those of every later commit. To be called while nothing is open. Rejects if none does. */
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
      const late = setTimeout(() => reject(new Error('Notifications of Postgres do not arrive.')), TIMEOUT_MS).unref();
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

  /** Ends the connection, also one that is being opened. `onLost` is called if it was open. */
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
