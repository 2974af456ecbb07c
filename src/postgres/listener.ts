import { randomUUID } from 'node:crypto';
import pg from 'pg';

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
