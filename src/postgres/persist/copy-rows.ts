import type { PoolClient } from 'pg';
import { from } from 'pg-copy-streams';

/** Runs a `COPY … FROM STDIN` with rows in text (`copy-text.ts`) or binary format, in the client's transaction. */
export function copyRows(client: PoolClient, statement: string, rows: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(from(statement));
    stream.on('error', reject);
    stream.on('finish', resolve);
    stream.end(rows);
  });
}
