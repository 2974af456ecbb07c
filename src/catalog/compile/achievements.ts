import type { Achievement, Metric } from '../../domain/catalog.ts';
import { toDecimal } from '../../domain/decimal.ts';
import type { CatalogIndex } from '../catalog-index.ts';
import type { PlanAchievement } from '../plan.ts';
import { present, userConditions } from './conditions.ts';
import { FREQUENCY } from './streak.ts';

/** An achievement as the script takes it. */
export function compileAchievement(catalogIndex: CatalogIndex, achievement: Achievement): PlanAchievement {
  const users = userConditions(catalogIndex, achievement.userAttributes);
  if (achievement.trigger === 'achievement') {
    const of = achievement.achievementIds.map((id) => catalogIndex.achievementsById.get(id)?.no ?? 0);
    return present<PlanAchievement>({ no: achievement.no, users, of });
  }
  if (achievement.trigger === 'api') {
    return present<PlanAchievement>({
      no: achievement.no,
      users,
      locked: achievement.status === 'locked' ? true : undefined,
    });
  }
  if (achievement.trigger === 'anniversary') {
    return present<PlanAchievement>({ no: achievement.no, users, years: achievement.anniversaryYears ?? 1 });
  }
  if (achievement.trigger === 'streak') {
    const frequency = FREQUENCY[catalogIndex.catalog.streaks.frequency];
    return present<PlanAchievement>({
      no: achievement.no,
      users,
      length: achievement.streakLength ?? 1,
      frequency,
    });
  }
  return present<PlanAchievement>({
    no: achievement.no,
    users,
    ...toDecimal(achievement.metricValue ?? 0),
    metric: catalogIndex.metricsById.get(achievement.metricId ?? '')?.no ?? 0,
    counted: achievement.eventAttributes.length > 0 ? true : undefined,
  });
}

/**
 * Achievements that an event of the metric can complete: those of the metric, streaks and composites, and those
 * of other metrics and anniversaries with conditions on the user, whose attributes may have changed since the last event. Without
 * a metric: composites, which follow the completion of an API achievement.
 */
export function achievementsFor(catalogIndex: CatalogIndex, metric: Metric | null): Achievement[] {
  return catalogIndex.catalog.achievements.filter((achievement) => {
    if (achievement.status !== 'active' || achievement.trigger === 'api') return false;
    if (metric === null) return achievement.trigger === 'achievement';
    const always =
      achievement.trigger === 'metric' ? achievement.metricId === metric.id : achievement.trigger !== 'anniversary';
    if (always) return true;
    return achievement.userAttributes.length > 0;
  });
}
