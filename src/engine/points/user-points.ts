import type { Pool } from 'pg';
import { type CompiledCatalog, withDeleted } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { PointsBoost } from '../../domain/catalog.ts';
import type { GetUserPointsResponse, PointsAwardResponse, PointsBoostResponse } from '../../domain/points.ts';
import { dayIn } from '../../domain/zone.ts';
import type { User } from '../../rules/user.ts';
import { latestAwards } from '../../postgres/history/days.ts';
import { findSystem } from '../find-configured.ts';
import { boostResponse, levelResponse, pointsResponse, triggerResponse } from '../responses/points.ts';
import { holds } from '../../rules/conditions.ts';
import { balanceOf } from '../../rules/points.ts';
import type { UserReads } from '../users/user-reads.ts';

export function createUserPoints(pool: Pool, users: UserReads, clock: Clock) {
  /** A user's live total and level, and the last awards from Postgres, newest first. Throws 404. */
  async function points(
    compiled: CompiledCatalog,
    userId: string,
    { key, awards: limit }: { key: string; awards: number },
  ): Promise<GetUserPointsResponse> {
    const system = findSystem(compiled, key);
    const state = await users.state(compiled.catalog.tenantNo, userId);
    const day = dayIn(state.zone, clock.now());
    const awards = await awardHistory(pool, compiled, { userId, systemNo: system.no, limit, day });
    const total = state.points.get(system.no) ?? 0;
    const level = compiled.levelOf(system.id, total);
    const balance =
      system.spendableByUsers || system.expiresAfterDays || state.spent.has(system.no)
        ? { balance: balanceOf(state, system.no, clock.now()) }
        : {};
    return {
      ...pointsResponse(system),
      total,
      ...balance,
      level: level === null ? null : levelResponse(level),
      awards,
    };
  }

  /** Boosts that apply to a user's awards today, oldest first. Throws 404. */
  async function boosts(compiled: CompiledCatalog, userId: string, key: string): Promise<PointsBoostResponse[]> {
    const system = findSystem(compiled, key);
    const state = await users.state(compiled.catalog.tenantNo, userId);
    const day = dayIn(state.zone, clock.now());
    return compiled.catalog.boosts
      .filter((boost) => boost.systemId === system.id && isFor(compiled, boost, userId, state))
      .map((boost) => boostResponse(boost, day))
      .filter(({ status }) => status === 'active');
  }

  return { points, boosts };
}

export type UserPoints = ReturnType<typeof createUserPoints>;

/** Whether a boost is for a user, regardless of its dates. */
function isFor(compiled: CompiledCatalog, boost: PointsBoost, userId: string, state: User): boolean {
  if (boost.userId !== null && boost.userId !== userId) return false;
  const conditions = boost.userAttributes.map(({ attributeId, attributeValue }): [no: number, value: string] => [
    compiled.attributesById.get(attributeId)?.no ?? 0,
    attributeValue,
  ]);
  return holds(conditions, state);
}

interface AwardQuery {
  userId: string;
  systemNo: number;
  limit: number;
  /** The user's local day, on which the status of boosts depends. */
  day: number;
}

async function awardHistory(
  pool: Pool,
  compiled: CompiledCatalog,
  { userId, systemNo, limit, day }: AwardQuery,
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
        trigger: { ...triggerResponse(known, trigger), ...(wasDeleted(triggerNo) && { status: 'archived' as const }) },
      }),
      ...(boosts.length > 0 && { boosts }),
    };
  });
}
