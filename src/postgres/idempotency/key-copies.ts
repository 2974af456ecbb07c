import type { Pool, PoolClient } from 'pg';
import { lockCursors } from '../rebuild/epoch.ts';
import { transaction } from '../transaction.ts';

/** Whether `used_keys` has the keys of all events: no version that did not write them stored any lately. */
export async function areKeysCopied(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query('SELECT FROM key_copies WHERE NOT is_done LIMIT 1');
  return rows.length === 0;
}

/** When the next pass may begin, or go on: epoch ms of the server's time; null: all are done. `nowMs`: that time now. */
export async function nextKeyCopy(pool: Pool): Promise<{ notBeforeMs: number; nowMs: number } | null> {
  const { rows } = await pool.query<{ notBeforeMs: number; nowMs: number }>(
    `SELECT (extract(epoch FROM not_before) * 1000)::float8 AS "notBeforeMs", (extract(epoch FROM now()) * 1000)::float8 AS "nowMs"
       FROM key_copies WHERE NOT is_done ORDER BY no LIMIT 1`,
  );
  return rows[0] ?? null;
}

/** Events of a slice: some 30 ms, for which nobody stores anything. */
const SLICE = 5_000;

const COPY = `
  WITH slice AS MATERIALIZED (
    SELECT id, tenant_no, user_id, metric_no, idempotency_key FROM events WHERE id > $1 ORDER BY id LIMIT ${SLICE}
  ), copied AS (
    INSERT INTO used_keys SELECT * FROM slice WHERE idempotency_key IS NOT NULL ON CONFLICT DO NOTHING
  )
  SELECT id, (SELECT count(*) FROM slice) AS events FROM slice ORDER BY id DESC LIMIT 1`;

/**
 * Copies the keys of the next events of the first pass that is not done and may begin. Returns the ID up to which keys are
 * copied, or null: there is nothing to copy now. With the slice it notes how far it is, so that a crash copies nothing twice.
 */
export function copyKeys(pool: Pool): Promise<string | null> {
  return transaction(pool, async (client) => {
    // A user whose deletion is being stored would leave the keys behind that are copied meanwhile.
    await lockCursors(client);
    const { rows } = await client.query<{ no: number; position: string }>(
      'SELECT no, position FROM key_copies WHERE NOT is_done AND not_before <= now() ORDER BY no LIMIT 1 FOR UPDATE',
    );
    const pass = rows[0];
    if (pass === undefined) return null;
    const slice = await client.query<{ id: string; events: number }>(COPY, [pass.position]);
    const { id = pass.position, events = 0 } = slice.rows[0] ?? {};
    await movePass(client, { ...pass, position: id, isDone: events < SLICE });
    return id;
  });
}

async function movePass(
  client: PoolClient,
  { no, position, isDone }: { no: number; position: string; isDone: boolean },
): Promise<void> {
  await client.query('UPDATE key_copies SET position = $2, is_done = $3 WHERE no = $1', [no, position, isDone]);
  // The previous version looked keys up by it.
  if (isDone && no === LAST_PASS) await client.query('DROP INDEX IF EXISTS events_used_keys');
}

const LAST_PASS = 2;
