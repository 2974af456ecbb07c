import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { withDeleted } from '../../catalog/with-deleted.ts';
import type { PointsAwardResponse } from '../../domain/points.ts';
import { latestAwards } from '../../postgres/history/awards.ts';
import { boostResponse, triggerResponse } from '../responses/points-response.ts';

interface Asked {
  userId: string;
  systemNo: number;
  limit: number;
  /** The user's local day, on which the status of the boosts depends. */
  day: number;
}

/** A user's last awards in a points system, newest first. Deleted triggers and boosts are shown as they were last. */
export async function awardHistory(
  pool: Pool,
  compiled: CompiledCatalog,
  { userId, systemNo, limit, day }: Asked,
): Promise<PointsAwardResponse[]> {
  const { tenantNo } = compiled.catalog;
  const awards = await latestAwards(pool, { tenantNo, userId, systemNo, limit });
  const known = await withDeleted(
    pool,
    compiled,
    awards.flatMap(({ triggerNo, boostNos }) => [triggerNo, ...boostNos]),
  );
  const wasDeleted = (no: number): boolean => !compiled.triggersByNo.has(no) && !compiled.boostsByNo.has(no);
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
