import type { Achievement } from '../../../domain/catalog.ts';
import type { NotificationSubject } from '../../../domain/notification.ts';
import { RECORD } from '../../../packed/record-fields.ts';
import { achievementCompleted } from '../payloads/achievements.ts';
import type { Change, Reported } from './change.ts';

/** What filters go by where a notification is about an achievement: the metric of one that is completed by a metric. */
export const aboutAchievement = ({ trigger, metricId }: Achievement): NotificationSubject =>
  trigger === 'metric' && metricId !== null ? { metricId } : {};

/** `achievement.completed` for each completion, in their order. */
export function* achievementNotifications({ compiled, record, wants, user }: Change): Generator<Reported> {
  for (const no of record[RECORD.completed] ?? []) {
    const achievement = compiled.achievementsByNo.get(no);
    if (achievement === undefined) continue;
    const about = aboutAchievement(achievement);
    if (!wants('achievement.completed', about)) continue;
    const completion = { compiled, achievement, completedMs: record[RECORD.atMs] };
    yield { type: 'achievement.completed', no, about, payload: achievementCompleted(user.json(), completion) };
  }
}
