import type { Pool } from 'pg';
import { deletedResources } from '../postgres/deleted-resources.ts';
import { compileCatalog, type CompiledCatalog } from './compiled-catalog.ts';

/**
 * A catalog and, with those that they refer to, the resources of some numbers that were deleted from it, as they were
 * last: for history, which keeps their names. Where a key was used again it is the living one's. Asks Postgres only
 * where a number is of none that lives.
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

/** Numbers are unique within a tenant, whatever they number. */
const lives = (compiled: CompiledCatalog, no: number): boolean =>
  compiled.metricsByNo.has(no) ||
  compiled.achievementsByNo.has(no) ||
  compiled.pointsSystemsByNo.has(no) ||
  compiled.triggersByNo.has(no) ||
  compiled.boostsByNo.has(no);
