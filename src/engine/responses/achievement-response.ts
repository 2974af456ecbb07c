import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { AchievementResponse, UserAchievementResponse } from '../../domain/achievement.ts';
import type { Achievement } from '../../domain/catalog.ts';
import type { UserState } from '../../packed/state.ts';
import { attributePairs, eventAttributeFields } from './attribute-pairs.ts';

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
    ...(achievement.trigger === 'anniversary' && { anniversaryYears: achievement.anniversaryYears ?? 0 }),
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

/** An achievement with when the user completed it; null: not yet. */
export function userAchievementResponse(
  compiled: CompiledCatalog,
  achievement: Achievement,
  state: Pick<UserState, 'completions'>,
): UserAchievementResponse {
  const at = state.completions[achievement.no];
  const achievedAt = at === undefined ? null : new Date(at).toISOString();
  return { ...achievementResponse(compiled, achievement), achievedAt };
}

/** Whether an achievement is there for a user: active ones, and locked ones that the user has. */
export const showsTo = ({ status, no }: Achievement, state: Pick<UserState, 'completions'>): boolean =>
  status === 'active' || (status === 'locked' && state.completions[no] !== undefined);
