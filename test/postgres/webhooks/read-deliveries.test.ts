import type { Pool } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { makeMessageDay } from '../../../src/postgres/webhooks/messages.ts';
import { type DeliveriesQuery, listDeliveries } from '../../../src/postgres/webhooks/deliveries.ts';
import { testDatabase } from '../database.ts';
import { opened } from '../../stack/opened.ts';

const WEBHOOK = '00000000-0000-7000-8000-000000000001';
const database = opened(() => testDatabase({ redis: false }));
beforeAll(async () => {
  const { pool } = database;
  for (const day of [20_000, 20_001]) {
    await makeMessageDay(pool, day);
    await pool.query(
      `INSERT INTO webhook_messages (day, id, webhook_id, tenant_no, type, user_id, sequence, at, created, payload, status, failed)
       SELECT $2, gen_random_uuid(), $1, 0, 'points.changed', 'user ' || n % 1000, nextval('webhook_sequences'),
              to_timestamp($2 * 86400), to_timestamp($2 * 86400), repeat('x', 600),
              CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'delivered' END, n % 1000 = 0
         FROM generate_series(1, 20000) AS n`,
      [WEBHOOK, day],
    );
  }
  await pool.query('ANALYZE webhook_messages');
});

// A page costs what it shows, however long the log is.
test.each<[string, Partial<DeliveriesQuery>]>([
  ['the newest', {}],
  ['a later page', { before: '9000' }],
  ['those that failed', { status: 'failed' }],
  ['those that wait', { status: 'pending' }],
  ['those about a user', { userId: 'user 77' }],
])('finds %s by an index', async (_, asked) => {
  const query = { tenantNo: 0, webhookId: WEBHOOK, limit: 10, before: null, status: null, type: null, userId: null };
  const explaining = {
    query: (statement: string, values: unknown[]) =>
      database.pool.query(`EXPLAIN (COSTS OFF) ${statement}`, values as never[]),
  } as unknown as Pool;
  const rows = await listDeliveries(explaining, { ...query, fromMs: null, toMs: null, ...asked });
  const plan = (rows as unknown as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Limit');
  expect(plan).not.toMatch(/Seq Scan on webhook_messages_d\d/);
  // Pending and failed ones are few, and may be sorted.
  if (asked.status === undefined) expect(plan).not.toContain('->  Sort\n');
});
