import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { setKeepAlives } from './pool.ts';
import { StartError } from '../start-error.ts';

/** A version of Laurel, and the form of what it keeps in Redis: versions of one form run side by side. */
export interface RunningVersion {
  version: string;
  form: number;
}

/** First half of the advisory locks that say which forms run. The second half is the form. */
export const FORM_LOCK = 0x6c61_7666; // 'lavf'
/** Held while a process looks which forms run and adds its own. */
const REGISTER_LOCK = 0x6c61_7672; // 'lavr'

/** How soon a connection that broke is made again; how long that, and a statement, may take. */
const AGAIN_MS = 500;
const TIMEOUT_MS = 5_000;

/** How Postgres's list of connections names the one that holds the lock. */
const nameOf = (version: string): string => `laurel version ${version}`;

/** Processes of another form run: each would rebuild again and again what the other has filled. */
export class OtherVersionRuns extends StartError {
  constructor(own: RunningVersion, others: readonly { version: string; form: number; processes: number }[]) {
    const running = others.map(
      ({ version, form, processes }) =>
        `Laurel ${version} (form ${form}, ${processes} process${processes === 1 ? '' : 'es'})`,
    );
    super(
      `Laurel ${own.version} (form ${own.form}) cannot run beside ${running.join(' and ')}: they keep different forms of data in ` +
        'Redis. Stop the other version first.',
    );
    this.name = 'OtherVersionRuns';
  }
}

/** Throws OtherVersionRuns while a process of another form is connected to this database. */
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
 * Says in Postgres that this version runs, for as long as this process lives: by a shared advisory lock on a connection of its own,
 * so nothing is written while nothing happens, and a process that dies is not taken for one that runs. After an outage of Postgres it is said
 * again at once; a process of another form that started in that moment is not turned away, and rebuilds nothing either
 * (`refuseOtherVersions` comes before each rebuild).
 */
export class OwnVersion {
  private readonly pool: pg.Pool;
  private readonly own: RunningVersion;
  private readonly ending = new AbortController();
  private client: pg.Client | null = null;

  /** `pool`: its settings are those of the connection. */
  constructor(pool: pg.Pool, own: RunningVersion) {
    this.pool = pool;
    this.own = own;
  }

  /** Begins. Throws OtherVersionRuns, and errors of Postgres. Of two forms that start at once one is refused. */
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
