import pg from 'pg';
import { chargeStatements } from './charged-pool.ts';

const INT8 = 20;
const DATE = 1082;

// All our bigint values are below 2^53. A date is a local date, not an instant.
const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [DATE, (text) => text],
]);

/** TCP keep-alive: a vanished server is noticed after this and another 10 s, instead of two hours. */
const SILENCE_MS = 10_000;

/**
 * How long idle connections are kept. Must exceed the 60 s interval at which an idle worker queries Postgres. With 60 s,
 * each query opened seven connections, a third of the load of an idle installation (`npm run bench -- idle`).
 */
const KEPT_MS = 120_000;

/**
 * The same in the other direction: if a machine of ours vanishes, its sessions must not keep their locks (of a rebuild, a
 * move, an open transaction) until Postgres notices, which takes two hours by default. Postgres probes after 10 s of
 * silence, then every 5 s. The session ends after the fourth probe, or when sent data is not received for 30 s. No effect on
 * local sockets.
 */
const KEEP_ALIVES = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '30s',
};

const SET_UP = 'SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS settings (name, value)';

/** Makes Postgres end this session within 30 s after its machine vanishes. */
export const setKeepAlives = (client: pg.ClientBase): Promise<unknown> =>
  client.query(SET_UP, [Object.keys(KEEP_ALIVES), Object.values(KEEP_ALIVES)]);

export interface PoolOptions {
  max: number;
  /**
   * Time limit for a connection and for each statement; unlimited by default. Set it for work that a caller waits for, so
   * that a hanging Postgres is answered with 503. The outcome of a statement that timed out is unknown.
   */
  timeoutMs?: number;
  settings?: Readonly<Record<string, string>>;
}

/**
 * A pool of Postgres connections. Returns `bigint` as a number, `date` as `YYYY-MM-DD`, `numeric` as text. A connection that breaks
 * while idle is dropped silently; the next query opens another or rejects. Postgres ends the sessions of a vanished machine within
 * about 30 s.
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
      // A process that hangs or is unreachable in a transaction must not keep its locks.
      idle_in_transaction_session_timeout: timeoutMs * 2,
    }),
    keepAlive: true,
    keepAliveInitialDelayMillis: SILENCE_MS,
    // The types do not show that the pool awaits the promise.
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
  chargeStatements(pool, { max, timeoutMs });
  return pool;
}
