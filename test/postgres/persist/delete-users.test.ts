import type { PoolClient } from 'pg';
import { expect, test } from 'vitest';
import type { EventKey } from '../../../src/postgres/persist/events.ts';
import { deleteUser } from '../../../src/postgres/persist/users.ts';
import { transaction } from '../../../src/postgres/transaction.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase({ redis: false }));

const ID = '01990000-0000-7000-8000-000000000000';

const insertQuarantined = (client: Pick<PoolClient, 'query'>, userId: string): Promise<unknown> =>
  client.query(
    `INSERT INTO quarantine (id, tenant_no, user_id, metric_no, guard, value, at, idempotency_key)
     VALUES ($1, 0, $2, 1, 1, 5, now(), 'k1')`,
    [ID, userId],
  );

const waitingForLocks = async (): Promise<number> =>
  (
    await database.pool.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%quarantine%'`,
    )
  ).rowCount!;

test('a row that another transaction changes while its user is deleted still hands on its idempotency key', async () => {
  const { pool } = database;
  await insertQuarantined(pool, 'moving');
  const keys: EventKey[] = [];
  const settling = await pool.connect();
  let deleting: Promise<void> | undefined;
  try {
    await settling.query('BEGIN');
    await settling.query('UPDATE quarantine SET status = 3, settled = now() WHERE id = $1', [ID]);
    deleting = transaction(pool, (client) =>
      deleteUser(client, { tenantNo: 0, userId: 'moving' }, async (some) => void keys.push(...some)),
    );
    await expect.poll(waitingForLocks).toBe(1);
    await settling.query('COMMIT');
  } finally {
    settling.release();
    await deleting;
  }
  expect(keys).toEqual([{ metricNo: 1, key: 'k1' }]);
  expect((await pool.query('SELECT FROM quarantine')).rowCount).toBe(0);
});
