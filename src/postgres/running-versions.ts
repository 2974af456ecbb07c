import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { setKeepAlives } from './pool.ts';
import { StartError } from '../start-error.ts';

export interface RunningVersion {
  version: string;
  form: number;
}

/** First half of the advisory locks that show which formats run. The second half is the format. */
export const FORM_LOCK = 0x6c61_7666; // 'lavf'
/** Held while a process checks the running formats and adds its own. */
const REGISTER_LOCK = 0x6c61_7672; // 'lavr'

/** Delay before a broken connection is replaced, and the time limit for connecting and for statements. */
const AGAIN_MS = 500;
const TIMEOUT_MS = 5_000;

/** Name of the connection that holds the lock, visible in Postgres's list of connections. */
const nameOf = (version: string): string => `laurel version ${version}`;

/** Processes with another format are running. The two would repeatedly rebuild what the other has filled. */
export class OtherVersionRuns extends StartError {
  constructor(own: RunningVersion, others: readonly { version: string; form: number; processes: number }[]) {
    const running = others.map(
      ({ version, form, processes }) =>
        `Laurel ${version} (data format ${form}, ${processes} process${processes === 1 ? '' : 'es'})`,
    );
    super(
      `Laurel ${own.version} (data format ${own.form}) cannot run beside ${running.join(' and ')}: their data formats in Redis differ. ` +
        'Stop the other version first.',
    );
    this.name = 'OtherVersionRuns';
  }
}

/** Throws OtherVersionRuns while a process with another format is connected to this database. */
export async function refuseOtherVersions(client: pg.Pool | pg.ClientBase, own: RunningVersion): Promise<void> {
  const { rows } = await client.query<{ version: string | null; form: number; processes: number }>(
    `SELECT substring(application_name FROM $3) AS version, objid::int AS form, count(*)::int AS processes
       FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'advisory' AND granted AND classid = $1 AND objsubid = 2 AND objid <> $2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      GROUP BY 1, 2 ORDER BY 1, 2`,
    [FORM_LOCK, own.form, `^${nameOf('(.*)')}$`],
  );
  if (rows.length === 0) return;
  throw new OtherVersionRuns(
    own,
    rows.map((row) => ({ ...row, version: row.version ?? 'of another version' })),
  );
}

/**
 * Publishes the running version in Postgres for the lifetime of this process, with a shared advisory lock on its own
 * connection. So it writes nothing while idle, and a process that dies stops counting. After an outage of Postgres the lock
 * is taken again immediately. A process with another format that started in the meantime is not refused, but it cannot
 * rebuild anything (`refuseOtherVersions` runs before each rebuild).
 */
export class OwnVersion {
  private readonly pool: pg.Pool;
  private readonly own: RunningVersion;
  private readonly ending = new AbortController();
  private client: pg.Client | null = null;

  /** Connects with the settings of `pool`. */
  constructor(pool: pg.Pool, own: RunningVersion) {
    this.pool = pool;
    this.own = own;
  }

  /** Throws OtherVersionRuns and errors of Postgres. If two formats start at once, one is refused. */
  async start(): Promise<void> {
    await this.connect(true);
  }

  async close(): Promise<void> {
    this.ending.abort();
    await this.client?.end().catch(() => undefined);
  }

  private async connect(refuses: boolean): Promise<void> {
    const { own, pool } = this;
    const client = new pg.Client({
      ...pool.options,
      application_name: nameOf(own.version),
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    });
    client.on('error', () => undefined);
    client.once('end', () => void this.connectAgain(client));
    try {
      await client.connect();
      await setKeepAlives(client);
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock($1)', [REGISTER_LOCK]);
      if (refuses) await refuseOtherVersions(client, own);
      await client.query('SELECT pg_advisory_lock_shared($1, $2)', [FORM_LOCK, own.form]);
      await client.query('COMMIT');
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.client = client;
    if (this.ending.signal.aborted) await client.end().catch(() => undefined);
  }

  private async connectAgain(ended: pg.Client): Promise<void> {
    if (this.client !== ended) return;
    this.client = null;
    const { signal } = this.ending;
    while (!signal.aborted && this.client === null) {
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.connect(false).catch(() => undefined);
    }
  }
}
