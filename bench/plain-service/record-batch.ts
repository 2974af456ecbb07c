import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { columns } from '../../src/postgres/columns.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import type { Event } from './event.ts';

interface Staged {
  n: number;
  id: string;
  userId: string;
  zone: string | null;
  userAttributes: string;
  metricNo: number;
  value: number;
  attributes: string | null;
  key: string | null;
}

const STAGED = columns<Staged>({
  n: 'int',
  id: 'uuid',
  userId: 'text',
  zone: ['text', 'tz'],
  userAttributes: 'jsonb',
  metricNo: ['int', 'metric'],
  value: 'float8',
  attributes: 'jsonb',
  key: 'text',
});

/** Copies events in and records them in one transaction. Returns the outcome of each, user by user. */
export async function recordBatch(
  pool: Pool,
  events: readonly Event[],
  metrics: ReadonlyMap<string, number>,
): Promise<unknown[]> {
  return transaction(pool, async (client) => {
    await client.query('SELECT make_temporary_tables()');
    const rows = events.map(({ key = '', user, value, attributes, idempotencyKey = null }, n) => ({
      n,
      id: v7(),
      userId: user.id,
      zone: user.tz ?? null,
      userAttributes: JSON.stringify(user.attributes ?? {}),
      metricNo: metrics.get(key)!,
      value,
      attributes: attributes === undefined ? null : JSON.stringify(attributes),
      key: idempotencyKey,
    }));
    await STAGED.copyInto(client, 'staged', rows);
    const recorded = await client.query<{ answer: unknown }>({
      name: 'record_staged',
      text: 'SELECT record_staged($1) AS answer',
      values: [new Date()],
    });
    return recorded.rows.map(({ answer }) => answer);
  });
}
