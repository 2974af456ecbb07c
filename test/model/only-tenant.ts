import type { Pool } from 'pg';
import type { Catalog, PointsTrigger } from '../../src/domain/catalog.ts';
import { isRewarded } from './rank-rewards.ts';

/** The clock's work covers all tenants: from now on only this one exists, with its points systems, `time` triggers,
 * leaderboards with leagues or rewarded ranks, and the rules for these ranks. */
export async function onlyTenant(
  pool: Pool,
  { tenantNo, triggers, pointsSystems, leaderboards, achievements }: Catalog,
): Promise<void> {
  await pool.query('UPDATE organisation SET multi_tenancy = true');
  await pool.query('DELETE FROM streak_zones WHERE tenant_no <> $1', [tenantNo]);
  await pool.query('DELETE FROM time_trigger_progress');
  await pool.query('DELETE FROM expiry_progress');
  await pool.query('DELETE FROM board_runs');
  await pool.query('DELETE FROM board_progress');
  await pool.query('DELETE FROM catalog_resources');
  await pool.query('DELETE FROM tenants WHERE no > 0');
  await pool.query(`INSERT INTO tenants (no, id, name) VALUES ($1, gen_random_uuid(), 'modelled')`, [tenantNo]);
  for (const trigger of triggers)
    if (trigger.type === 'time' || trigger.leaderboardId !== null) await keepTrigger(pool, tenantNo, trigger);
  for (const achievement of achievements)
    if (achievement.leaderboardId !== null) await keep(pool, tenantNo, { kind: 'achievement', ...achievement });
  for (const board of leaderboards)
    if (board.leagues !== null || isRewarded({ triggers, achievements }, board))
      await keep(pool, tenantNo, { kind: 'leaderboard', ...board });
  for (const system of pointsSystems) await keep(pool, tenantNo, { kind: 'points_system', ...system });
}

/** Keeps a `time` trigger in its present form. */
export const keepTrigger = (pool: Pool, tenantNo: number, trigger: PointsTrigger): Promise<void> =>
  keep(pool, tenantNo, { kind: 'points_trigger', ...trigger });

async function keep(
  pool: Pool,
  tenantNo: number,
  { kind, id, no, ...doc }: { kind: string; id: string; no: number; created: number },
): Promise<void> {
  await pool.query(
    `INSERT INTO catalog_resources (id, tenant_no, no, kind, doc, created, updated)
     VALUES ($1, $2, $3, $6, $4, to_timestamp($5), to_timestamp($5))
     ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc`,
    [id, tenantNo, no, JSON.stringify(doc), doc.created / 1000, kind],
  );
}
