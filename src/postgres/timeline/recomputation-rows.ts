import type { Pool } from 'pg';
import { msOf } from '../../domain/timeline-position.ts';
import { storableText } from '../storable-json.ts';
import type { TimelineRange } from './range.ts';

/** A recomputation's changes to a user, or their reversal. */
export interface TimelineRecomputationRow {
  /** The cause in awards and completions. */
  cause: string;
  recomputationId: string;
  reverts: boolean;
  /** Readable part of the administrator's key. */
  who: string;
  at: Date;
  catalogVersion: null;
  /** Numbers of achievements. */
  gained: number[];
  lost: number[];
}

/** Both steps of a user's recomputations. Parameters: tenant, user. */
const STEPS = `
  SELECT step.cause::text, job.id::text AS "recomputationId", step.reverts, job.requested_by AS who,
         ARRAY(SELECT (one ->> 0)::int FROM jsonb_array_elements(
           planned.applied -> CASE WHEN step.reverts THEN 'revoked' ELSE 'completed' END) AS one) AS gained,
         ARRAY(SELECT (one ->> 0)::int FROM jsonb_array_elements(
           planned.applied -> CASE WHEN step.reverts THEN 'completed' ELSE 'revoked' END) AS one) AS lost
    FROM recomputed_users AS planned JOIN recomputations AS job ON job.no = planned.recomputation_no
    CROSS JOIN LATERAL (VALUES (applied_id, false), (reverted_id, true)) AS step (cause, reverts)
   WHERE planned.tenant_no = $1 AND planned.user_id = $2 AND step.cause IS NOT NULL`;

/** IDs of recomputations' changes to a user. Cost: O(recomputations of the user). */
export async function recomputationIds(
  pool: Pool,
  { tenantNo, userId, above, below, newest, limit }: TimelineRange,
): Promise<string[]> {
  const { rows } = await pool.query<{ cause: string }>(
    `SELECT cause FROM (${STEPS}) AS made WHERE cause > $3 AND cause < $4
      ORDER BY cause ${newest ? 'DESC' : ''} LIMIT $5`,
    [tenantNo, storableText(userId), above, below, limit],
  );
  return rows.map(({ cause }) => cause);
}

/** Those of some IDs that belong to recomputations. */
export async function recomputationsOf(
  pool: Pool,
  { tenantNo, userId }: { tenantNo: number; userId: string },
  ids: readonly string[],
): Promise<TimelineRecomputationRow[]> {
  const { rows } = await pool.query<Omit<TimelineRecomputationRow, 'at' | 'catalogVersion'>>(
    `SELECT * FROM (${STEPS}) AS made WHERE cause = ANY ($3)`,
    [tenantNo, storableText(userId), ids],
  );
  return rows.map((row) => ({ ...row, at: new Date(msOf(row.cause)), catalogVersion: null }));
}
