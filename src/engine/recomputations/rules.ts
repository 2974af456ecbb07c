import { compileAchievement } from '../../catalog/compile/achievements.ts';
import { compileBoost, compileTrigger } from '../../catalog/compile/points.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Counter, PlanAchievement, PlanBoost, PlanTrigger } from '../../catalog/plan.ts';
import type { PointsSystem, PointsTrigger } from '../../domain/catalog.ts';

export interface SystemRules {
  no: number;
  max: number | null;
  /** By metric number. */
  metric: ReadonlyMap<number, PlanTrigger[]>;
  streak: PlanTrigger[];
  achievement: PlanTrigger[];
  boosts: PlanBoost[];
}

export interface Rules {
  systems: SystemRules[];
  /** Achievements that events and composites complete. */
  achievements: PlanAchievement[];
  /** Metrics whose events count for an achievement or a trigger. */
  metricNos: number[];
  /** By metric number: achievements and triggers with a counter of matching events. */
  counters: ReadonlyMap<number, Counter[]>;
  /** Whether any trigger pays for the length of the streak. */
  streaks: boolean;
}

export function rulesOf(compiled: CompiledCatalog, { points, utcDay }: { points: boolean; utcDay: number }): Rules {
  const { catalog } = compiled;
  const systems = catalog.pointsSystems.map((system) => systemRules(compiled, system));
  const achievements = catalog.achievements
    .filter(({ status, trigger }) => status === 'active' && trigger !== 'api' && trigger !== 'anniversary')
    .map((achievement) => compileAchievement(compiled, achievement));
  const counters = new Map<number, Counter[]>();
  for (const { no, key } of catalog.metrics) {
    const counting = compiled.plan(key, utcDay)?.counters ?? [];
    const wanted = counting.filter((counter) => points || compiled.achievementsByNo.has(counter.no));
    if (wanted.length > 0) counters.set(no, wanted);
  }
  const paying = points ? systems.flatMap(({ metric }) => [...metric.keys()]) : [];
  return {
    systems,
    achievements,
    metricNos: [...new Set([...paying, ...counters.keys()])],
    counters,
    streaks: points && systems.some(({ streak }) => streak.length > 0),
  };
}

function systemRules(compiled: CompiledCatalog, system: PointsSystem): SystemRules {
  const { triggers, boosts } = compiled.catalog;
  const ofType = (type: PointsTrigger['type']): PointsTrigger[] =>
    triggers.filter((one) => one.systemId === system.id && one.status === 'active' && one.type === type);
  const metric = new Map<number, PlanTrigger[]>();
  for (const trigger of ofType('metric')) {
    const metricNo = compiled.metricsById.get(trigger.metricId ?? '')?.no;
    if (metricNo === undefined) continue;
    metric.set(metricNo, [...(metric.get(metricNo) ?? []), compileTrigger(compiled, trigger)]);
  }
  return {
    no: system.no,
    max: system.maxPoints,
    metric,
    streak: ofType('streak').map((trigger) => compileTrigger(compiled, trigger)),
    achievement: ofType('achievement').map((trigger) => compileTrigger(compiled, trigger)),
    boosts: boosts
      .filter(({ systemId, userId }) => systemId === system.id && userId === null)
      .map((boost) => compileBoost(compiled, boost)),
  };
}
