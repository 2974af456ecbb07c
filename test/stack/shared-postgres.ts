import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/local/postgres-server.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { DATA_FOLDER } from './data-folder.ts';
import { leftBehind } from './left-behind.ts';

/**
 * Copies the files of the other database. By default each page goes through the log, which took 48 ms of Postgres's CPU per
 * database instead of 17, and 280 ms instead of 135. File copy begins and ends with a checkpoint, which is cheap only where
 * nothing is synced to a disk; it is used only there.
 */
const FILE_COPY = ' STRATEGY FILE_COPY';

/**
 * Connections from this machine need no password. Checking one took 3 ms of CPU, half of it in Postgres; a run opens
 * thousands of connections.
 */
const WITHOUT_PASSWORD = 'host all all 127.0.0.1/32 trust\n';

/**
 * Connections to create and remove databases, which the whole run shares: opening one takes 4 ms of Postgres's CPU, and each
 * database needed three or more.
 */
const CONNECTIONS = 6;

const LAST_QUERIES = 'SELECT left(query, 100) AS query FROM pg_stat_activity WHERE datname = $1';

interface Server {
  /** Creates a database, a copy of the migrated template or an empty one. */
  create(kind: string): Promise<{ url: string }>;
  /** Removes it. Returns the last queries of the connections to it that stay open. */
  remove(name: string): Promise<{ left: string[] }>;
  stop(): Promise<void>;
}

/**
 * One Postgres for the whole run, `given` or a temporary one that starts when the first test file needs it. Files run in
 * separate processes, so they ask for databases over HTTP at `address`.
 */
export async function sharedPostgres(given: string | undefined): Promise<{ address: string; close(): Promise<void> }> {
  let running: Promise<Server> | null = null;
  const answer = async ({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    running ??= start(given);
    const what = url.slice(1);
    const act = (server: Server): Promise<object> => (method === 'POST' ? server.create(what) : server.remove(what));
    const reply = await running.then(act).catch((error: unknown) => ({ problem: String(error) }));
    response.setHeader('connection', 'close').end(JSON.stringify(reply));
  };
  const server = createServer((asked, response) => void answer(asked, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      await (await running?.catch(() => null))?.stop();
    },
  };
}

/** From a test file: a new database. */
export const createDatabase = (address: string, kind: 'migrated' | 'empty'): ReturnType<Server['create']> =>
  ask(`${address}/${kind}`, 'POST');

/** From a test file: removes a database. */
export const removeDatabase = (address: string, url: string): ReturnType<Server['remove']> =>
  ask(address + new URL(url).pathname, 'DELETE');

async function ask<T extends object>(url: string, method: string): Promise<T> {
  const text = await new Promise<string>((resolve, reject) => {
    // A separate connection, which ends with the answer.
    const asking = request(url, { agent: false, method }, (response) => {
      response.setEncoding('utf8');
      let body = '';
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve(body));
      response.on('error', reject);
    });
    asking.on('error', reject).end();
  });
  const reply = JSON.parse(text) as T | { problem: string };
  if ('problem' in reply) throw new Error(`There is no Postgres for the tests: ${reply.problem}`);
  return reply;
}

/** Runs one statement over a separate connection. */
export async function onServer(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 60_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`The Postgres of the tests (DATABASE_URL, if you set it) does not answer: ${String(error)}`);
  }
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function start(given: string | undefined): Promise<Server> {
  const own = given === undefined || given === '' ? await temporaryPostgres() : null;
  const url = own?.url ?? given ?? '';
  const template = newName('template_');
  await onServer(url, `CREATE DATABASE ${template}`);
  const migrating = createPool(databaseUrl(url, template), { max: 1 });
  await migrate(migrating);
  await migrating.end();
  const strategy = own === null ? '' : FILE_COPY;
  // On a busy machine many files may wait for a connection.
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS, idleTimeoutMillis: 0 });
  pool.on('error', () => undefined);
  return {
    create: async (kind) => {
      const name = newName('');
      await pool.query(`CREATE DATABASE ${name}${kind === 'migrated' ? ` TEMPLATE ${template}` : ''}${strategy}`);
      return { url: databaseUrl(url, name) };
    },
    remove: async (name) => {
      const left = await leftBehind(async () => (await pool.query<{ query: string }>(LAST_QUERIES, [name])).rows);
      await pool.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      return { left: left.map(({ query }) => query) };
    },
    stop: async () => {
      if (own === null) await pool.query(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
      await pool.end();
      await own?.stop();
    },
  };
}

const newName = (kind: string): string => `laurel_test_${kind}${randomUUID().replaceAll('-', '')}`;

async function temporaryPostgres(): ReturnType<typeof startPostgres> {
  const directory = join(DATA_FOLDER, `laurel-test-postgres-${randomUUID()}`);
  const server = await startPostgres({ directory, password: 'test', temporary: true });
  await writeFile(join(directory, 'pg_hba.conf'), WITHOUT_PASSWORD);
  // Otherwise up to a GB of the log would stay in memory.
  await onServer(server.url, "ALTER SYSTEM SET max_wal_size = '256MB'");
  await onServer(server.url, 'SELECT pg_reload_conf()');
  return server;
}

/** The URL of another database of that server. */
function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
