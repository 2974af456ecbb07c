import pg from 'pg';

const INT8 = 20;
const DATE = 1082;

// Every bigint of ours stays below 2^53; a date is a local date, not an instant.
const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [DATE, (text) => text],
]);

/**
 * A server that vanished (its machine, or the way to it) answers nothing, not even that it is gone. After so long without
 * a word the system asks after it, and 10 s later the connection breaks. Left to itself it would ask after two hours.
 */
const SILENCE_MS = 10_000;

/**
 * An idle connection is kept for so long, which must be longer than the 60 s after which a worker at rest looks at Postgres:
 * with as many ms it opened seven connections each time, a third of what an installation at rest used (`bench:idle`).
 */
const KEPT_MS = 120_000;

/**
 * The same from the other side: a machine of ours that vanished must not keep the locks of its sessions (a rebuild's, a move's, those
 * of an open transaction) until Postgres asks after it, by default after two hours. It asks after 10 s of silence, then every
 * 5 s, and after the fourth time, or where what it sent is not received for 30 s, the session ends. On a socket of the
 * same machine, which cannot vanish, it changes nothing.
 */
const KEEP_ALIVES = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '30s',
};

const SET_UP = 'SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS settings (name, value)';

/** Has Postgres end a session of this connection whose machine vanished within some 30 s. A pool's connections do it themselves. */
export const setKeepAlives = (client: pg.ClientBase): Promise<unknown> =>
  client.query(SET_UP, [Object.keys(KEEP_ALIVES), Object.values(KEEP_ALIVES)]);

export interface PoolOptions {
  max: number;
  /**
   * How long a connection, and then a statement, may take; unlimited without. For what a caller waits for: a Postgres
   * that hangs is answered 503 then. What such a statement did is not known.
   */
  timeoutMs?: number;
  /** Settings of Postgres for each of its sessions. */
  settings?: Readonly<Record<string, string>>;
}

/**
 * A pool of Postgres connections: `bigint` comes as a number, `date` as `YYYY-MM-DD`, `numeric` as text. A
 * connection that breaks while idle is dropped in silence; the next query opens another or rejects. Postgres ends the
 * sessions of a machine that vanished within some 30 s.
 */
export function createPool(url: string, { max, timeoutMs, settings }: PoolOptions): pg.Pool {
  const all = { ...KEEP_ALIVES, ...settings };
  const pool = new pg.Pool({
    connectionString: url,
    max,
    idleTimeoutMillis: KEPT_MS,
    application_name: 'laurel',
    connectionTimeoutMillis: timeoutMs ?? 10_000,
    ...(timeoutMs !== undefined && {
      query_timeout: timeoutMs,
      // A process that hangs, or that nobody can reach, in a transaction must not keep its locks.
      idle_in_transaction_session_timeout: timeoutMs * 2,
    }),
    keepAlive: true,
    keepAliveInitialDelayMillis: SILENCE_MS,
    // Its types do not say that a promise is waited for.
    onConnect: ((client) => client.query(SET_UP, [Object.keys(all), Object.values(all)])) as (
      client: pg.ClientBase,
    ) => void,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        (format !== 'binary' && PARSERS.get(oid)) ||
        pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  });
  pool.on('error', () => undefined);
  return pool;
}
