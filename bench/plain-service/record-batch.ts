import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { copyRows } from '../../src/postgres/persist/row-text.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import type { Event } from './event.ts';

const COPY = 'COPY staged FROM STDIN';

/** Copies events in and records them in one transaction. Returns the outcome of each, user by user. */
export async function recordBatch(
  pool: Pool,
  events: readonly Event[],
  metrics: ReadonlyMap<string, number>,
): Promise<unknown[]> {
  return transaction(pool, async (client) => {
    await client.query('SELECT make_temporary_tables()');
    await copyRows(client, COPY, events, ({ key = '', user, value, attributes, idempotencyKey }, n) => [
      n,
      v7(),
      user.id,
      user.tz ?? null,
      JSON.stringify(user.attributes ?? {}),
      metrics.get(key)!,
      value,
      attributes === undefined ? null : JSON.stringify(attributes),
      idempotencyKey ?? null,
    ]);
    const recorded = await client.query<{ answer: unknown }>({
      name: 'record_staged',
      text: 'SELECT record_staged($1) AS answer',
      values: [new Date()],
    });
    return recorded.rows.map(({ answer }) => answer);
  });
}
