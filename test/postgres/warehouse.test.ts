import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type LocalServer } from '../../src/local/postgres-server.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { dropEvents, moveNextUsers } from '../../src/postgres/partitions.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { DATA_FOLDER } from '../stack/data-folder.ts';
import { STUDY_APP } from '../study-app.ts';

/** Tables and their compared columns: all columns of the subscriber's. */
const TABLES = [
  'events',
  'awards',
  'tenants',
  'catalog_resources',
  'completions',
  'reversals',
  'streak_changes',
  'board_runs',
  'board_run_groups',
  'board_finals',
  'users',
];
const SUBSCRIBED = 'laurel_history, laurel_history_changes, laurel_users';

let folder: string;
const servers: LocalServer[] = [];
let laurel: TestLaurel;
let warehouse: Pool;
/** The statements of docs/history.md for the second server: tables, trigger, clean-up. */
let statements: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(DATA_FOLDER, 'laurel-test-warehouse-'));
  const page = await readFile(join(PACKAGE_ROOT, 'docs', 'history.md'), 'utf8');
  statements = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text!);
  const start = (name: string) => startPostgres({ directory: join(folder, name), password: 'test', temporary: false });
  const first = await start('laurel');
  const setUp = createPool(first.url, { max: 1 });
  await setUp.query('ALTER SYSTEM SET wal_level = logical');
  await migrate(setUp);
  await setUp.end();
  // The level needs a restart.
  await first.stop();
  servers.push(await start('laurel'), await start('warehouse'));
  const [own, second] = servers.map(({ url }) => url);
  laurel = await startLaurel({ databaseUrl: own!, configuration: STUDY_APP, workers: true });
  warehouse = createPool(second!, { max: 2 });
});
afterAll(async () => {
  await warehouse?.end();
  await laurel?.close();
  for (const server of servers.toReversed()) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

let sent = 0;

/** Sends an event; retries while a busy machine answers 503. Returns its ID. */
async function flip(user: string, value: number): Promise<string> {
  const headers = { 'Idempotency-Key': `key ${(sent += 1)}` };
  for (;;) {
    const { status, body } = await laurel.app.post(
      '/v1/metrics/flips/event',
      { user: { id: user }, value },
      { headers },
    );
    if (status === 201 || status === 202) return body.eventId;
    expect(status).toBe(503);
  }
}

/** All rows of a table in the columns that the subscriber has. */
async function contents(pool: Pool, table: string): Promise<unknown[]> {
  const { rows } = await warehouse.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
    [table],
  );
  const columns = rows.map(({ name }) => name).join(', ');
  const { rows: found } = await pool.query<{ row: string }>(
    `SELECT (${columns})::text AS row FROM (SELECT ${columns} FROM ${table}) AS t ORDER BY 1`,
  );
  return found.map(({ row }) => row);
}

/** Resolves when tables have the same rows on both sides. */
async function untilEqual(tables: readonly string[]): Promise<void> {
  const different = async (): Promise<string[]> => {
    const names: string[] = [];
    for (const table of tables) {
      const [here, there] = await Promise.all([contents(laurel.pool, table), contents(warehouse, table)]);
      if (JSON.stringify(here) !== JSON.stringify(there)) names.push(`${table}: ${here.length}, ${there.length}`);
    }
    return names;
  };
  await expect.poll(different).toEqual([]);
}

/** Sends events all the while. */
async function underLoad(work: () => Promise<void>): Promise<void> {
  let isOver = false;
  const load = (async () => {
    for (let n = 0; !isOver; n += 1)
      await Promise.all([1, 2, 3, 4].map((each) => flip(`user ${(n * each) % 40}`, each)));
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await load;
  }
}

test('a second Postgres receives all history under load, forgets deleted users and keeps what retention drops', async () => {
  const [tables, trigger, cleanUp] = statements;
  await warehouse.query(tables!);
  await warehouse.query(trigger!);
  for (let n = 0; n < 50; n += 1) await flip(`user ${n % 10}`, n + 1);

  await underLoad(async () => {
    const from = new URL(laurel.databaseUrl);
    const connection = `host=${from.hostname} port=${from.port} dbname=postgres user=${from.username} password=test`;
    await warehouse.query(`CREATE SUBSCRIPTION laurel CONNECTION '${connection}' PUBLICATION ${SUBSCRIBED}`);
    const copying = `SELECT FROM pg_subscription_rel WHERE srsubstate <> 'r'`;
    await expect.poll(async () => (await warehouse.query(copying)).rowCount).toBe(0);
    await warehouse.query(cleanUp!);
    const mistake = await flip('refunded', 1_000);
    const reverse = () => laurel.admin.post(`/v1/events/${mistake}/reverse`, {});
    await expect.poll(async () => (await reverse()).status).toBe(200);
  });
  // Otherwise the rest would be stored later, after both sides were equal.
  await expect.poll(() => laurel.redis.xlen('{s0}:outbox')).toBe(0);
  await untilEqual(TABLES);
  const { rows } = await warehouse.query(
    `SELECT count(*) > 50 AS events, count(*) FILTER (WHERE reverses IS NOT NULL)::int AS reversals,
            (SELECT count(*) > 0 FROM awards) AS awards, (SELECT count(*) > 0 FROM completions) AS completions FROM events`,
  );
  expect(rows).toEqual([{ events: true, reversals: 1, awards: true, completions: true }]);

  expect((await laurel.admin.delete('/v1/users/refunded')).status).toBe(200);
  const ofDeleted = `SELECT FROM events WHERE user_id = 'refunded'`;
  await expect.poll(async () => (await warehouse.query(ofDeleted)).rowCount).toBe(0);
  await untilEqual(TABLES);

  const kept = await contents(warehouse, 'events');
  const { rows: parts } = await laurel.pool.query<{ day: number }>(
    'SELECT max(first_day) AS day FROM event_partitions WHERE first_day <= extract(epoch FROM now()) / 86400',
  );
  const part = parts[0]!.day;
  while ((await transaction(laurel.pool, (client) => moveNextUsers(client, part))) !== null);
  expect(await transaction(laurel.pool, (client) => dropEvents(client, part))).toBe(true);
  expect(await contents(laurel.pool, 'events')).toEqual([]);
  // Changes arrive in order: when this one is there, nothing older is missing.
  await laurel.pool.query(`UPDATE tenants SET name = 'after the drop' WHERE no = 0`);
  await untilEqual(['tenants']);
  expect(await contents(warehouse, 'events')).toEqual(kept);
});
