import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AchievementResponse } from '../../domain/achievement.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { attributePairs, eventAttributeFields } from '../attribute-pairs.ts';

/** An achievement as the Application API shows it: the fields of its type only. */
export function achievementResponse(compiled: CompiledCatalog, achievement: Achievement): AchievementResponse {
  const metric = achievement.trigger === 'metric' ? compiled.metricsById.get(achievement.metricId ?? '') : undefined;
  return {
    id: achievement.id,
    name: achievement.name,
    trigger: achievement.trigger,
    description: achievement.description,
    badgeUrl: achievement.badgeUrl,
    ...(achievement.key !== null && { key: achievement.key }),
    ...(achievement.trigger === 'streak' && { streakLength: achievement.streakLength ?? 0 }),
    ...(achievement.trigger === 'achievement' && { achievementIds: achievement.achievementIds }),
    ...(metric !== undefined && {
      metricId: metric.id,
      metricValue: achievement.metricValue ?? 0,
      metricName: metric.name,
      ...eventAttributeFields(compiled, achievement.eventAttributes),
    }),
    userAttributes: attributePairs(compiled, achievement.userAttributes),
  };
}
