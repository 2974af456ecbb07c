import type { Achievement, Catalog } from '../../src/domain/catalog.ts';
import { named } from './conditions.ts';
import { micros } from './decimals.ts';
import { completedPeriod, isQuest } from './quests.ts';
import { matches, totalOf, type ModelUser } from './user.ts';

/**
 * The IDs of the achievements that a user completes now, parts before composites. `streakLength` null: only composites could
 * follow from what happened. Anniversaries follow when the clock has counted the years (`isCount`), and on events, since the
 * attributes may have changed by then. Achievements that require others may follow from anything. `today`: the user's local day.
 */
export function completes(
  catalog: Catalog,
  user: ModelUser,
  streakLength: number | null,
  given: string[],
  { isCount = false, today }: { isCount?: boolean; today: string },
): string[] {
  const done = new Set([...user.completed.keys(), ...given]);
  const fresh = [...given];
  const holds = (achievement: Achievement): boolean => {
    if (achievement.status !== 'active' || fresh.includes(achievement.id)) return false;
    if (!isQuest(achievement) && done.has(achievement.id)) return false;
    if (!matches(user.attributes, named(catalog, achievement.userAttributes))) return false;
    if (!achievement.requires.every((id) => done.has(id))) return false;
    const follows = streakLength !== null || achievement.requires.length > 0;
    const length = streakLength ?? user.streaks.tracks[catalog.streaks.frequency].length;
    switch (achievement.trigger) {
      case 'api':
        return false;
      case 'anniversary': {
        const { years = 0 } = user.signUp ?? {};
        return (isCount || follows) && years >= achievement.anniversaryYears!;
      }
      case 'achievement':
        return achievement.achievementIds.every((id) => done.has(id));
      case 'streak':
        return follows && length >= achievement.streakLength!;
      case 'metric': {
        if (isQuest(achievement)) return follows && completedPeriod(catalog, user, achievement, today) !== null;
        const total = totalOf(user, achievement.metricId!, named(catalog, achievement.eventAttributes));
        return follows && total >= micros(achievement.metricValue!);
      }
    }
  };
  for (;;) {
    const next = catalog.achievements.filter(holds);
    if (next.length === 0) return fresh;
    for (const { id } of next) {
      done.add(id);
      fresh.push(id);
    }
  }
}
