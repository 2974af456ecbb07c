import type { Pool } from 'pg';
import { deletedResources } from '../postgres/catalog.ts';
import { compileCatalog, type CompiledCatalog } from './compiled-catalog.ts';

/**
 * Adds deleted resources to a catalog, by number and in their last form, with the resources that they refer to. History uses them for names. A
 * key that was reused refers to the existing resource. Queries Postgres only if a number belongs to a deleted resource.
 */
export async function withDeleted(
  pool: Pool,
  compiled: CompiledCatalog,
  nos: Iterable<number>,
): Promise<CompiledCatalog> {
  const gone = [...new Set(nos)].filter((no) => !lives(compiled, no));
  if (gone.length === 0) return compiled;
  const { catalog } = compiled;
  const deleted = await deletedResources(pool, catalog.tenantNo, gone);
  return compileCatalog({
    ...catalog,
    metrics: [...deleted.metrics, ...catalog.metrics],
    achievements: [...deleted.achievements, ...catalog.achievements],
    pointsSystems: [...deleted.pointsSystems, ...catalog.pointsSystems],
    triggers: [...deleted.triggers, ...catalog.triggers],
    boosts: [...deleted.boosts, ...catalog.boosts],
  });
}

/** Whether a number belongs to an existing resource. Numbers are unique within a tenant, across all kinds. */
const lives = (compiled: CompiledCatalog, no: number): boolean =>
  compiled.metricsByNo.has(no) ||
  compiled.achievementsByNo.has(no) ||
  compiled.pointsSystemsByNo.has(no) ||
  compiled.triggersByNo.has(no) ||
  compiled.boostsByNo.has(no);
