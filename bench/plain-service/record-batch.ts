import type { Pool } from 'pg';
import { v7 } from 'uuid';
import { copyRows, copyText } from '../../src/postgres/persist/binary-rows.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import type { Event } from './event.ts';

const COPY = 'COPY staged FROM STDIN';
const NULL = String.raw`\N`;

const text = (value: string | null | undefined): string =>
  value === undefined || value === null ? NULL : copyText(value);

/** Copies events in and records them in one transaction. Returns the outcome of each, user by user. */
export async function recordBatch(
  pool: Pool,
  events: readonly Event[],
  metrics: ReadonlyMap<string, number>,
): Promise<unknown[]> {
  const rows = events.map(({ key = '', user, value, attributes, idempotencyKey }, n) =>
    [
      n,
      v7(),
      copyText(user.id),
      text(user.tz),
      copyText(JSON.stringify(user.attributes ?? {})),
      metrics.get(key)!,
      value,
      attributes === undefined ? NULL : copyText(JSON.stringify(attributes)),
      text(idempotencyKey),
    ].join('\t'),
  );
  return transaction(pool, async (client) => {
    await client.query('SELECT make_temporary_tables()');
    await copyRows(client, COPY, `${rows.join('\n')}\n`);
    const recorded = await client.query<{ answer: unknown }>({
      name: 'record_staged',
      text: 'SELECT record_staged($1) AS answer',
      values: [new Date()],
    });
    return recorded.rows.map(({ answer }) => answer);
  });
}
