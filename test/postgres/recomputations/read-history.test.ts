import type { PoolClient } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import {
  completionsOf,
  eachEvent,
  type ReadUsers,
  usersWithLateEvents,
} from '../../../src/postgres/corrections/recomputation-history.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const USERS = 4_000;
const EVENTS_A_USER = 10;
const ASKED: ReadUsers = { tenantNo: 0, ids: Array.from({ length: 100 }, (_, n) => `user ${n * 7}`) };

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  await database.pool.query(`
    INSERT INTO events (id, tenant_no, user_id, metric_no, value, total, at, local_date, occurred_at)
      SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || left(md5(n::text), 16))::uuid,
             0, 'user ' || n % ${USERS}, 1, 1, 1, at, at::date,
             CASE WHEN n % ${USERS} = 14 THEN at - INTERVAL '1 hour' END
        FROM (SELECT n, now() + n * INTERVAL '1 millisecond' AS at
                FROM generate_series(0, ${USERS * EVENTS_A_USER - 1}) AS n) AS made;
    INSERT INTO completions (tenant_no, user_id, achievement_no, at)
      SELECT 0, 'user ' || n, 3, now() FROM generate_series(0, ${USERS - 1}) AS n`);
  for (const table of ['events', 'completions']) await database.pool.query(`VACUUM ANALYZE ${table}`);
});

async function rowsReadSoFar(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: number }>(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS read FROM pg_stat_xact_user_tables
      WHERE relname ~ '^(events|completions)'`,
  );
  return rows[0]!.read;
}

/** The number of table rows that a statement read, by Postgres's own counts of the connection. */
async function rowsRead(work: (client: PoolClient) => Promise<unknown>): Promise<number> {
  return transaction(database.pool, async (client) => {
    // The counts do not include parallel workers.
    await client.query('SET LOCAL max_parallel_workers_per_gather = 0');
    const before = await rowsReadSoFar(client);
    await work(client);
    return (await rowsReadSoFar(client)) - before;
  });
}

test.each([
  ['whether they have late events', (client: PoolClient) => usersWithLateEvents(client, ASKED)],
  [
    'their events',
    (client: PoolClient) => eachEvent(client, { ...ASKED, metricNos: [1], streaks: true }, () => undefined),
  ],
  ['their completions', (client: PoolClient) => completionsOf(client, ASKED)],
])("of some users, %s: does not read others' rows", async (_, read) => {
  expect(await rowsRead(read)).toBeLessThanOrEqual(ASKED.ids.length * EVENTS_A_USER);
});

test('users with late events', async () => {
  expect(await transaction(database.pool, (client) => usersWithLateEvents(client, ASKED))).toEqual(
    new Set(['user 14']),
  );
});
