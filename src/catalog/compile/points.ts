import type { Catalog, Metric, PointsBoost, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import { kindOf, type TriggerKind } from '../../domain/fields/points.ts';
import { dayOf } from '../../domain/periods.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import { addTo } from '../../grouped.ts';
import type { PlanBoost, PlanSystem, PlanTrigger } from '../../rules/plan.ts';
import type { OwnBoosts } from '../../rules/points.ts';
import { boostsOfSystems, triggersOfSystems } from '../lookups.ts';
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
    ...watchedLevels(catalogIndex, trigger),
    blocks: trigger.blockIfOutOfPoints ? true : undefined,
  });
}

function watchedLevels(
  { levels: levelsOfSystems, pointsSystemsById }: CatalogIndex,
  { pointsSystemId, levelKey }: Partial<PointsTrigger>,
): Pick<PlanTrigger, 'watched' | 'levels'> {
  const system = pointsSystemsById.get(pointsSystemId ?? '');
  if (system === undefined) return {};
  const levels = (levelsOfSystems.get(system.id) ?? [])
    .filter(({ key }) => (levelKey ?? key) === key)
    .map(({ no, points }) => ({ no, points }));
  return { watched: system.no, levels };
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

/** The boosts of one user. */
export function compileOwnBoosts(catalogIndex: CatalogIndex, boosts: readonly PointsBoost[]): OwnBoosts {
  const own = new Map<number, PlanBoost[]>();
  for (const boost of boosts) {
    const system = catalogIndex.pointsSystemsById.get(boost.systemId);
    if (system !== undefined) addTo(own, system.no, compileBoost(catalogIndex, boost));
  }
  return Object.fromEntries(own);
}

/** The only points systems that can pay anything; a catalog may have thousands of others. */
const systemsWithTriggers = ({ catalog }: CatalogIndex): PointsSystem[] => {
  const triggers = triggersOfSystems(catalog.triggers);
  return catalog.pointsSystems.filter(({ id }) => triggers.has(id));
};

/** The points systems of which a change of a user may fire triggers. `metric`: that of an event; `null` for other changes. */
export const compileSystems = (
  catalogIndex: CatalogIndex,
  change: { metric: Metric | null; firstDay: number },
): PlanSystem[] =>
  systemsWithTriggers(catalogIndex)
    .map((system) => compileSystem(catalogIndex, system, change))
    .filter((system) => triggersOf(system).length > 0);

/** The points systems with `time` triggers, and those with triggers for the levels that these lead to, for the clock. */
export const compileTimeSystems = (catalogIndex: CatalogIndex, firstDay: number): PlanSystem[] =>
  systemsWithTriggers(catalogIndex)
    .map((system) => ({
      ...withoutBlocks(compileSystem(catalogIndex, system, { metric: null, firstDay })),
      time: triggersOfKind(catalogIndex, system, 'time', null),
    }))
    .filter(({ time, level = [] }) => time.length + level.length > 0);

/** The points systems with triggers for final ranks, and with triggers for what these lead to. */
export const compileRankSystems = (catalogIndex: CatalogIndex, firstDay: number): PlanSystem[] =>
  systemsWithTriggers(catalogIndex)
    .map((system) => ({
      ...withoutBlocks(compileSystem(catalogIndex, system, { metric: null, firstDay })),
      rank: triggersOfKind(catalogIndex, system, 'rank', null),
    }))
    .filter(({ rank, achievement, level = [] }) => rank.length + achievement.length + level.length > 0);

/** A system whose triggers never block, for changes that nobody has requested and that cannot be refused. */
export const withoutBlocks = ({ level, ...system }: PlanSystem): PlanSystem => ({
  ...system,
  achievement: system.achievement.map(unblocked),
  ...(level !== undefined && { level: level.map(unblocked) }),
});

const unblocked = ({ blocks: _blocks, ...trigger }: PlanTrigger): PlanTrigger => trigger;

/** The triggers that react to an event or a request. */
export const triggersOf = ({ creation, metric, streak, achievement, level = [] }: PlanSystem): PlanTrigger[] => [
  ...creation,
  ...metric,
  ...streak,
  ...achievement,
  ...level,
];

/** A system's active triggers of a kind, oldest first; those of a metric only if it is the change's. */
export const triggersOfKind = (
  catalogIndex: CatalogIndex,
  { id }: PointsSystem,
  kind: TriggerKind,
  metric: Metric | null,
): PlanTrigger[] =>
  (triggersOfSystems(catalogIndex.catalog.triggers).get(id) ?? [])
    .filter((trigger) => kindOf(trigger) === kind)
    .filter(({ metricId }) => kind !== 'metric' || metricId === metric?.id)
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
  const ofKind = (kind: TriggerKind): PlanTrigger[] => triggersOfKind(catalogIndex, system, kind, metric);
  const boosts = (boostsOfSystems(catalogIndex.catalog.boosts).get(system.id) ?? [])
    .map((boost) => compileBoost(catalogIndex, boost))
    .filter(({ from, to }) => firstDay === null || (from <= firstDay + 2 && (to ?? Infinity) >= firstDay));
  const level = ofKind('level');
  return present<PlanSystem>({
    no: system.no,
    max: system.maxPoints ?? undefined,
    creation: ofKind('user_creation'),
    metric: ofKind('metric'),
    streak: ofKind('streak'),
    achievement: ofKind('achievement'),
    level: level.length > 0 ? level : undefined,
    boosts,
  });
}

export const pointsLimits = ({ pointsSystems }: Pick<Catalog, 'pointsSystems'>): Record<number, number> =>
  Object.fromEntries(pointsSystems.flatMap(({ no, maxPoints }) => (maxPoints === null ? [] : [[no, maxPoints]])));
