import type { Span } from '@opentelemetry/api';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Achievement } from '../../domain/catalog.ts';
import type { UpsertedUser } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import { Script } from '../../redis/script.ts';
import { pointsJson } from '../events/event-answer.ts';
import { sentUser } from '../calls/sent-user.ts';
import type { UserCalls } from '../users/user-calls.ts';
import { userAchievementResponse } from '../responses/achievement-response.ts';
import { completionId } from './completion-id.ts';

/** Completes achievements of the type `api` by call. */
export class AchievementCompletion {
  private readonly options: { calls: UserCalls; clock: Clock };
  private readonly script = new Script('complete_achievement');

  constructor(options: { calls: UserCalls; clock: Clock }) {
    this.options = options;
  }

  /**
   * Completes an achievement for a user, who is created or changed as sent. An `AchievementCompletionResponse` as
   * JSON text. Idempotent: further calls answer with the first completion, without points. 404 for an unknown or inactive
   * achievement; 422 for one of another type, one that is locked and the user does not have, conditions on the
   * user's attributes that do not hold, out of points, and bad user fields, or those that an
   * application key may not write (`byClient`); 503. `span`: of the request, where it is sampled.
   */
  async complete(
    compiled: CompiledCatalog,
    key: string,
    user: UpsertedUser,
    { byClient = false, span }: { byClient?: boolean; span?: Span | undefined } = {},
  ): Promise<string> {
    const achievement = find(compiled, key);
    const sent = sentUser(user, compiled, { nowMs: this.options.clock.now(), byClient });
    const last = JSON.stringify(compileAchievement(compiled, achievement));
    const { record, state } = await this.options.calls.run(compiled, {
      script: this.script,
      userId: user.id,
      sent,
      last,
      span,
    });
    const { tenantNo } = compiled.catalog;
    const id = completionId({ tenantNo, userId: user.id, achievementId: achievement.id });
    const completed = JSON.stringify(userAchievementResponse(compiled, achievement, state));
    return `{"completionId":"${id}","achievement":${completed},"points":${pointsJson(compiled, record)}}`;
  }
}

function find(compiled: CompiledCatalog, key: string): Achievement {
  const achievement = compiled.achievements.get(key);
  if (achievement === undefined || achievement.status === 'inactive')
    throw new AppError('not_found', `Unknown achievement: there is none with the key '${key}'.`);
  if (achievement.trigger !== 'api')
    throw new AppError('unprocessable', `The achievement '${key}' is not one that is completed by a call.`);
  return achievement;
}
