import type { Pool } from 'pg';
import { compileCatalog, type CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { PointsAwardResponse } from '../../domain/points.ts';
import { deletedResources } from '../../postgres/deleted-resources.ts';
import { latestAwards, type StoredAward } from '../../postgres/latest-awards.ts';
import { boostResponse, triggerResponse } from './points-response.ts';

interface Asked {
  userId: string;
  systemNo: number;
  limit: number;
  /** The user's local day, on which the status of the boosts depends. */
  day: number;
}

/** A user's last awards in a points system, newest first. Deleted triggers and boosts are told as they were last. */
export async function awardHistory(
  pool: Pool,
  compiled: CompiledCatalog,
  { userId, systemNo, limit, day }: Asked,
): Promise<PointsAwardResponse[]> {
  const { tenantNo } = compiled.catalog;
  const awards = await latestAwards(pool, { tenantNo, userId, systemNo, limit });
  const { known, wasDeleted } = await withDeleted(pool, compiled, awards);
  return awards.map(({ id, awarded, at, total, triggerNo, boostNos }) => {
    const trigger = known.triggersByNo.get(triggerNo);
    const boosts = boostNos.flatMap((no) => {
      const boost = known.boostsByNo.get(no);
      if (boost === undefined) return [];
      const response = boostResponse(boost, day);
      return [wasDeleted(no) ? { ...response, status: 'finished' as const } : response];
    });
    return {
      id,
      awarded,
      date: at.toISOString(),
      total,
      ...(trigger !== undefined && {
        trigger: {
          ...triggerResponse(known, trigger),
          ...(wasDeleted(triggerNo) && { status: 'archived' as const }),
        },
      }),
      ...(boosts.length > 0 && { boosts }),
    };
  });
}

/** The catalog with those deleted resources that the awards name; asks Postgres only where there are any. */
async function withDeleted(
  pool: Pool,
  compiled: CompiledCatalog,
  awards: readonly StoredAward[],
): Promise<{ known: CompiledCatalog; wasDeleted: (no: number) => boolean }> {
  const wasDeleted = (no: number): boolean => !compiled.triggersByNo.has(no) && !compiled.boostsByNo.has(no);
  const nos = new Set(awards.flatMap(({ triggerNo, boostNos }) => [triggerNo, ...boostNos]).filter(wasDeleted));
  if (nos.size === 0) return { known: compiled, wasDeleted };
  const { catalog } = compiled;
  const deleted = await deletedResources(pool, catalog.tenantNo, [...nos]);
  // The deleted ones first: where a key was used again, it is the living one's.
  const known = compileCatalog({
    ...catalog,
    metrics: [...deleted.metrics, ...catalog.metrics],
    achievements: [...deleted.achievements, ...catalog.achievements],
    triggers: [...deleted.triggers, ...catalog.triggers],
    boosts: [...deleted.boosts, ...catalog.boosts],
  });
  return { known, wasDeleted };
}
