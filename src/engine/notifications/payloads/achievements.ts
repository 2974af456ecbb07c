import type { CompiledCatalog } from '../../../catalog/compiled-catalog.ts';
import type { Achievement } from '../../../domain/catalog.ts';
import { userAchievementResponse } from '../../responses/achievement-response.ts';
import { isoTime, userPayloadJson, type UserJson } from './payload.ts';

/** A user's completion of an achievement, at a time (epoch ms). */
export interface Completion {
  compiled: CompiledCatalog;
  achievement: Achievement;
  completedMs: number;
}

const completed = ({ compiled, achievement, completedMs }: Completion) =>
  userAchievementResponse(compiled, achievement, { completions: { [achievement.no]: completedMs } });

/** Payload of `achievement.completed`. */
export const achievementCompleted = (user: UserJson, completion: Completion): string =>
  userPayloadJson('achievement.completed', user, { achievement: completed(completion) });

/** Payload of `emails.achievement_due`: the e-mail about a completion is due at `dueMs` (epoch ms). */
export const achievementDue = (user: UserJson, completion: Completion & { dueMs: number }): string =>
  userPayloadJson('emails.achievement_due', user, {
    timestamp: isoTime(completion.dueMs),
    achievement: completed(completion),
  });
