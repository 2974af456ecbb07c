import type { Pool, PoolClient } from 'pg';
import type { CompletionRow } from '../persist/insert-completions.ts';
import { storableText } from '../storable-json.ts';

/** As many are kept of each tenant, at least: what one transaction adds comes on top until the next. */
export const NEWEST_KEPT = 20;

const KEEP = `
  WITH added AS (
    INSERT INTO newest_completions (tenant_no, user_id, achievement_no, at)
    SELECT tenant_no, user_id, achievement_no, to_timestamp(at_ms / 1000.0)
    FROM unnest($1::int[], $2::text[], $3::int[], $4::bigint[]) AS completed (tenant_no, user_id, achievement_no, at_ms)
    RETURNING tenant_no
  )
  DELETE FROM newest_completions
   USING (SELECT DISTINCT tenant_no FROM added) AS tenant
   WHERE newest_completions.tenant_no = tenant.tenant_no
     AND no <= (SELECT no FROM newest_completions AS kept WHERE kept.tenant_no = tenant.tenant_no
                 ORDER BY no DESC OFFSET ${NEWEST_KEPT} LIMIT 1)`;

/** Keeps the last completions of each tenant at hand, and drops older ones. Rows in the order of what happened. */
export async function keepNewestCompletions(client: PoolClient, rows: readonly CompletionRow[]): Promise<void> {
  if (rows.length === 0) return;
  const newest = lastOfEach(rows);
  await client.query(KEEP, [
    newest.map(({ tenantNo }) => tenantNo),
    newest.map(({ userId }) => storableText(userId)),
    newest.map(({ achievementNo }) => achievementNo),
    newest.map(({ atMs }) => atMs),
  ]);
}

/** The last `NEWEST_KEPT` of each tenant, in their order. */
function lastOfEach(rows: readonly CompletionRow[]): CompletionRow[] {
  if (rows.length <= NEWEST_KEPT) return [...rows];
  const taken = new Map<number, number>();
  const newest = rows.toReversed().filter(({ tenantNo }) => {
    const count = (taken.get(tenantNo) ?? 0) + 1;
    taken.set(tenantNo, count);
    return count <= NEWEST_KEPT;
  });
  return newest.toReversed();
}

/** A completion of an achievement as it is kept at hand. */
export interface NewestCompletion {
  userId: string;
  achievementNo: number;
  at: Date;
}

/** The newest completions of a tenant, newest first. */
export async function newestCompletions(pool: Pool, tenantNo: number): Promise<NewestCompletion[]> {
  const { rows } = await pool.query<NewestCompletion>(
    `SELECT user_id AS "userId", achievement_no AS "achievementNo", at FROM newest_completions
      WHERE tenant_no = $1 ORDER BY no DESC LIMIT ${NEWEST_KEPT}`,
    [tenantNo],
  );
  return rows;
}
