import type { PoolClient } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { awaitCursors } from '../../../src/postgres/shards.ts';
import { changedPoints, packedUsers, UPDATE_POINTS, UPDATE_STATES } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const USERS = 50_000;

const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  await database.pool.query(
    `INSERT INTO users (tenant_no, id, created, state, attributes, points)
     SELECT 0, 'user-' || n, now(), decode(repeat('81', 200), 'hex'), '{}', '{"1": 5}' FROM generate_series(1, ${USERS}) AS n`,
  );
  // Without statistics of the columns, when the planner errs: not analysed since a column was added.
  await database.pool.query('VACUUM users');
});

/** This many users all over the table. */
const touched = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    tenantNo: 0,
    id: `user-${1 + n * Math.floor(USERS / count)}`,
    packed: Buffer.alloc(210, 0x81),
    points: { 1: n, 2: 7 },
  }));

const statements = {
  points: (count: number) => ({
    text: UPDATE_POINTS,
    values: [...packedUsers(touched(count)), changedPoints(touched(count))],
  }),
  states: (count: number) => ({ text: UPDATE_STATES, values: packedUsers(touched(count)) }),
};

const inBatch = <T>(work: (client: PoolClient) => Promise<T>): Promise<T> =>
  transaction(database.pool, async (client) => {
    await awaitCursors(client, [0]);
    return work(client);
  });

// For a sixteenth of the users, as in a sweep, the planner would prefer a hash join.
test.each([
  ['points', 50],
  ['points', 3_000],
  ['states', 50],
  ['states', 3_000],
] as const)('finds the %s of %i users by their keys', async (what, count) => {
  const { text, values } = statements[what](count);
  const plan = await inBatch((client) => client.query(`EXPLAIN (COSTS OFF) ${text}`, values));
  const lines = plan.rows.map((row) => String(row['QUERY PLAN'])).join('\n');
  expect(lines).toContain('Index Scan using users_pkey on users');
  expect(lines).not.toMatch(/Seq Scan|Hash|Merge/);
});

/** The connection's updates so far that are not yet in the shared statistics. */
async function updates(client: PoolClient): Promise<{ all: number; hot: number }> {
  const { rows } = await client.query<{ all: number; hot: number }>(
    `SELECT n_tup_upd::int AS all, n_tup_hot_upd::int AS hot FROM pg_stat_xact_user_tables WHERE relname = 'users'`,
  );
  return rows[0]!;
}

test.each(['points', 'states'] as const)('writing %s touches no index', async (what) => {
  const { text, values } = statements[what](50);
  await inBatch(async (client) => {
    const before = await updates(client);
    await client.query(text, values);
    expect(await updates(client)).toEqual({ all: before.all + 50, hot: before.hot + 50 });
  });
});
