import { type Achievement, type Metric, neededBy } from '../../domain/catalog.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import { dayOf } from '../../domain/periods.ts';
import { firstDayOf, isQuest } from '../../domain/repeat.ts';
import type { PlanAchievement, PlanQuest } from '../../rules/plan.ts';
import { present, userConditions } from './parts.ts';
import { FREQUENCY } from './streak.ts';

export function compileAchievement(catalogIndex: CatalogIndex, achievement: Achievement): PlanAchievement {
  const { no, requires } = achievement;
  const users = userConditions(catalogIndex, achievement.userAttributes);
  const numbersOf = (ids: readonly string[]) => ids.map((id) => catalogIndex.achievementsById.get(id)?.no ?? 0);
  const common = { no, users, requires: requires.length > 0 ? numbersOf(requires) : undefined };
  if (achievement.trigger === 'achievement')
    return present<PlanAchievement>({ ...common, of: numbersOf(achievement.achievementIds) });
  if (achievement.trigger === 'api') {
    return present<PlanAchievement>({ ...common, locked: achievement.status === 'locked' ? true : undefined });
  }
  if (achievement.trigger === 'anniversary') {
    return present<PlanAchievement>({ ...common, years: achievement.anniversaryYears ?? 1 });
  }
  if (achievement.trigger === 'streak') {
    const frequency = FREQUENCY[catalogIndex.catalog.streaks.frequency];
    return present<PlanAchievement>({ ...common, length: achievement.streakLength ?? 1, frequency });
  }
  return present<PlanAchievement>({
    ...common,
    ...toDecimal(achievement.metricValue ?? 0),
    metric: catalogIndex.metricsById.get(achievement.metricId ?? '')?.no ?? 0,
    counted: achievement.eventAttributes.length > 0 ? true : undefined,
  });
}

/** The metric's active repeating achievements. */
export const questsOf = ({ catalog }: CatalogIndex, metric: Metric): Achievement[] =>
  catalog.achievements.filter(
    (achievement) => achievement.status === 'active' && isQuest(achievement) && achievement.metricId === metric.id,
  );

export function compileQuest(catalogIndex: CatalogIndex, achievement: Achievement): PlanQuest {
  const { repeat, startDate, endDate } = achievement;
  const { no, users, requires, whole = 0, micros = 0, counted } = compileAchievement(catalogIndex, achievement);
  return present<PlanQuest>({
    no,
    users,
    whole,
    micros,
    counted,
    requires,
    from: startDate === null ? undefined : dayOf(startDate),
    to: endDate === null ? undefined : dayOf(endDate),
    ...(typeof repeat === 'string' && { frequency: FREQUENCY[repeat] }),
    ...(typeof repeat === 'object' && repeat !== null && { days: repeat.days, first: firstDayOf(achievement) }),
  });
}

/** Achievements as plans have them, required ones before those that need them, so that one pass completes everything. */
export function compileAchievements(
  catalogIndex: CatalogIndex,
  achievements: readonly Achievement[],
): PlanAchievement[] {
  const places = new Map(achievements.map(({ id }, place) => [id, place]));
  const passes = new Map<string, number>();
  // The pass in which it would be completed if passes in list order were repeated. Rules forbid cycles.
  const passOf = (achievement: Achievement): number => {
    const known = passes.get(achievement.id);
    if (known !== undefined) return known;
    const pass = neededBy(achievement).reduce((latest, id) => {
      const place = places.get(id);
      if (place === undefined) return latest;
      return Math.max(latest, passOf(achievements[place]!) + (place > places.get(achievement.id)! ? 1 : 0));
    }, 1);
    passes.set(achievement.id, pass);
    return pass;
  };
  return achievements
    .toSorted((a, b) => passOf(a) - passOf(b))
    .map((achievement) => compileAchievement(catalogIndex, achievement));
}

/** Active repeating achievements that require others: whatever completes those may complete them, too. */
export const chainsOf = ({ catalog }: CatalogIndex): Achievement[] =>
  catalog.achievements.filter(
    (achievement) => achievement.status === 'active' && isQuest(achievement) && achievement.requires.length > 0,
  );

/**
 * Achievements that an event of the metric can complete for good: those of the metric, of streaks, composites, and those that
 * require others; and those of other metrics and anniversaries with user conditions, because attributes may have changed since the last event.
 * Without a metric: composites and those that require others, which may follow the completion of an API achievement.
 */
export function achievementsFor(catalogIndex: CatalogIndex, metric: Metric | null): Achievement[] {
  return catalogIndex.catalog.achievements.filter((achievement) => {
    if (achievement.status !== 'active' || achievement.trigger === 'api' || isQuest(achievement)) return false;
    if (achievement.requires.length > 0) return true;
    if (metric === null) return achievement.trigger === 'achievement';
    const always =
      achievement.trigger === 'metric' ? achievement.metricId === metric.id : achievement.trigger !== 'anniversary';
    if (always) return true;
    return achievement.userAttributes.length > 0;
  });
}
