import type { Pool } from 'pg';
import { lastAwardOf } from '../../domain/timeline-position.ts';
import { storableText } from '../storable-json.ts';
import type { TimelineRange } from './range.ts';
import { idsByWindows } from '../partitions/id-windows.ts';
import { userSystems } from './user-numbers.ts';

const IN_WINDOW = 'id >= $6::uuid AND id < $7::uuid';

/** SQL: from the last award found to the next one with another cause. */
const next = (newest: boolean, bound: string, other: string): string => `
  (SELECT id FROM awards
    WHERE tenant_no = $1 AND user_id = $2 AND system_no = system.no AND id ${newest ? '<' : '>'} ${bound} AND ${other} AND ${IN_WINDOW}
    ORDER BY id ${newest ? 'DESC' : ''} LIMIT 1)`;

/** Parameters: tenant, user, the IDs above and below, limit, a window of whole partitions (`idWindows`). */
export function awardCausesStatement(newest: boolean): string {
  const [from, other] = newest ? ['$4::uuid', 'id > $3::uuid'] : ['$3::uuid', 'id < $4::uuid'];
  const behind = `(left(found.id::text, 32) || '${newest ? '0000' : 'ffff'}')::uuid`;
  return `
  WITH RECURSIVE ${userSystems({ from: '$6', to: '$7' })}, found (no, id, n) AS (
    SELECT system.no, ${next(newest, from, other)}, 1 FROM system
    UNION ALL
    SELECT system.no, ${next(newest, behind, other)}, found.n + 1
      FROM found AS found JOIN system ON system.no = found.no WHERE found.id IS NOT NULL AND found.n < $5
  )
  SELECT DISTINCT left(id::text, 32) || '0000' AS cause FROM found WHERE id IS NOT NULL
   ORDER BY cause ${newest ? 'DESC' : ''} LIMIT $5`;
}

/**
 * Causes of the user's awards (events and others), by the ID with which the awards begin. Costs one index step each, in each points system in which the
 * user has awards.
 */
export function awardCauses(pool: Pool, { tenantNo, userId, ...range }: TimelineRange): Promise<string[]> {
  const { above, below, newest } = range;
  return idsByWindows(pool, range, async ({ fromId, toId }, limit) => {
    const { rows } = await pool.query<{ cause: string }>(awardCausesStatement(newest), [
      tenantNo,
      storableText(userId),
      lastAwardOf(above),
      below,
      limit,
      fromId,
      toId,
    ]);
    return rows.map(({ cause }) => cause);
  });
}
