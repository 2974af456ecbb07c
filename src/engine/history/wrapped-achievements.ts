import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { UserAchievementResponse } from '../../domain/achievement.ts';
import type { Days } from '../../domain/periods.ts';
import { dayIn } from '../../domain/zone.ts';
import type { UserState } from '../../packed/state.ts';
import { achievementResponse } from '../responses/achievement-response.ts';

/** The achievements that a user completed in some days, by the dates of the zone that the user has now, oldest first. */
export function wrappedAchievements(
  compiled: CompiledCatalog,
  state: UserState,
  { fromDay, toDay }: Days,
): UserAchievementResponse[] {
  const completed = Object.entries(state.completions).filter(([, atMs]) => {
    const day = dayIn(state.tz, atMs);
    return day >= fromDay && day <= toDay;
  });
  return completed
    .sort(([, a], [, b]) => a - b)
    .flatMap(([no, atMs]) => {
      const achievement = compiled.achievementsByNo.get(Number(no));
      if (achievement === undefined || achievement.status === 'inactive') return [];
      return [{ ...achievementResponse(compiled, achievement), achievedAt: new Date(atMs).toISOString() }];
    });
}
