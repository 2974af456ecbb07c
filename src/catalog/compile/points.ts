import type { Catalog, Metric, PointsBoost, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import { dayOf } from '../../domain/periods.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { PlanBoost, PlanSystem, PlanTrigger } from '../../rules/plan.ts';
import { present, userConditions } from './parts.ts';

const ROUNDING = { down: 1, nearest: 2, up: 3 } as const;

function compileTrigger(catalogIndex: CatalogIndex, trigger: PointsTrigger): PlanTrigger {
  return present<PlanTrigger>({
    no: trigger.no,
    points: trigger.points,
    users: userConditions(catalogIndex, trigger.userAttributes),
    threshold: trigger.metricThreshold ?? undefined,
    counted: trigger.eventAttributes.length > 0 ? true : undefined,
    length: trigger.streakLength ?? undefined,
    achievement: catalogIndex.achievementsById.get(trigger.achievementId ?? '')?.no,
    blocks: trigger.blockIfOutOfPoints ? true : undefined,
  });
}

function compileBoost(catalogIndex: CatalogIndex, boost: PointsBoost): PlanBoost {
  return present<PlanBoost>({
    no: boost.no,
    from: dayOf(boost.start),
    to: boost.end === null ? undefined : dayOf(boost.end),
    multiplier: boost.multiplier,
    rounding: ROUNDING[boost.rounding],
    users: userConditions(catalogIndex, boost.userAttributes),
  });
}

export function compilePersonalBoosts(catalogIndex: CatalogIndex): Map<string, string> {
  const byUser = new Map<string, Record<number, PlanBoost[]>>();
  for (const boost of catalogIndex.catalog.boosts) {
    const system = catalogIndex.pointsSystemsById.get(boost.systemId);
    if (boost.userId === null || system === undefined) continue;
    const own = byUser.get(boost.userId) ?? {};
    own[system.no] = [...(own[system.no] ?? []), compileBoost(catalogIndex, boost)];
    byUser.set(boost.userId, own);
  }
  return new Map([...byUser].map(([userId, own]) => [userId, JSON.stringify(own)]));
}

/** A system's active `time` triggers, oldest first. */
export const timeTriggers = (catalogIndex: CatalogIndex, system: PointsSystem): PlanTrigger[] =>
  catalogIndex.catalog.triggers
    .filter(({ systemId, status, type }) => systemId === system.id && status === 'active' && type === 'time')
    .map((trigger) => compileTrigger(catalogIndex, trigger));

/**
 * A points system with the triggers that an event of the metric may fire; `null`: a call that is not an event. `firstDay`: of the plan, for
 * its boosts; `null` for all boosts.
 */
export function compileSystem(
  catalogIndex: CatalogIndex,
  system: PointsSystem,
  { metric, firstDay }: { metric: Metric | null; firstDay: number | null },
): PlanSystem {
  const triggers = catalogIndex.catalog.triggers.filter((t) => t.systemId === system.id && t.status === 'active');
  const ofType = (type: PointsTrigger['type']): PlanTrigger[] =>
    triggers
      .filter((t) => t.type === type && (type !== 'metric' || t.metricId === metric?.id))
      .map((t) => compileTrigger(catalogIndex, t));
  const boosts = catalogIndex.catalog.boosts
    .filter((boost) => boost.systemId === system.id && boost.userId === null)
    .map((boost) => compileBoost(catalogIndex, boost))
    .filter(({ from, to }) => firstDay === null || (from <= firstDay + 2 && (to ?? Infinity) >= firstDay));
  return present<PlanSystem>({
    no: system.no,
    max: system.maxPoints ?? undefined,
    creation: ofType('user_creation'),
    metric: ofType('metric'),
    streak: ofType('streak'),
    achievement: ofType('achievement'),
    boosts,
  });
}

export const pointsLimits = ({ pointsSystems }: Pick<Catalog, 'pointsSystems'>): Record<number, number> =>
  Object.fromEntries(pointsSystems.flatMap(({ no, maxPoints }) => (maxPoints === null ? [] : [[no, maxPoints]])));
