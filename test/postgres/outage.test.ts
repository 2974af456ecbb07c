import pg from 'pg';
import { expect, test } from 'vitest';
import { isPostgresOutage, isUnanswered } from '../../src/postgres/transaction.ts';
import { deadPort, muteServer, reasonOf } from '../failures.ts';
import { testDatabase } from './database.ts';
import { opened } from '../stack/opened.ts';

// Real failures of Postgres and its client.

const database = opened(() => testDatabase());

/** Whether an error is an outage, and whether its statement may still run. */
const kindOf = (error: Error): [outage: boolean, unanswered: boolean] => [isPostgresOutage(error), isUnanswered(error)];

test('it refuses connections, or does not answer on them', async () => {
  const refused = new pg.Pool({ host: '127.0.0.1', port: await deadPort() });
  expect(kindOf(await reasonOf(refused.query('SELECT 1')))).toEqual([true, false]);
  await refused.end();
  const silent = await muteServer();
  const pool = new pg.Pool({ host: '127.0.0.1', port: silent.port, connectionTimeoutMillis: 30 });
  expect(kindOf(await reasonOf(pool.query('SELECT 1')))).toEqual([true, false]);
  await pool.end();
  silent.server.close();
});

test('a statement gets no answer in time', async () => {
  const pool = new pg.Pool({ connectionString: database.stack.databaseUrl, max: 1, query_timeout: 30 });
  pool.on('error', () => undefined);
  const client = await pool.connect();
  expect(kindOf(await reasonOf(client.query('SELECT pg_sleep(1)')))).toEqual([true, true]);
  client.release(true);
  await pool.end();
});

test('no connection of the pool is free in time', async () => {
  const pool = new pg.Pool({ connectionString: database.stack.databaseUrl, max: 1, connectionTimeoutMillis: 5_000 });
  const client = await pool.connect();
  expect(kindOf(await reasonOf(pool.query('SELECT 1')))).toEqual([true, false]);
  client.release();
  await pool.end();
});

test('it ends a connection in the middle of a statement, and answers nothing on the rest of it', async () => {
  const client = new pg.Client({ connectionString: database.stack.databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const waiting = reasonOf(client.query('SELECT pg_sleep(60)'));
  await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid]);
  expect(kindOf(await waiting)).toEqual([true, false]);
  await expect.poll(async () => kindOf(await reasonOf(client.query('SELECT 1')))).toEqual([true, false]);
  await client.end();
});

test('it is read-only, as after a failover', async () => {
  const client = await database.pool.connect();
  await client.query('BEGIN TRANSACTION READ ONLY');
  expect(kindOf(await reasonOf(client.query('CREATE TABLE never ()')))).toEqual([true, false]);
  await client.query('ROLLBACK');
  client.release();
});

test('a wrong statement is a fault', async () => {
  expect(kindOf(await reasonOf(database.pool.query('SELECT nonsense')))).toEqual([false, false]);
});
