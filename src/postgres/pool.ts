import pg from 'pg';

const INT8 = 20;
const DATE = 1082;

// Every bigint of ours stays below 2^53; a date is a local date, not an instant.
const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, Number],
  [DATE, (text) => text],
]);

/**
 * A pool of Postgres connections: `bigint` comes as a number, `date` as `YYYY-MM-DD`, `numeric` as text. A
 * connection that breaks while idle is dropped in silence; the next query opens another or rejects.
 */
export function createPool(url: string, { max }: { max: number }): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: 'laurel',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        (format !== 'binary' && PARSERS.get(oid)) ||
        pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  });
  pool.on('error', () => undefined);
  return pool;
}
