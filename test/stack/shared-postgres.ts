import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../src/local/postgres-server.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { DATA_FOLDER } from './data-folder.ts';

interface Asked {
  /** A superuser's URL of the server. */
  url: string;
  /** The template database: migrated, and without a row of a test. */
  template: string;
  /** The clause that says how databases are copied. */
  strategy: string;
}

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

type Reply = Asked | { problem: string };

/**
 * One Postgres for the whole run, `given` or a temporary one that starts when the first test file needs it. Files run in
 * separate processes, so they ask over HTTP at `address`.
 */
export async function sharedPostgres(given: string | undefined): Promise<{ address: string; close(): Promise<void> }> {
  let running: ReturnType<typeof start> | null = null;
  const answer = async (response: ServerResponse): Promise<void> => {
    running ??= start(given);
    const reply: Reply = await running.catch((error: unknown) => ({ problem: String(error) }));
    response.setHeader('connection', 'close').end(JSON.stringify(reply));
  };
  const server = createServer((_, response) => void answer(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close();
      await (await running?.catch(() => null))?.stop();
    },
  };
}

/** The shared Postgres, from a test file. */
export async function askForPostgres(address: string): Promise<Asked> {
  const text = await new Promise<string>((resolve, reject) => {
    // A separate connection, which ends with the answer.
    get(address, { agent: false }, (response) => {
      response.setEncoding('utf8');
      let body = '';
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve(body));
      response.on('error', reject);
    }).on('error', reject);
  });
  const reply = JSON.parse(text) as Reply;
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

async function start(given: string | undefined): Promise<Asked & { stop(): Promise<void> }> {
  const own = given === undefined || given === '' ? await temporaryPostgres() : null;
  const url = own?.url ?? given ?? '';
  const template = `laurel_test_template_${randomUUID().replaceAll('-', '')}`;
  await onServer(url, `CREATE DATABASE ${template}`);
  const pool = createPool(databaseUrl(url, template), { max: 1 });
  await migrate(pool);
  await pool.end();
  const strategy = own === null ? '' : FILE_COPY;
  return { url, template, strategy, stop: () => (own === null ? dropTemplate(url, template) : own.stop()) };
}

async function temporaryPostgres(): ReturnType<typeof startPostgres> {
  const directory = join(DATA_FOLDER, `laurel-test-postgres-${randomUUID()}`);
  const server = await startPostgres({ directory, password: 'test', temporary: true });
  await writeFile(join(directory, 'pg_hba.conf'), WITHOUT_PASSWORD);
  // Otherwise up to a GB of the log would stay in memory.
  await onServer(server.url, "ALTER SYSTEM SET max_wal_size = '256MB'");
  await onServer(server.url, 'SELECT pg_reload_conf()');
  return server;
}

async function dropTemplate(url: string, template: string): Promise<void> {
  await onServer(url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
}

/** The URL of another database of that server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
