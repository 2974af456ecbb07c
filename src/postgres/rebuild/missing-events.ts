import type { Pool } from 'pg';

/** Those of some events (IDs as 32 hex digits) that are not stored. */
export async function missingEvents(pool: Pool, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await pool.query<{ id: string }>(
    `SELECT replace(id::text, '-', '') AS id FROM unnest($1::uuid[]) AS named (id)
      WHERE NOT EXISTS (SELECT FROM events WHERE events.id = named.id)`,
    [ids],
  );
  return new Set(rows.map(({ id }) => id));
}
