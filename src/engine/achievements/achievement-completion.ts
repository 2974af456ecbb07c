import type { Span } from '@opentelemetry/api';
import { v5 } from 'uuid';
import { compileAchievement } from '../../catalog/compile/achievements.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Achievement } from '../../domain/catalog.ts';
import type { UpsertedUser } from '../../domain/user.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import { KIND } from '../../packed/record-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import { changeByRequest } from '../changes/request-change.ts';
import { unlessRefused } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { pointsJson } from '../events/event-answer.ts';
import { sentUser } from '../users/sent-user.ts';
import { userAchievementResponse } from '../responses/achievements.ts';

export function createAchievementCompletion(scripts: Scripts, clock: Clock) {
  /**
   * Completes an achievement for a user, and creates or updates the user with the fields sent. Returns an
   * `AchievementCompletionResponse` as JSON text. Idempotent: further calls return the first completion, without
   * points. Throws 404 for an unknown or inactive achievement; 422 for one of another type, a locked one that the user
   * does not have, user conditions that do not hold, points out of range, invalid user fields and fields that an
   * application key may not write (`byClient`); 503. For an application key, a secret achievement that cannot be completed
   * is an unknown one, so that nobody can confirm its key. `span`: the request's, if it is sampled.
   */
  async function complete(
    compiled: CompiledCatalog,
    key: string,
    user: UpsertedUser,
    { byClient = false, span }: { byClient?: boolean; span?: Span | undefined } = {},
  ): Promise<string> {
    // Before the achievement, so that the answer to invalid fields does not depend on it.
    const sent = sentUser(user, compiled, { nowMs: clock.now(), byClient });
    const achievement = find(compiled, key, { byClient });
    const { tenantNo } = compiled.catalog;
    const request = {
      userId: user.id,
      sent,
      achievement: compileAchievement(compiled, achievement),
      nowMs: clock.now(),
    };
    const { reply, packed } = await changeByRequest(scripts, compiled, request, span);
    const record = unlessUnknown(compiled, achievement, { byClient }, () =>
      unlessRefused(compiled, reply, [KIND.user, KIND.completion]),
    );
    const state = decodeUser(packed!);
    const id = completionId({ tenantNo, userId: user.id, achievementId: achievement.id });
    const completed = JSON.stringify(userAchievementResponse(compiled, achievement, state, { nowMs: clock.now() }));
    return `{"completionId":"${id}","achievement":${completed},"points":${pointsJson(compiled, record)}}`;
  }

  return { complete };
}

export type AchievementCompletion = ReturnType<typeof createAchievementCompletion>;

/** Suggests only achievements that calls complete. A hint must not show that a secret one exists. */
function noAchievement({ catalog }: CompiledCatalog, key: string): AppError {
  const known = catalog.achievements.filter(
    ({ status, trigger, leaderboardId, secret }) =>
      status === 'active' && trigger === 'api' && leaderboardId === null && !secret,
  );
  const keys = known.flatMap((achievement) => achievement.key ?? []);
  return new AppError('not_found', `Unknown achievement: there is none with the key '${key}'.`, {
    hint: didYouMean(key, keys),
  });
}

function find(compiled: CompiledCatalog, key: string, by: { byClient: boolean }): Achievement {
  const achievement = compiled.achievements.get(key);
  if (achievement === undefined || achievement.status === 'inactive') throw noAchievement(compiled, key);
  if (achievement.trigger === 'api' && achievement.leaderboardId === null) return achievement;
  return unlessUnknown(compiled, achievement, by, () => {
    throw new AppError('unprocessable', `The achievement '${key}' cannot be completed by a call.`);
  });
}

/** Does something with an achievement. A refusal does not show an application key that a secret one exists. */
function unlessUnknown<T>(
  compiled: CompiledCatalog,
  { key, secret }: Pick<Achievement, 'key' | 'secret'>,
  { byClient }: { byClient: boolean },
  work: () => T,
): T {
  try {
    return work();
  } catch (error) {
    const isRefusal = error instanceof AppError && (error.status === 409 || error.status === 422);
    throw secret && byClient && isRefusal ? noAchievement(compiled, key!) : error;
  }
}

/** ID of a completion, derived from tenant, user and achievement, so every process gets the same one. */
const completionId = (completion: { tenantNo: number; userId: string; achievementId: string }): string =>
  v5(`${completion.tenantNo}:${completion.userId}`, completion.achievementId);
